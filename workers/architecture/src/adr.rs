//! Extracts the fields of an architecture decision record (ADR): decision, rationale, options.
//!
//! Supports the styles that teams use: Nygard, MADR 1 to 4, adr-tools, log4brains, Tyree and
//! Akerman, Y-statements. Parts may be under headings, behind bold words, in tables or in lists.
//! Each field is a list of passages that point into the document; nothing is reworded.

// In reading order.
mod name;
mod parts;
mod status;
mod relations;
mod y_statement;
mod options;
mod chosen_option;

use std::ops::Range;

use super::markdown::{Block, Markdown, sentences};
use parts::{Part, Segment};

pub(super) use name::{is_cover, is_index, is_template, number_of_stem, split_number};
pub(crate) use relations::{Relation, RelationKind};
pub(crate) use status::Status;

/// The extracted fields of a decision record.
#[derive(Debug, Default)]
pub(crate) struct Adr {
    /// The number at the start of the title, as written.
    pub(crate) number: Option<String>,
    /// The title without the number.
    pub(crate) title: String,
    /// The status that the record declares.
    pub(crate) status: Status,
    /// The lines that state the status, in order. Search skips them: they don't say what the record
    /// is about.
    pub(super) status_lines: Vec<Passage>,
    /// The links to other records.
    pub(crate) relations: Vec<Relation>,
    /// The problem and its context.
    pub(crate) context: Vec<Passage>,
    /// The decision drivers.
    pub(crate) drivers: Vec<Passage>,
    /// The considered options.
    pub(crate) options: Vec<ConsideredOption>,
    /// The decision and its rationale.
    pub(crate) decision: Vec<Passage>,
    /// The consequences of the decision.
    pub(crate) consequences: Vec<Consequence>,
    /// Passages under any other heading.
    pub(crate) other: Vec<Passage>,
}

/// A piece of a document's text: a whole block or part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Passage {
    /// Index of the section in the document.
    pub(crate) section: usize,
    /// Index of the block in the section.
    pub(crate) block: usize,
    /// Byte range in the block's text.
    pub(crate) range: Range<usize>,
}

/// A considered option.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ConsideredOption {
    /// The option's name, without a number.
    pub(crate) name: String,
    /// Neutral passages about the option.
    pub(crate) about: Vec<Passage>,
    /// Arguments for the option.
    pub(crate) pros: Vec<Passage>,
    /// Arguments against the option.
    pub(crate) cons: Vec<Passage>,
    /// The outcome for this option.
    pub(crate) verdict: Verdict,
}

/// The outcome for an option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The record does not say.
    #[default]
    Open,
    /// The option is the decision, or part of it.
    Chosen,
    /// Another option was chosen, or the record says that this one was rejected.
    Rejected,
}

/// A consequence of a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Consequence {
    /// The passage that states it.
    pub(crate) passage: Passage,
    /// Whether the consequence is positive; `None` if the record doesn't say.
    pub(crate) is_good: Option<bool>,
}

impl Adr {
    /// Extracts the fields of a document with this `title`.
    pub(crate) fn of(markdown: &Markdown, title: &str) -> Adr {
        let (number, plain) = split_number(title);
        let segments = parts::segments(markdown);
        let mut adr = Adr {
            number,
            title: plain,
            status: status::of(markdown, &segments),
            status_lines: status::status_lines(markdown, &segments),
            relations: relations::of(markdown, &segments),
            options: options::of(markdown, &segments),
            ..Adr::default()
        };
        for segment in &segments {
            adr.add_segment(segment, markdown);
        }
        y_statement::extract(markdown, &mut adr);
        chosen_option::mark_outcomes(markdown, &mut adr);
        adr
    }

    /// Whether a range of a block's text is in the lines that state the status.
    pub(super) fn is_status_line(
        &self,
        section: usize,
        block: usize,
        range: &Range<usize>,
    ) -> bool {
        let place = (section, block, range.start);
        let next = self
            .status_lines
            .partition_point(|line| (line.section, line.block, line.range.end) <= place);
        self.status_lines.get(next).is_some_and(|line| {
            (line.section, line.block) == (section, block) && line.range.start < range.end
        })
    }

    /// Whether this page is the record that a folder of this name holds. Otherwise the page
    /// describes the folder's contents, and may mention statuses or how decisions are made.
    pub(super) fn is_record_of(&self, folder: &str) -> bool {
        let (has_status, is_decided) = (self.status != Status::Unknown, !self.decision.is_empty());
        let is_numbered = number_of_stem(folder).is_some();
        (has_status && is_decided) || (is_numbered && (has_status || is_decided))
    }

    /// Whether the page is a list of records rather than a record.
    pub(super) fn is_record_list(&self, markdown: &Markdown) -> bool {
        let is_record = self.status != Status::Unknown || !self.decision.is_empty();
        let blocks = markdown.sections.iter().flat_map(|section| &section.blocks);
        let leads = |block: &&Block| block.links.iter().any(|link| link.target.contains(".md"));
        let (all, leading) = (blocks.clone().count(), blocks.filter(leads).count());
        !is_record && leading >= 3 && leading * 2 >= all
    }

    /// Adds a segment to the field that its part belongs to.
    fn add_segment(&mut self, segment: &Segment, markdown: &Markdown) {
        let passage = segment.passage.clone();
        match segment.part {
            Part::Preface | Part::Context => self.context.push(passage),
            Part::Drivers => self.drivers.push(passage),
            Part::Decision => self.decision.push(passage),
            Part::Consequences(_) if passage.text(markdown).trim().is_empty() => {}
            Part::Consequences(said) => {
                let (is_good, passage) = options::split_polarity(markdown, &passage);
                self.consequences.push(Consequence {
                    passage,
                    is_good: is_good.or(said),
                });
            }
            Part::Other => self.other.push(passage),
            Part::Status | Part::Date | Part::Options { .. } | Part::Links => {}
        }
    }
}

impl Passage {
    fn whole(section: usize, at: usize, block: &Block) -> Passage {
        Passage {
            section,
            block: at,
            range: 0..block.text.len(),
        }
    }

    /// The block that contains the passage.
    pub(crate) fn block<'a>(&self, markdown: &'a Markdown) -> Option<&'a Block> {
        markdown.sections.get(self.section)?.blocks.get(self.block)
    }

    /// The plain text.
    pub(crate) fn text<'a>(&self, markdown: &'a Markdown) -> &'a str {
        let block = self.block(markdown);
        let text = block.and_then(|block| block.text.get(self.range.clone()));
        text.unwrap_or_default()
    }

    /// The 1-based line on which the passage begins.
    #[cfg(test)]
    pub(crate) fn line(&self, markdown: &Markdown) -> usize {
        let block = self.block(markdown);
        block.map_or(1, |block| block.line_at(self.range.start))
    }

    /// The passage as written in the source, with runs of whitespace collapsed to one space.
    pub(crate) fn verbatim(&self, markdown: &Markdown, source: &str) -> String {
        let block = self.block(markdown);
        block.map_or_else(String::new, |block| block.verbatim(source, &self.range))
    }

    pub(crate) fn sentences(&self, markdown: &Markdown) -> Vec<Passage> {
        let ranges = sentences(self.text(markdown)).into_iter();
        ranges.map(|range| self.within(range)).collect()
    }

    /// A sub-passage, by a byte range of this passage's text.
    pub(super) fn within(&self, range: Range<usize>) -> Passage {
        Passage {
            range: self.range.start + range.start..self.range.start + range.end,
            ..*self
        }
    }
}

#[cfg(test)]
mod tests;
