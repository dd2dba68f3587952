//! The result of a search, and its counts.

use std::ops::AddAssign;

use parking_lot::Mutex;

use super::{Excluded, Query};
use crate::matched_line::MatchedLine;
use crate::path::RepoPath;

/// Matching lines in the requested range, and the counts of the whole search.
#[derive(Clone, Debug, Default)]
pub struct Matches {
    /// The lines in the requested range, by path, then line.
    pub lines: Vec<MatchedLine>,
    /// All files with matching lines by path, if the range asks for them.
    pub files: Vec<RepoPath>,
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

/// The totals of searches of one listing that no file matches: they are those of the filters alone.
#[derive(Debug, Default)]
pub(crate) struct EmptyTotals(Mutex<Vec<(&'static Excluded, SearchTotals)>>);

impl EmptyTotals {
    /// The totals of a query with these filters. `None` if they are not known yet.
    pub(super) fn get(&self, query: &Query) -> Option<SearchTotals> {
        let known = self.0.lock();
        let is_it = |(excluded, _): &&(&Excluded, _)| std::ptr::eq(*excluded, query.excluded);
        let (_, totals) = known.iter().find(is_it).filter(|_| query.glob.is_none())?;
        Some(*totals)
    }

    /// Remembers the totals of a complete search. There are as few filters as tools.
    pub(super) fn insert(&self, query: &Query, totals: SearchTotals) {
        if query.glob.is_none() && !totals.incomplete && self.get(query).is_none() {
            self.0.lock().push((query.excluded, totals));
        }
    }
}
