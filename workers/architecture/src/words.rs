//! The words of a document, with weighted counts.

use archway_index::terms::{Term, Terms};

use super::markdown::Markdown;

/// The weight of a word in the title, relative to 1 in the text. A title that is also a heading, or
/// a value of front matter, counts 5 + 2 = 7.
pub(crate) const TITLE_WEIGHT: u16 = 5;
/// The weight of a word in a heading or in front matter.
const HEADING_WEIGHT: u16 = 2;

/// The weighted counts, sorted by word.
#[derive(Debug)]
pub(crate) struct WordCounts(Terms);

impl WordCounts {
    pub(crate) fn from_markdown(markdown: &Markdown, title: &str) -> WordCounts {
        let mut headings = String::new();
        let mut text = String::new();
        for section in &markdown.sections {
            push_line(&mut headings, &section.heading);
            for block in &section.blocks {
                push_line(&mut text, &block.text);
            }
        }
        for value in markdown.front.iter().flat_map(|field| &field.values) {
            push_line(&mut headings, value);
        }
        for fence in &markdown.fences {
            push_line(&mut text, &fence.content);
        }
        let fields = [
            (title, TITLE_WEIGHT),
            (&headings, HEADING_WEIGHT),
            (&text, 1),
        ];
        WordCounts(merge(
            fields.map(|(text, weight)| (Terms::of(&[], text), weight)),
        ))
    }

    /// The weighted count of a word.
    pub(crate) fn count(&self, term: Term) -> u16 {
        let counts = &self.0.counts;
        let index = counts.binary_search_by_key(&term, |(term, _)| *term);
        index
            .ok()
            .and_then(|index| counts.get(index))
            .map_or(0, |(_, count)| *count)
    }

    /// The number of words, unweighted. A title that is also a heading counts twice.
    pub(crate) fn length(&self) -> u32 {
        self.0.length
    }
}

fn push_line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// Merges fields: each count is multiplied by its field's weight. The counts are sorted by word.
/// The length is the unweighted number of words.
fn merge<const N: usize>(fields: [(Terms, u16); N]) -> Terms {
    let length = fields.iter().map(|(terms, _)| terms.length).sum();
    let weighted = fields.iter().flat_map(|(terms, weight)| {
        let words = terms.counts.iter();
        words.map(|(term, count)| (*term, count.saturating_mul(*weight)))
    });
    let mut weighted: Vec<(Term, u16)> = weighted.collect();
    weighted.sort_unstable();
    let counts = weighted.chunk_by(|left, right| left.0 == right.0);
    let counts = counts.filter_map(|of_word| {
        let count = of_word
            .iter()
            .fold(0_u16, |sum, (_, count)| sum.saturating_add(*count));
        Some((of_word.first()?.0, count))
    });
    let counts = counts.collect();
    Terms { counts, length }
}
