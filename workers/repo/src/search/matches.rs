//! The answer of a search, and its counts.

use std::ops::AddAssign;

use crate::matched_line::MatchedLine;

/// Matching lines, and the counts of the whole search.
#[derive(Clone, Debug, Default)]
pub struct Matches {
    /// The lines asked for, by path, then line.
    pub lines: Vec<MatchedLine>,
    /// The counts of all files that fit the filters.
    pub totals: SearchTotals,
}

/// Counts of one search, or of several together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SearchTotals {
    /// All lines that match, shown or not.
    pub matches: u64,
    /// Files that fit the filters, binaries and files over 8 MiB included.
    pub files_searched: u64,
    /// How many of them were not searched, or not wholly: over 8 MiB, or with a line over 1 MiB.
    pub files_skipped: u64,
    /// The deadline ended the search: the numbers are of the files before that point.
    pub incomplete: bool,
}

impl AddAssign for SearchTotals {
    fn add_assign(&mut self, other: SearchTotals) {
        self.matches += other.matches;
        self.files_searched += other.files_searched;
        self.files_skipped += other.files_skipped;
        self.incomplete |= other.incomplete;
    }
}
