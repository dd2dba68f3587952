//! The ranking of `context_search`, replayed by the product's own functions over labelled queries.
//!
//! `--repo DIR` names a work tree, and `--set FILE` lines of JSON: `{"repo": name of a DIR, "kind",
//! "query", "files": [path], "symbol"?}`; both may be repeated. The first sentences of doc comments are
//! queries, too (`--comments N` of a repository, 0 for none): they mean their function, without its comment.
//! Prints for each kind, by the ranking of before (one list, vectors twice), of now, and of now without
//! each of its parts:
//! - MRR@10 and recall@5 of the symbol (comments, questions) or of the file (others);
//! - how often a right file is the first result, among five, among ten;
//! - distinct files among 20 results.
//!
//! `--weights secondary=0.6,sentence=2` replaces weights, to fit them.
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
    fuse::{Candidate, Fusion, WEIGHTS, Weights, spread},
    reading::{Place, Reading},
    role::Role,
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

/// A ranking that is measured.
#[derive(Clone, Copy)]
struct Ranking {
    name: &'static str,
    weights: Weights,
    /// Code, and tests with documents, are separate lists. Without it modules of tests, as Rust has them, still are.
    is_separate: bool,
    /// A long query is asked by its title, names and frames.
    is_read: bool,
    /// A file has two of the first ten results.
    is_spread: bool,
}

impl Ranking {
    /// The ranking in use, and others that lack one part of it.
    fn all(weights: Weights) -> Vec<Ranking> {
        let now = Ranking {
            name: "now",
            weights,
            is_separate: true,
            is_read: true,
            is_spread: true,
        };
        let with = |name, change: fn(&mut Ranking)| {
            let mut ranking = Ranking { name, ..now };
            change(&mut ranking);
            ranking
        };
        vec![
            now,
            with("- separate lists", |to| to.is_separate = false),
            with("- kinds of query", |to| to.weights.vectors = [2.0; 4]),
            with("- functions", |to| to.weights.function = 1.0),
            with("- length", |to| to.weights.length = 0.0),
            with("- other chunks", |to| to.weights.others = 0.0),
            with("- names of symbols", |to| {
                (to.weights.symbol, to.weights.parent) = (0.0, 0.0);
            }),
            with("- fragments", |to| to.weights.fragment = 1.0),
            with("- paths in the query", |to| to.weights.named = 1.0),
            with("- reading in parts", |to| to.is_read = false),
            with("- two of a file", |to| to.is_spread = false),
        ]
    }
}

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
    let rankings = Ranking::all(arguments.weights);
    let mut found = Found::new();
    for repo in &arguments.repos {
        let whole = Corpus::read(repo, &table, false);
        let name = repo.file_name().unwrap_or_default().to_string_lossy();
        for query in queries.iter().filter(|query| query.repo == name) {
            measure(&whole, &table, query, &rankings, &mut found);
        }
        if arguments.comments > 0 {
            let bare = Corpus::read(repo, &table, true);
            for query in bare.comments(arguments.comments) {
                measure(&bare, &table, &query, &rankings, &mut found);
            }
        }
    }
    let names = rankings.iter().map(|ranking| ranking.name);
    let names: Vec<_> = ["before"].into_iter().chain(names).collect();
    for (kind, qualities) in &found {
        println!("{kind}: {} queries", qualities[0].queries());
        for (name, quality) in names.iter().zip(qualities) {
            println!("  {name:<20} {quality}");
        }
    }
}

/// The quality of the ranking of before and of each other, by the kind of query.
type Found = BTreeMap<String, Vec<Quality>>;

fn measure(
    corpus: &Corpus,
    table: &Table,
    query: &LabelledQuery,
    rankings: &[Ranking],
    found: &mut Found,
) {
    let by_words = corpus.words.nearest(&query.query, CANDIDATES);
    let by_vectors = corpus.vectors.nearest(table, &query.query, CANDIDATES);
    let before = fused(&by_words, &by_vectors).into_iter();
    let mut lists: Vec<Vec<usize>> = vec![before.map(|(chunk, _)| chunk).collect()];
    let ranked = rankings
        .iter()
        .map(|ranking| ranked(corpus, table, &query.query, ranking));
    lists.extend(ranked);
    let qualities = found.entry(query.kind.clone()).or_default();
    qualities.resize_with(lists.len(), Quality::default);
    for (quality, list) in qualities.iter_mut().zip(lists) {
        let list: Vec<_> = list.into_iter().take(RESULTS).collect();
        quality.count(corpus, query, &list);
    }
}

/// The results in the order in which `context_search` shows them, without boosts for reads.
fn ranked(corpus: &Corpus, table: &Table, query: &str, ranking: &Ranking) -> Vec<usize> {
    let mut reading = Reading::of(query);
    if !ranking.is_read {
        reading.texts = vec![(query.to_owned(), 1.0)];
    }
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
        weights: &ranking.weights,
        is_hybrid: true,
        all: false,
    };
    let place = |path: &String| {
        let mut place = reading.place([(Source::File, path.as_bytes())].into_iter());
        if !ranking.is_separate {
            place.role = Role::Code;
        }
        place
    };
    let places: Vec<Place> = corpus.paths.iter().map(place).collect();
    let found = fusion.merge(asked.collect(), |hit| places[corpus::file(&hit.blob)]);
    let file = |found: &Candidate| ranking.is_spread.then_some(found.blob);
    let (shown, _) = spread(found, file, RESULTS);
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
        "length" => &mut weights.length,
        "others" => &mut weights.others,
        "function" => &mut weights.function,
        "fragment" => &mut weights.fragment,
        "symbol" => &mut weights.symbol,
        "parent" => &mut weights.parent,
        "named" => &mut weights.named,
        other => panic!("no weight is called {other}"),
    };
    *weight = number.parse().expect("a number");
}
