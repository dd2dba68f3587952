//! The result of a search, and its counts.

use std::ops::AddAssign;

use crate::matched_line::MatchedLine;

/// Matching lines in the requested range, and the counts of the whole search.
#[derive(Clone, Debug, Default)]
pub struct Matches {
    /// The lines in the requested range, by path, then line.
    pub lines: Vec<MatchedLine>,
    /// The counts over all files that pass the filters.
    pub totals: SearchTotals,
}

/// Counts of one search, or the sum of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SearchTotals {
    /// All matching lines, returned or not.
    pub matches: u64,
    /// Files that pass the filters, including binaries and files over 8 MiB.
    pub files_searched: u64,
    /// Files that were not searched completely: over 8 MiB, or with a line over 1 MiB.
    pub files_skipped: u64,
    /// The deadline ended the search; the counts cover the files before that point.
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
