//! Which documents are about a subject: by their words, and by vectors where there are any.
//!
//! A document is found if any word of the query is in it, or if a passage of it is near enough in
//! meaning. Words weigh more in titles and headings than in text (BM25 over fields), and a decision
//! that holds no longer counts for half. Scores lie between 0 and 1 and depend on the query and the
//! library alone; equals stand in the library's order.

mod excerpt;
mod passages;
mod vectors;
mod words;

use archway_index::terms::{self, Term};
use archway_repo::{Cancel, Stopped};

use super::document::{Document, Kind};
use super::library::Library;

pub use vectors::{Lacking, Vectors};

/// What the best passage's nearness counts, where the words count 1.
const DENSE: f32 = 1.0;
/// From which cosine on a document is found that has no word of the query,
const NEAR: f32 = 0.33;
/// if it is so much above what is usual in the library: models differ in how near any two texts
/// are.
const ABOVE: f32 = 0.15;
/// How many documents it takes to say what is usual.
const FEW: usize = 4;
/// What a decision's score counts that was superseded, deprecated or turned down: it has to fit twice
/// as well as one that holds to stand before it.
const OVER: f32 = 0.5;
/// The cosine that two texts have that have nothing to do with each other, about.
const FAR: f32 = 0.1;

/// What is looked for.
pub struct Query {
    terms: Vec<Term>,
    /// Of this kind only.
    kind: Option<Kind>,
    vector: Option<Vec<f32>>,
}

/// A document that was found.
#[derive(Clone, Copy, Debug)]
pub struct Match<'a> {
    /// The document.
    pub document: &'a Document,
    /// Between 0 and 1.
    pub score: f32,
    /// The passage that is nearest in meaning, if vectors counted.
    passage: Option<usize>,
}

impl Query {
    /// A query of these words, for documents of this kind; `vector` is the text's own.
    pub fn new(text: &str, kind: Option<Kind>, vector: Option<Vec<f32>>) -> Query {
        Query {
            terms: terms::query_terms(text),
            kind,
            vector,
        }
    }

    /// Its vector, if it has one.
    pub fn vector(&self) -> Option<&[f32]> {
        self.vector.as_deref()
    }

    fn takes(&self, document: &Document) -> bool {
        self.kind.is_none_or(|kind| document.kind == kind)
    }

    /// All documents that are about it, best first. `nearest` are the vectors of all documents'
    /// passages, in the library's order; without them words alone count.
    ///
    /// # Errors
    /// If the call has to stop.
    pub fn find<'a>(
        &self,
        library: &'a Library,
        vectors: Option<&[vectors::OfDocument]>,
        cancel: &Cancel,
    ) -> Result<Vec<Match<'a>>, Stopped> {
        let scorer = words::Scorer::of(library, &self.terms, cancel)?;
        let nearness = vectors
            .zip(self.vector())
            .map(|(all, query)| Nearness::of(all, query));
        let mut found = Vec::new();
        for (at, document) in library.documents().iter().enumerate() {
            cancel.check()?;
            if !self.takes(document) {
                continue;
            }
            let lexical = scorer.score(at);
            let near = nearness.as_ref().map(|nearness| nearness.at(at));
            if lexical > 0.0 || near.is_some_and(|near| near.is_enough) {
                let score = near.map_or(lexical, |near| fused(lexical, near.cosine));
                found.push(Match {
                    document,
                    score: score * standing(document),
                    passage: near.and_then(|near| near.passage),
                });
            }
        }
        // Stable: equals stay in the library's order.
        found.sort_by(|a, b| b.score.total_cmp(&a.score));
        Ok(found)
    }

    /// The sentences of a document that say most of what was asked for.
    pub fn excerpt(&self, found: &Match<'_>) -> String {
        excerpt::of(found.document, &self.terms, found.passage)
    }
}

/// What a document's score counts.
fn standing(document: &Document) -> f32 {
    let record = document.record.as_ref();
    if record.is_some_and(|record| record.status.is_over()) {
        OVER
    } else {
        1.0
    }
}

/// Words and nearness as one score.
fn fused(lexical: f32, cosine: f32) -> f32 {
    let near = ((cosine - FAR) / (1.0 - FAR)).clamp(0.0, 1.0);
    (lexical + DENSE * near) / (1.0 + DENSE)
}

/// How near documents are to a query, each by its nearest passage.
struct Nearness {
    nearest: Vec<Option<(usize, f32)>>,
    /// The cosine of the document in the middle.
    usual: f32,
}

/// How near one is.
#[derive(Clone, Copy)]
struct Near {
    passage: Option<usize>,
    cosine: f32,
    /// It is about the same, whatever its words.
    is_enough: bool,
}

impl Nearness {
    fn of(all: &[vectors::OfDocument], query: &[f32]) -> Nearness {
        let nearest: Vec<_> = all.iter().map(|document| document.nearest(query)).collect();
        let mut cosines: Vec<f32> = nearest
            .iter()
            .flatten()
            .map(|(_, cosine)| *cosine)
            .collect();
        cosines.sort_unstable_by(f32::total_cmp);
        let middle = cosines
            .get(cosines.len() / 2)
            .filter(|_| cosines.len() >= FEW);
        let usual = middle.copied().unwrap_or(f32::NEG_INFINITY);
        Nearness { nearest, usual }
    }

    fn at(&self, at: usize) -> Near {
        let nearest = self.nearest.get(at).copied().flatten();
        let cosine = nearest.map_or(0.0, |(_, cosine)| cosine);
        Near {
            passage: nearest.map(|(passage, _)| passage),
            cosine,
            is_enough: cosine >= NEAR && cosine >= self.usual + ABOVE,
        }
    }
}

#[cfg(test)]
mod tests;
