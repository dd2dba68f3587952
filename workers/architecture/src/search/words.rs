//! Scores documents by their words: BM25 over title, headings and text.

use archway_index::terms::{self, Term};

use crate::document::{Content, Document};
use crate::library::Library;
use crate::words::{TITLE_WEIGHT, WordCounts};

use archway_repo::{Cancel, Stopped};

/// The maximum weight of a word: the limit of [`terms::weight`] for many occurrences.
const MAX_TERM_WEIGHT: f32 = 2.5;

/// The scores of a library's documents.
pub(super) struct Scorer(Vec<f32>);

impl Scorer {
    /// Scores all documents, from 0 (no word occurs) to 1 (all words occur very often).
    pub(super) fn of(
        library: &Library,
        query: &[Term],
        cancel: &Cancel,
    ) -> Result<Scorer, Stopped> {
        let mut documents = Vec::with_capacity(library.documents().len());
        for document in library.documents() {
            cancel.check()?;
            documents.push(IndexedDocument::of(document));
        }
        let average = average(&documents);
        let mut scores = vec![0.0; documents.len()];
        let mut max_score = 0.0;
        for term in query {
            cancel.check()?;
            let counts: Vec<u16> = documents.iter().map(|one| one.count(*term)).collect();
            let with = counts.iter().filter(|count| **count > 0).count();
            let idf = terms::idf(as_u64(documents.len()), as_u64(with.max(1)));
            max_score += idf * MAX_TERM_WEIGHT;
            for ((score, one), count) in scores.iter_mut().zip(&documents).zip(counts) {
                if count > 0 {
                    *score += idf * terms::weight(count, one.words.length(), average);
                }
            }
        }
        for score in &mut scores {
            *score = if max_score > 0.0 {
                (*score / max_score).min(1.0)
            } else {
                0.0
            };
        }
        Ok(Scorer(scores))
    }

    /// The score of the document at this index.
    pub(super) fn score(&self, at: usize) -> f32 {
        self.0.get(at).copied().unwrap_or_default()
    }
}

/// A document's words, and those of its file name.
struct IndexedDocument<'a> {
    words: &'a WordCounts,
    slug: Vec<Term>,
}

impl<'a> IndexedDocument<'a> {
    fn of(document: &'a Document) -> IndexedDocument<'a> {
        IndexedDocument {
            words: document.content.words(),
            slug: terms::query_terms(&document.slug),
        }
    }

    /// The weighted count of a word. The file name counts if the title lacks the word.
    fn count(&self, term: Term) -> u16 {
        match self.words.count(term) {
            0 if self.slug.binary_search(&term).is_ok() => TITLE_WEIGHT,
            count => count,
        }
    }
}

fn average(documents: &[IndexedDocument<'_>]) -> f32 {
    let lengths = documents.iter().map(|one| u64::from(one.words.length()));
    #[expect(
        clippy::cast_precision_loss,
        reason = "an average of lengths needs no more than 24 bits"
    )]
    let average = lengths.sum::<u64>() as f32 / documents.len().max(1) as f32;
    average
}

fn as_u64(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

impl Content {
    /// The document's words, counted on first use.
    pub(super) fn words(&self) -> &WordCounts {
        self.words.get_or_init(|| {
            let title = self.markdown.document_title().unwrap_or_default();
            WordCounts::from_markdown(&self.markdown, title)
        })
    }
}
