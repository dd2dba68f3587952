//! Options in a table: a row each, with columns for what speaks for and against them.

use super::{Options, name};
use crate::architecture::adr::parts::{normal, polarity};
use crate::architecture::adr::{Passage, Verdict};
use crate::architecture::markdown::Block;

/// What a column of a table of options holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    Name,
    Pros,
    Cons,
    Verdict,
    About,
}

impl Options {
    /// An option that is a row of a table.
    pub(super) fn row(&mut self, block: &Block, passage: &Passage) {
        let columns = self.columns.clone();
        let is_of_options = columns.first() == Some(&Column::Name);
        let first = block.cells.first().filter(|_| is_of_options);
        let Some(first) = first.filter(|first| !first.trim().is_empty()) else {
            return;
        };
        self.current = self.named(&name(first));
        let are_rejected = self.are_rejected;
        let Some(choice) = self.choice() else { return };
        let mut start = 0;
        for (cell, column) in block.cells.iter().zip(columns) {
            let place = passage.within(start..start + cell.len());
            start += cell.len() + " | ".len();
            match column {
                _ if cell.trim().is_empty() => {}
                Column::Pros => choice.pros.push(place),
                Column::Cons => choice.cons.push(place),
                Column::Verdict => choice.verdict = verdict_of_cell(cell),
                Column::Name | Column::About => choice.about.push(place),
            }
        }
        if are_rejected && choice.verdict == Verdict::Open {
            choice.verdict = Verdict::Rejected;
        }
    }
}

fn verdict_of_cell(cell: &str) -> Verdict {
    let lower = cell.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if has(&["reject", "no", "✗", "❌", "✘", "discard", "declined"]) {
        Verdict::Rejected
    } else if has(&[
        "chosen", "yes", "accept", "select", "adopt", "✓", "✅", "✔", "x",
    ]) {
        Verdict::Chosen
    } else {
        Verdict::Open
    }
}

/// What the columns of a table hold, by its head; the first is a name only where others are about
/// options.
pub(super) fn columns(head: &Block) -> Vec<Column> {
    let column = |cell: &String| match normal(cell).as_str() {
        "option" | "options" | "alternative" | "alternatives" | "candidate" | "solution"
        | "name" | "technology" | "choice" | "tool" => Column::Name,
        "verdict" | "chosen" | "decision" | "selected" | "outcome" | "result" | "status" => {
            Column::Verdict
        }
        word => match polarity(word) {
            Some(true) => Column::Pros,
            Some(false) => Column::Cons,
            None => Column::About,
        },
    };
    let mut columns: Vec<Column> = head.cells.iter().map(column).collect();
    let tells = |column: &Column| !matches!(column, Column::About);
    let is_of_options = columns.iter().skip(1).any(tells);
    if let Some(first) = columns.first_mut()
        && is_of_options
    {
        *first = Column::Name;
    }
    columns
}
