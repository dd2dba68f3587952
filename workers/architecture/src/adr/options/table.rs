//! Options in a table: one per row, with columns for arguments for and against.

use super::{Options, name};
use crate::adr::parts::{normalized, polarity};
use crate::adr::{Passage, Verdict};
use crate::markdown::Block;

/// The content of a column in a table of options.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    Name,
    Pros,
    Cons,
    Verdict,
    About,
}

impl Options {
    /// Adds the option in a table row.
    pub(super) fn row(&mut self, block: &Block, passage: &Passage) {
        let columns = self.columns.clone();
        let has_option_columns = columns.first() == Some(&Column::Name);
        let first = block.cells.first().filter(|_| has_option_columns);
        let Some(first) = first.filter(|first| !first.trim().is_empty()) else {
            return;
        };
        self.current = self.find_or_add(&name(first));
        let are_rejected = self.are_rejected;
        let Some(choice) = self.current_option() else {
            return;
        };
        let mut start = 0;
        for (cell, column) in block.cells.iter().zip(columns) {
            let cell_passage = passage.within(start..start + cell.len());
            start += cell.len() + " | ".len();
            match column {
                _ if cell.trim().is_empty() => {}
                Column::Pros => choice.pros.push(cell_passage),
                Column::Cons => choice.cons.push(cell_passage),
                Column::Verdict => choice.verdict = verdict_of_cell(cell),
                Column::Name | Column::About => choice.about.push(cell_passage),
            }
        }
        if are_rejected && choice.verdict == Verdict::Open {
            choice.verdict = Verdict::Rejected;
        }
    }
}

/// The outcome that a cell states. Only whole words count: "Node", "unknown" and "next" state
/// nothing.
fn verdict_of_cell(cell: &str) -> Verdict {
    const REJECTED: [&str; 10] = [
        "no",
        "not",
        "reject",
        "rejects",
        "rejected",
        "discard",
        "discards",
        "discarded",
        "declined",
        "dropped",
    ];
    const CHOSEN: [&str; 11] = [
        "yes", "chosen", "accept", "accepts", "accepted", "select", "selects", "selected", "adopt",
        "adopts", "adopted",
    ];
    let lower = cell.to_lowercase();
    let says = |word: &str| {
        lower
            .split(|c: char| !c.is_alphanumeric())
            .any(|it| it == word)
    };
    let is_crossed = lower.trim_matches([' ', '[', ']', '(', ')', '*', '`']) == "x";
    if REJECTED.into_iter().any(says) || lower.contains(['✗', '❌', '✘']) {
        Verdict::Rejected
    } else if CHOSEN.into_iter().any(says) || lower.contains(['✓', '✅', '✔']) || is_crossed {
        Verdict::Chosen
    } else {
        Verdict::Open
    }
}

/// The kinds of a table's columns, from its header. The first column is a name only if another
/// column is about options.
pub(super) fn columns(head: &Block) -> Vec<Column> {
    let column = |cell: &String| match normalized(cell).as_str() {
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
    let is_specific = |column: &Column| !matches!(column, Column::About);
    let has_option_columns = columns.iter().skip(1).any(is_specific);
    if let Some(first) = columns.first_mut()
        && has_option_columns
    {
        *first = Column::Name;
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_states_an_outcome_in_whole_words() {
        for cell in [
            "no",
            "No, too slow",
            "Rejected",
            "not chosen",
            "❌",
            "declined.",
        ] {
            assert_eq!(verdict_of_cell(cell), Verdict::Rejected, "{cell}");
        }
        for cell in ["yes", "**Chosen**", "Accepted (2024)", "✅", "x", " [X] "] {
            assert_eq!(verdict_of_cell(cell), Verdict::Chosen, "{cell}");
        }
        for cell in [
            "known", "unknown", "Node", "complex", "next", "x86 only", "2 x 4", "notable", "",
        ] {
            assert_eq!(verdict_of_cell(cell), Verdict::Open, "{cell}");
        }
    }
}
