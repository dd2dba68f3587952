//! A decision record taken apart: what was decided, why, and what was not chosen.
//!
//! Read are the styles that teams use: Nygard's, MADR 1 to 4, adr-tools, log4brains, Tyree's and
//! Akerman's, Y-statements; with parts under headings, behind bold words, in tables or lists. Each
//! part is a list of passages, which name their place: nothing is reworded.

// In the order in which a record is read.
mod name;
mod parts;
mod status;
mod relations;
mod statement;
mod options;
mod chosen;

use std::ops::Range;

use super::markdown::{Block, Markdown, sentences};
use parts::{Bit, Part};

pub(super) use name::{is_cover, is_index, is_template, number_of_stem, parted};
pub(crate) use relations::{How, Relation};
pub(crate) use status::Status;

/// A decision record, taken apart.
#[derive(Debug, Default)]
pub(crate) struct Adr {
    /// The number that its title begins with, as it is written.
    pub(crate) number: Option<String>,
    /// Its title without the number.
    pub(crate) title: String,
    /// What it says of itself.
    pub(crate) status: Status,
    /// The lines that say where it stands, in order: nobody finds out from them what it is about.
    pub(super) standing: Vec<Passage>,
    /// What it says of other records.
    pub(crate) relations: Vec<Relation>,
    /// The problem, and what is around it.
    pub(crate) context: Vec<Passage>,
    /// What the decision had to do justice to.
    pub(crate) drivers: Vec<Passage>,
    /// What was considered.
    pub(crate) options: Vec<Choice>,
    /// What was decided, and why.
    pub(crate) decision: Vec<Passage>,
    /// What follows from it.
    pub(crate) consequences: Vec<Consequence>,
    /// What stands under other headings.
    pub(crate) other: Vec<Passage>,
}

/// A piece of a document's text: all or a part of one block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Passage {
    /// The section, by its place in the document.
    pub(crate) section: usize,
    /// The block, by its place in the section.
    pub(crate) block: usize,
    /// Bytes of the block's text.
    pub(crate) range: Range<usize>,
}

/// An option that was considered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Choice {
    /// What it is called, without a number.
    pub(crate) name: String,
    /// What is said of it that is neither for nor against it.
    pub(crate) about: Vec<Passage>,
    /// What speaks for it.
    pub(crate) pros: Vec<Passage>,
    /// What speaks against it.
    pub(crate) cons: Vec<Passage>,
    /// What became of it.
    pub(crate) verdict: Verdict,
}

/// What became of an option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The record does not say.
    #[default]
    Open,
    /// It is the decision, or part of it.
    Chosen,
    /// Another one is, or the record says that it was turned down.
    Rejected,
}

/// What follows from a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Consequence {
    /// Where it is said.
    pub(crate) passage: Passage,
    /// Whether it is welcome; `None` if the record doesn't say.
    pub(crate) is_good: Option<bool>,
}

impl Adr {
    /// Takes a document apart that is called `title`.
    pub(crate) fn of(markdown: &Markdown, title: &str) -> Adr {
        let (number, plain) = parted(title);
        let bits = parts::bits(markdown);
        let mut adr = Adr {
            number,
            title: plain,
            status: status::of(markdown, &bits),
            standing: status::lines(markdown, &bits),
            relations: relations::of(markdown, &bits),
            options: options::of(markdown, &bits),
            ..Adr::default()
        };
        for bit in &bits {
            adr.sort_in(bit, markdown);
        }
        statement::take_apart(markdown, &mut adr);
        chosen::mark(markdown, &mut adr);
        adr
    }

    /// Whether a range of a block's text stands in the lines that say where the decision stands.
    pub(super) fn is_standing(&self, section: usize, block: usize, range: &Range<usize>) -> bool {
        let place = (section, block, range.start);
        let next = self
            .standing
            .partition_point(|line| (line.section, line.block, line.range.end) <= place);
        self.standing.get(next).is_some_and(|line| {
            (line.section, line.block) == (section, block) && line.range.start < range.end
        })
    }

    /// Whether it is the record that a folder of this name is of, rather than a page about what is
    /// in there: that may speak of statuses, or of how decisions are made.
    pub(super) fn is_record_of(&self, folder: &str) -> bool {
        let (has_status, is_decided) = (self.status != Status::Unknown, !self.decision.is_empty());
        let is_numbered = number_of_stem(folder).is_some();
        (has_status && is_decided) || (is_numbered && (has_status || is_decided))
    }

    /// Whether it is a page that lists records, rather than one.
    pub(super) fn lists_others(&self, markdown: &Markdown) -> bool {
        let is_record = self.status != Status::Unknown || !self.decision.is_empty();
        let blocks = markdown.sections.iter().flat_map(|section| &section.blocks);
        let leads = |block: &&Block| block.links.iter().any(|link| link.target.contains(".md"));
        let (all, leading) = (blocks.clone().count(), blocks.filter(leads).count());
        !is_record && leading >= 3 && leading * 2 >= all
    }

    /// Puts a bit where it belongs.
    fn sort_in(&mut self, bit: &Bit, markdown: &Markdown) {
        let passage = bit.passage.clone();
        match bit.part {
            Part::Preface | Part::Context => self.context.push(passage),
            Part::Drivers => self.drivers.push(passage),
            Part::Decision => self.decision.push(passage),
            Part::Consequences(_) if passage.text(markdown).trim().is_empty() => {}
            Part::Consequences(said) => {
                let (is_good, passage) = options::weighed(markdown, &passage);
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
    /// The whole block.
    fn whole(section: usize, at: usize, block: &Block) -> Passage {
        Passage {
            section,
            block: at,
            range: 0..block.text.len(),
        }
    }

    /// The block it is of.
    pub(crate) fn block<'a>(&self, markdown: &'a Markdown) -> Option<&'a Block> {
        markdown.sections.get(self.section)?.blocks.get(self.block)
    }

    /// Its plain text.
    pub(crate) fn text<'a>(&self, markdown: &'a Markdown) -> &'a str {
        let block = self.block(markdown);
        let text = block.and_then(|block| block.text.get(self.range.clone()));
        text.unwrap_or_default()
    }

    /// The line it begins on, 1-based.
    #[cfg(test)]
    pub(crate) fn line(&self, markdown: &Markdown) -> usize {
        let block = self.block(markdown);
        block.map_or(1, |block| block.line_at(self.range.start))
    }

    /// As it stands in the document, blanks made one.
    pub(crate) fn verbatim(&self, markdown: &Markdown, source: &str) -> String {
        let block = self.block(markdown);
        block.map_or_else(String::new, |block| block.verbatim(source, &self.range))
    }

    /// Its sentences.
    pub(crate) fn sentences(&self, markdown: &Markdown) -> Vec<Passage> {
        let ranges = sentences(self.text(markdown)).into_iter();
        ranges.map(|range| self.within(range)).collect()
    }

    /// A piece of it, by a range of its text.
    pub(super) fn within(&self, range: Range<usize>) -> Passage {
        Passage {
            range: self.range.start + range.start..self.range.start + range.end,
            ..*self
        }
    }
}

#[cfg(test)]
mod tests;
