//! The ranking of `context_search`, replayed by the product's own functions over labelled queries.
//!
//! `--repo DIR` names a work tree, and `--set FILE` lines of JSON: `{"repo": name of a DIR, "kind",
//! "query", "files": [path], "symbol"?}`; both may be repeated. The first sentences of doc comments are
//! queries without a set: they mean their function, whose comment is then removed from the index.
//! Prints for each kind, by the ranking of before (one list, vectors twice) and of now:
//! - MRR@10 and recall@5 of the symbol (comments, questions) or of the file (others);
//! - how often a right file is the first result, among five, among ten;
//! - distinct files among 20 results.
//!
//! `--weights secondary=0.6,sentence=2` replaces weights, to fit them. `--comments N` takes so many of a repository.
//!
//! Run: `cargo bench -p archway-benches --bench ranking -- --repo DIR --set FILE`

#[path = "ranking/corpus.rs"]
mod corpus;
#[path = "ranking/quality.rs"]
mod quality;
#[path = "meaning/ranks.rs"]
#[expect(
    dead_code,
    reason = "shared with `meaning`, which has a quality of its own"
)]
mod ranks;
#[path = "meaning/sentence.rs"]
mod sentence;

use std::{collections::BTreeMap, path::PathBuf};

use archway_index::{
    embed::table::Table,
    fuse::{Fusion, WEIGHTS, Weights, spread},
    reading::{Place, Reading},
    vector_store::{Candidates, Hit},
};
use archway_store::Source;

use corpus::{Corpus, LabelledQuery};
use quality::Quality;
use ranks::{CANDIDATES, List, fused};

/// Depth of the lists, as in the index.
const DEPTH: usize = 400;
/// Results of a query.
const RESULTS: usize = 20;
const COMMENTS: usize = 300;

/// What is measured.
struct Arguments {
    repos: Vec<PathBuf>,
    sets: Vec<PathBuf>,
    weights: Weights,
    comments: usize,
}

fn main() {
    let arguments = arguments();
    let table = Table::built_in().expect("the built-in table");
    let queries: Vec<LabelledQuery> = arguments
        .sets
        .iter()
        .flat_map(|set| corpus::set(set))
        .collect();
    let mut found: BTreeMap<String, [Quality; 2]> = BTreeMap::new();
    for repo in &arguments.repos {
        let whole = Corpus::read(repo, &table, false);
        let name = repo.file_name().unwrap_or_default().to_string_lossy();
        for query in queries.iter().filter(|query| query.repo == name) {
            measure(&whole, &table, query, &arguments.weights, &mut found);
        }
        if arguments.comments > 0 {
            let bare = Corpus::read(repo, &table, true);
            for query in bare.comments(arguments.comments) {
                measure(&bare, &table, &query, &arguments.weights, &mut found);
            }
        }
    }
    for (kind, [before, now]) in &found {
        println!("{kind}: {} queries", now.queries());
        println!("  before {before}");
        println!("  now    {now}");
    }
}

fn measure(
    corpus: &Corpus,
    table: &Table,
    query: &LabelledQuery,
    weights: &Weights,
    found: &mut BTreeMap<String, [Quality; 2]>,
) {
    let by_words = corpus.words.nearest(&query.query, CANDIDATES);
    let by_vectors = corpus.vectors.nearest(table, &query.query, CANDIDATES);
    let before: Vec<usize> = fused(&by_words, &by_vectors)
        .into_iter()
        .map(|(chunk, _)| chunk)
        .collect();
    let now = ranked(corpus, table, &query.query, weights);
    let qualities = found.entry(query.kind.clone()).or_default();
    for (quality, list) in qualities.iter_mut().zip([before, now]) {
        let list: Vec<_> = list.into_iter().take(RESULTS).collect();
        quality.count(corpus, query, &list);
    }
}

/// The results in the order in which `context_search` shows them, without boosts for reads.
fn ranked(corpus: &Corpus, table: &Table, query: &str, weights: &Weights) -> Vec<usize> {
    let reading = Reading::of(query);
    let asked = reading.texts.iter().map(|(text, weight)| {
        let candidates = Candidates {
            dense: hits(corpus, corpus.vectors.nearest(table, text, DEPTH)),
            sparse: hits(corpus, corpus.words.nearest(text, DEPTH)),
            unsearched: Vec::new(),
        };
        (*weight, candidates)
    });
    let fusion = Fusion {
        reading: &reading,
        weights,
        is_hybrid: true,
        all: false,
    };
    let places: Vec<Place> = corpus
        .paths
        .iter()
        .map(|path| reading.place([(Source::File, path.as_bytes())].into_iter()))
        .collect();
    let found = fusion.merge(asked.collect(), |hit| places[corpus::file(&hit.blob)]);
    let (shown, _) = spread(found, |found| Some(found.blob), RESULTS);
    let chunk = |blob, position: u32| corpus.first[corpus::file(&blob)] + position as usize;
    shown
        .into_iter()
        .map(|found| chunk(found.blob, found.position))
        .collect()
}

fn hits(corpus: &Corpus, list: List) -> Vec<Hit> {
    let hit = |(chunk, score): (usize, f32)| {
        let passage = &corpus.passages[chunk];
        Hit {
            project: Default::default(),
            blob: corpus::blob(passage.file),
            position: (chunk - corpus.first[passage.file]) as u32,
            location: passage.location.clone(),
            score,
        }
    };
    list.into_iter().map(hit).collect()
}

fn arguments() -> Arguments {
    let mut all = std::env::args().skip(1);
    let mut arguments = Arguments {
        repos: Vec::new(),
        sets: Vec::new(),
        weights: WEIGHTS,
        comments: COMMENTS,
    };
    while let Some(argument) = all.next() {
        let mut value = || all.next().expect("a value");
        match argument.as_str() {
            "--bench" => {}
            "--repo" => arguments.repos.push(value().into()),
            "--set" => arguments.sets.push(value().into()),
            "--comments" => arguments.comments = value().parse().expect("a number"),
            "--weights" => value()
                .split(',')
                .for_each(|pair| set(&mut arguments.weights, pair)),
            other => panic!("unknown argument {other}"),
        }
    }
    arguments
}

/// Sets one weight: `name=number`.
fn set(weights: &mut Weights, pair: &str) {
    let (name, number) = pair.split_once('=').expect("name=number");
    let weight = match name {
        "identifier" => &mut weights.vectors[0],
        "question" => &mut weights.vectors[1],
        "error" => &mut weights.vectors[2],
        "sentence" => &mut weights.vectors[3],
        "secondary" => &mut weights.secondary,
        "fragment" => &mut weights.fragment,
        "symbol" => &mut weights.symbol,
        "parent" => &mut weights.parent,
        "named" => &mut weights.named,
        other => panic!("no weight is called {other}"),
    };
    *weight = number.parse().expect("a number");
}
