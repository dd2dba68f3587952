//! How well functions are found by what they do: by words, by vectors, and by both.
//!
//! The first sentence of each doc comment is a query. The repository's functions without their comments are
//! the documents: cut, counted and embedded by the workers' own code. A chunk of the function that has the
//! comment is a match; so are its overloads. The first hundred of each list are fused by their scores, words
//! 1 : vectors 2. Run: `cargo bench -p archway-benches --bench meaning [-- PATH ..]`, with `--queries N` for
//! other than 1,500 queries per repository. Without a path it uses this project.
//!
//! Target: both together improve MRR@10 by at least 0.08 over the same words by BM25 alone, in a repository
//! that the table was not trained on (`workers/index/models/PROVENANCE.md` names some). It supports Rust, Python,
//! Go and JavaScript; of C, only what C has in common with them.

#[path = "meaning/corpus.rs"]
mod corpus;
#[path = "meaning/ranks.rs"]
mod ranks;
#[path = "meaning/sentence.rs"]
mod sentence;

use std::path::{Path, PathBuf};

use archway_benches::number;
use archway_index::{
    chunk_text::{embedding_text, header},
    embed::table::Table,
    terms::Terms,
};
use tokio::time::Instant;

use corpus::Corpus;
use ranks::{CANDIDATES, Quality, Vectors, Words, fused};

const QUERIES: usize = 1_500;
const TARGET: f64 = 0.08;

fn main() {
    let queries = number("--queries", QUERIES);
    let table = Table::built_in().expect("the built-in table");
    let mut means = [Quality::default(); 3];
    for repo in repos() {
        let corpus = Corpus::read(&repo, queries);
        if corpus.questions.is_empty() {
            println!("{}: no function has a doc comment", repo.display());
            continue;
        }
        let found = measure(&corpus, &table);
        print(&repo.display().to_string(), corpus.questions.len(), &found);
        for (mean, found) in means.iter_mut().zip(found) {
            mean.add(&found);
        }
    }
    print("all queries", means[0].queries(), &means);
}

/// The paths after `--`, or this project.
fn repos() -> Vec<PathBuf> {
    let mut arguments = std::env::args().skip(1);
    let mut repos = Vec::new();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--bench" => {}
            "--queries" => drop(arguments.next()),
            path => repos.push(path.into()),
        }
    }
    if repos.is_empty() {
        let project = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
        repos.push(project.expect("the workspace").to_owned());
    }
    repos
}

/// The results of words, vectors and both.
fn measure(corpus: &Corpus, table: &Table) -> [Quality; 3] {
    let started = Instant::now();
    let terms: Vec<_> = corpus
        .chunks
        .iter()
        .map(|chunk| {
            let header = header(&chunk.path, chunk.parent(), chunk.symbol());
            Terms::of(&header, &chunk.text)
        })
        .collect();
    let counted = started.elapsed();
    let started = Instant::now();
    let vectors = corpus
        .chunks
        .iter()
        .map(|chunk| table.encode(&embedding_text(chunk.parent(), chunk.symbol(), &chunk.text)))
        .collect();
    let embedded = started.elapsed();
    corpus.report(counted, embedded);

    let (words, vectors) = (Words::of(&terms), Vectors(vectors));
    let mut found = [Quality::default(); 3];
    for question in &corpus.questions {
        let by_words = words.nearest(&question.sentence, CANDIDATES);
        let by_vectors = vectors.nearest(table, &question.sentence, CANDIDATES);
        let by_both = fused(&by_words, &by_vectors);
        for (quality, list) in found.iter_mut().zip([by_words, by_vectors, by_both]) {
            quality.count(&list, |chunk| corpus.chunks[chunk].name == question.name);
        }
    }
    found
}

fn print(title: &str, queries: usize, found: &[Quality; 3]) {
    println!("{title}: {queries} queries      MRR@10  recall@5");
    for (name, quality) in ["words (BM25)", "vectors", "both"].iter().zip(found) {
        println!("  {name:14} {:.3}   {:.3}", quality.mrr(), quality.recall());
    }
    let [words, _, both] = found;
    println!(
        "  both above words: {:+.3} MRR@10 (target ≥ {TARGET})",
        both.mrr() - words.mrr()
    );
}
