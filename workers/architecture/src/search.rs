//! Searches documents by words, and by vectors if there are any.
//!
//! A document matches if it contains any word of the query, or if one of its passages is similar
//! enough. Words weigh more in titles and headings than in text (BM25 over fields). The score of a
//! decision that is not in effect is halved. Scores are between 0 and 1 and depend on the query and
//! the library only; ties keep the library's order.

mod excerpt;
mod passages;
mod vectors;
mod words;

use archway_index::terms::{self, Term};
use archway_repo::{Cancel, Stopped};

use super::document::{Document, Kind};
use super::library::Library;

pub use vectors::{DocumentVectors, MissingVectors, Vectors};

/// The weight of the best passage's similarity, relative to weight 1 for words.
const VECTOR_WEIGHT: f32 = 1.0;
/// A document without any word of the query needs at least this cosine similarity,
const MIN_SIMILARITY: f32 = 0.33;
/// and this much more than the library's median, because models differ in how similar unrelated
/// texts are.
const MIN_ABOVE_MEDIAN: f32 = 0.15;
/// The minimum number of documents for a meaningful median.
const MIN_DOCUMENTS_FOR_MEDIAN: usize = 4;
/// The score factor of superseded, deprecated and rejected decisions: they must match twice as well
/// to rank before a decision in effect.
const INACTIVE_FACTOR: f32 = 0.5;
/// The approximate cosine similarity of unrelated texts.
const UNRELATED_SIMILARITY: f32 = 0.1;

/// A search query.
pub struct Query {
    /// What to look for; `None` for all documents.
    terms: Option<Vec<Term>>,
    /// Restricts results to this kind.
    kind: Option<Kind>,
    vector: Option<Vec<f32>>,
}

/// A search result.
#[derive(Clone, Copy, Debug)]
pub struct Match<'a> {
    /// The matching document.
    pub document: &'a Document,
    /// Between 0 and 1.
    pub score: f32,
    /// The most similar passage, if vectors were used.
    passage: Option<usize>,
}

impl Query {
    /// A query for documents of this kind, or of all; `vector` is the embedding of `text`. Without a text it finds all
    /// of them.
    pub fn new(text: Option<&str>, kind: Option<Kind>, vector: Option<Vec<f32>>) -> Query {
        Query {
            terms: text.map(terms::query_terms),
            kind,
            vector,
        }
    }

    /// The query's embedding, if any.
    pub fn vector(&self) -> Option<&[f32]> {
        self.vector.as_deref()
    }

    fn accepts(&self, document: &Document) -> bool {
        self.kind.is_none_or(|kind| document.kind == kind)
    }

    /// All matching documents, best first; without a text all of them, in the library's order. `vectors` are the passage vectors of all documents, in
    /// the library's order; without them only words count.
    ///
    /// # Errors
    /// If the call is cancelled.
    pub fn find<'a>(
        &self,
        library: &'a Library,
        vectors: Option<&[DocumentVectors]>,
        cancel: &Cancel,
    ) -> Result<Vec<Match<'a>>, Stopped> {
        let Some(terms) = &self.terms else {
            return Ok(self.all(library));
        };
        let scorer = words::Scorer::of(library, terms, cancel)?;
        let similarities = vectors
            .zip(self.vector())
            .map(|(all, query)| Similarities::of(all, query));
        let mut found = Vec::new();
        for (at, document) in library.documents().iter().enumerate() {
            cancel.check()?;
            if !self.accepts(document) {
                continue;
            }
            let lexical = scorer.score(at);
            let near = similarities
                .as_ref()
                .map(|similarities| similarities.at(at));
            if lexical > 0.0 || near.is_some_and(|near| near.is_sufficient) {
                let score = near.map_or(lexical, |near| combined(lexical, near.cosine));
                found.push(Match {
                    document,
                    score: score * status_factor(document),
                    passage: near.and_then(|near| near.passage),
                });
            }
        }
        // The sort is stable, so ties keep the library's order.
        found.sort_by(|a, b| b.score.total_cmp(&a.score));
        Ok(found)
    }

    /// All documents of the kind.
    fn all<'a>(&self, library: &'a Library) -> Vec<Match<'a>> {
        let documents = library.documents().iter();
        let accepted = documents.filter(|document| self.accepts(document));
        let found = accepted.map(|document| Match {
            document,
            score: 1.0,
            passage: None,
        });
        found.collect()
    }

    /// The sentences of a document that match the query best; without a text its first ones.
    pub fn excerpt(&self, found: &Match<'_>) -> String {
        let terms = self.terms.as_deref().unwrap_or_default();
        excerpt::of(found.document, terms, found.passage)
    }
}

/// The factor for a document's score.
fn status_factor(document: &Document) -> f32 {
    let record = document.record.as_ref();
    if record.is_some_and(|record| record.status.is_inactive()) {
        INACTIVE_FACTOR
    } else {
        1.0
    }
}

/// Combines the scores of words and of similarity.
fn combined(lexical: f32, cosine: f32) -> f32 {
    let near = ((cosine - UNRELATED_SIMILARITY) / (1.0 - UNRELATED_SIMILARITY)).clamp(0.0, 1.0);
    (lexical + VECTOR_WEIGHT * near) / (1.0 + VECTOR_WEIGHT)
}

/// The similarity of documents to a query, by the most similar passage of each.
struct Similarities {
    nearest: Vec<Option<(usize, f32)>>,
    /// The median cosine similarity.
    median: f32,
}

/// The similarity of one document.
#[derive(Clone, Copy)]
struct Similarity {
    passage: Option<usize>,
    cosine: f32,
    /// Whether it is sufficient for a match without common words.
    is_sufficient: bool,
}

impl Similarities {
    fn of(all: &[DocumentVectors], query: &[f32]) -> Similarities {
        let nearest: Vec<_> = all.iter().map(|document| document.nearest(query)).collect();
        let mut cosines: Vec<f32> = nearest
            .iter()
            .flatten()
            .map(|(_, cosine)| *cosine)
            .collect();
        cosines.sort_unstable_by(f32::total_cmp);
        let middle = cosines
            .get(cosines.len() / 2)
            .filter(|_| cosines.len() >= MIN_DOCUMENTS_FOR_MEDIAN);
        let median = middle.copied().unwrap_or(f32::NEG_INFINITY);
        Similarities { nearest, median }
    }

    fn at(&self, at: usize) -> Similarity {
        let nearest = self.nearest.get(at).copied().flatten();
        let cosine = nearest.map_or(0.0, |(_, cosine)| cosine);
        Similarity {
            passage: nearest.map(|(passage, _)| passage),
            cosine,
            is_sufficient: cosine >= MIN_SIMILARITY && cosine >= self.median + MIN_ABOVE_MEDIAN,
        }
    }
}

#[cfg(test)]
mod tests;
