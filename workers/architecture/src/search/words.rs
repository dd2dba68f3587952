//! The words of documents, and how well they answer a query: BM25 over title, headings and text.

use crate::document::{Content, Document};
use crate::library::Library;
use crate::markdown::Markdown;
use archway_index::terms::{self, Term, Terms};
use archway_repo::{Cancel, Stopped};

/// What a word counts in a title, where it counts 1 in the text.
const TITLE: u16 = 5;
/// And what in a heading, or in front matter.
const HEADING: u16 = 2;
/// What a word weighs at most: the limit of [`terms::weight`] for many occurrences.
const MOST: f32 = 2.5;

/// The words of a document, counted by what they count for.
#[derive(Debug)]
pub(crate) struct Words(Terms);

impl Words {
    pub(crate) fn of(markdown: &Markdown, title: &str) -> Words {
        let mut headings = String::new();
        let mut text = String::new();
        for section in &markdown.sections {
            add(&mut headings, &section.heading);
            for block in &section.blocks {
                add(&mut text, &block.text);
            }
        }
        for value in markdown.front.iter().flat_map(|field| &field.values) {
            add(&mut headings, value);
        }
        for fence in &markdown.fences {
            add(&mut text, &fence.content);
        }
        let fields = [(title, TITLE), (&headings, HEADING), (&text, 1)];
        Words(sum(
            fields.map(|(text, counts)| (Terms::of(&[], text), counts))
        ))
    }

    fn count(&self, term: Term) -> u16 {
        let counts = &self.0.counts;
        let at = counts.binary_search_by_key(&term, |(term, _)| *term);
        at.ok()
            .and_then(|at| counts.get(at))
            .map_or(0, |(_, count)| *count)
    }
}

fn add(text: &mut String, more: &str) {
    text.push_str(more);
    text.push('\n');
}

/// Fields as one: a word counts in each as often as it occurs, times what it counts there. How long
/// a document is, its words alone say.
fn sum<const N: usize>(fields: [(Terms, u16); N]) -> Terms {
    let length = fields.iter().map(|(terms, _)| terms.length).sum();
    let each = fields.iter().flat_map(|(terms, counts)| {
        let words = terms.counts.iter();
        words.map(|(term, count)| (*term, count.saturating_mul(*counts)))
    });
    let mut each: Vec<(Term, u16)> = each.collect();
    each.sort_unstable();
    let counts = each.chunk_by(|left, right| left.0 == right.0);
    let counts = counts.filter_map(|same| {
        let count = same
            .iter()
            .fold(0_u16, |sum, (_, count)| sum.saturating_add(*count));
        Some((same.first()?.0, count))
    });
    let counts = counts.collect();
    Terms { counts, length }
}

/// What a library's documents score.
pub(super) struct Scorer(Vec<f32>);

impl Scorer {
    /// The scores of all documents, each from 0 (no word is in it) to 1 (all are, over and over).
    pub(super) fn of(
        library: &Library,
        query: &[Term],
        cancel: &Cancel,
    ) -> Result<Scorer, Stopped> {
        let mut called = Vec::with_capacity(library.documents().len());
        for document in library.documents() {
            cancel.check()?;
            called.push(Called::of(document));
        }
        let average = average(&called);
        let mut scores = vec![0.0; called.len()];
        let mut most = 0.0;
        for term in query {
            cancel.check()?;
            let counts: Vec<u16> = called.iter().map(|one| one.count(*term)).collect();
            let with = counts.iter().filter(|count| **count > 0).count();
            let idf = terms::idf(wide(called.len()), wide(with.max(1)));
            most += idf * MOST;
            for ((score, one), count) in scores.iter_mut().zip(&called).zip(counts) {
                if count > 0 {
                    *score += idf * terms::weight(count, one.words.0.length, average);
                }
            }
        }
        for score in &mut scores {
            *score = if most > 0.0 {
                (*score / most).min(1.0)
            } else {
                0.0
            };
        }
        Ok(Scorer(scores))
    }

    /// What the document at this place scores.
    pub(super) fn score(&self, at: usize) -> f32 {
        self.0.get(at).copied().unwrap_or_default()
    }
}

/// A document's words, and those of its file's name.
struct Called<'a> {
    words: &'a Words,
    slug: Vec<Term>,
}

impl<'a> Called<'a> {
    fn of(document: &'a Document) -> Called<'a> {
        Called {
            words: document.content.words(),
            slug: terms::query_terms(&document.slug),
        }
    }

    /// How often it has a word. A file's name counts where its title lacks the word.
    fn count(&self, term: Term) -> u16 {
        match self.words.count(term) {
            0 if self.slug.binary_search(&term).is_ok() => TITLE,
            count => count,
        }
    }
}

fn average(documents: &[Called<'_>]) -> f32 {
    let lengths = documents.iter().map(|one| u64::from(one.words.0.length));
    #[expect(
        clippy::cast_precision_loss,
        reason = "an average of lengths needs no more than 24 bits"
    )]
    let average = lengths.sum::<u64>() as f32 / documents.len().max(1) as f32;
    average
}

fn wide(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

impl Content {
    /// Its words. They are counted when they are first asked for.
    pub(super) fn words(&self) -> &Words {
        self.words.get_or_init(|| {
            let title = self.markdown.called().unwrap_or_default();
            Words::of(&self.markdown, title)
        })
    }
}
