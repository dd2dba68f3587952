//! The best chunks for a query, and the quality of a list.

use std::collections::HashMap;

use archway_index::{
    embed::table::Table,
    terms::{AVERAGE, Term, Terms, idf, query_terms, weight},
};

/// How many of each list are fused.
pub(crate) const CANDIDATES: usize = 100;
/// The weights of words and of vectors.
const SHARES: [f32; 2] = [1.0, 2.0];

/// Chunks with their scores, best first.
pub(crate) type List = Vec<(usize, f32)>;

/// An inverted index of all chunks: the chunks of each word, with its weight there.
pub(crate) struct Words {
    having: HashMap<Term, List>,
    chunks: u64,
}

impl Words {
    pub(crate) fn of(chunks: &[Terms]) -> Self {
        let mut having: HashMap<Term, List> = HashMap::new();
        for (chunk, terms) in chunks.iter().enumerate() {
            for &(term, count) in &terms.counts {
                let weight = weight(count, terms.length, AVERAGE);
                having.entry(term).or_default().push((chunk, weight));
            }
        }
        Self {
            having,
            chunks: chunks.len() as u64,
        }
    }

    /// The `most` chunks with the highest BM25, as the index computes it.
    pub(crate) fn nearest(&self, query: &str, most: usize) -> List {
        let mut scores = HashMap::new();
        for having in query_terms(query)
            .iter()
            .filter_map(|term| self.having.get(term))
        {
            let idf = idf(self.chunks, having.len() as u64);
            for &(chunk, weight) in having {
                *scores.entry(chunk).or_insert(0.0) += weight * idf;
            }
        }
        best(scores, most)
    }
}

/// The vector of each chunk.
pub(crate) struct Vectors(pub(crate) Vec<Option<Vec<f32>>>);

impl Vectors {
    pub(crate) fn nearest(&self, table: &Table, query: &str, most: usize) -> List {
        let Some(query) = table.encode(query) else {
            return List::new();
        };
        let cosines = self.0.iter().enumerate().filter_map(|(chunk, vector)| {
            let products = vector.as_ref()?.iter().zip(&query);
            Some((chunk, products.map(|(left, right)| left * right).sum()))
        });
        best(cosines, most)
    }
}

/// Fuses both lists: in each, the best entry gets the list's full weight and the last one nothing.
pub(crate) fn fused(words: &List, vectors: &List) -> List {
    let mut scores = HashMap::new();
    for (list, share) in [words, vectors].into_iter().zip(SHARES) {
        let (Some(&(_, most)), Some(&(_, least))) = (list.first(), list.last()) else {
            continue;
        };
        let range = (most - least).max(f32::EPSILON);
        for &(chunk, score) in list {
            *scores.entry(chunk).or_insert(0.0) += share * (score - least) / range;
        }
    }
    best(scores, CANDIDATES)
}

fn best(scores: impl IntoIterator<Item = (usize, f32)>, most: usize) -> List {
    let mut list: List = scores.into_iter().collect();
    list.sort_by(|left, right| right.1.total_cmp(&left.1).then(left.0.cmp(&right.0)));
    list.truncate(most);
    list
}

/// The quality of lists.
#[derive(Clone, Copy, Default)]
pub(crate) struct Quality {
    lists: usize,
    reciprocals: f64,
    among_five: usize,
}

impl Quality {
    pub(crate) fn count(&mut self, list: &List, is_right: impl Fn(usize) -> bool) {
        self.lists += 1;
        let mut ten = list.iter().take(10);
        if let Some(before) = ten.position(|&(chunk, _)| is_right(chunk)) {
            self.reciprocals += 1.0 / (before + 1) as f64;
            self.among_five += usize::from(before < 5);
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.lists += other.lists;
        self.reciprocals += other.reciprocals;
        self.among_five += other.among_five;
    }

    pub(crate) fn queries(&self) -> usize {
        self.lists
    }

    /// The mean of 1 / rank of the right chunk, if it is among the first ten.
    pub(crate) fn mrr(&self) -> f64 {
        self.reciprocals / self.lists as f64
    }

    /// The share of queries whose right chunk is among the first five.
    pub(crate) fn recall(&self) -> f64 {
        self.among_five as f64 / self.lists as f64
    }
}
