//! The words of a document, with weighted counts.

use archway_index::terms::{Term, Terms};

use super::markdown::Markdown;

/// The weight of a word in a title, relative to 1 in the text.
pub(crate) const TITLE_WEIGHT: u16 = 5;
/// The weight in a heading or in front matter.
const HEADING_WEIGHT: u16 = 2;

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
        let fields = [
            (title, TITLE_WEIGHT),
            (&headings, HEADING_WEIGHT),
            (&text, 1),
        ];
        Words(merge(
            fields.map(|(text, weight)| (Terms::of(&[], text), weight)),
        ))
    }

    /// The weighted count of a word.
    pub(crate) fn count(&self, term: Term) -> u16 {
        let counts = &self.0.counts;
        let at = counts.binary_search_by_key(&term, |(term, _)| *term);
        at.ok()
            .and_then(|at| counts.get(at))
            .map_or(0, |(_, count)| *count)
    }

    /// The number of words, unweighted.
    pub(crate) fn length(&self) -> u32 {
        self.0.length
    }
}

fn add(text: &mut String, more: &str) {
    text.push_str(more);
    text.push('\n');
}

/// Merges fields: each count is multiplied by its field's weight. The length is the unweighted
/// number of words.
fn merge<const N: usize>(fields: [(Terms, u16); N]) -> Terms {
    let length = fields.iter().map(|(terms, _)| terms.length).sum();
    let weighted = fields.iter().flat_map(|(terms, weight)| {
        let words = terms.counts.iter();
        words.map(|(term, count)| (*term, count.saturating_mul(*weight)))
    });
    let mut weighted: Vec<(Term, u16)> = weighted.collect();
    weighted.sort_unstable();
    let counts = weighted.chunk_by(|left, right| left.0 == right.0);
    let counts = counts.filter_map(|same| {
        let count = same
            .iter()
            .fold(0_u16, |merge, (_, count)| merge.saturating_add(*count));
        Some((same.first()?.0, count))
    });
    let counts = counts.collect();
    Terms { counts, length }
}
