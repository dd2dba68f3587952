//! The counts of recent searches of one listing: the next page of a search, and the same search by
//! another agent, count nothing again.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::search::PatternKey;

/// Patterns whose counts are remembered.
const MAX_PATTERNS: usize = 8;
/// Counts of all these patterns together, of 8 bytes each.
const MAX_COUNTS: usize = 1 << 16;
/// So few files are counted again.
const FEW: usize = 16;

/// The counts of the last patterns, the latest first.
#[derive(Debug, Default)]
pub(super) struct RecentCounts(Mutex<VecDeque<(PatternKey, Arc<FileCounts>)>>);

/// The matching lines of files by their position in the listing, in order.
#[derive(Debug, Default)]
pub(super) struct FileCounts(Vec<(u32, u32)>);

impl FileCounts {
    /// The matching lines of the file at a position. `None` if it was not counted.
    pub(super) fn get(&self, position: usize) -> Option<u64> {
        let position = u32::try_from(position).ok()?;
        let at = self.0.binary_search_by_key(&position, |(file, _)| *file);
        let (_, lines) = self.0.get(at.ok()?)?;
        Some(u64::from(*lines))
    }
}

impl RecentCounts {
    /// What is known of a pattern.
    pub(super) fn of(&self, pattern: &PatternKey) -> Option<Arc<FileCounts>> {
        let mut recent = self.0.lock();
        let at = recent.iter().position(|(known, _)| known == pattern)?;
        let found = recent.remove(at)?;
        let counts = Arc::clone(&found.1);
        recent.push_front(found);
        Some(counts)
    }

    /// Adds counts of a pattern by position: each is of the text that the index has.
    pub(super) fn add(&self, pattern: &PatternKey, counted: &[(usize, u64)]) {
        if counted.len() <= FEW {
            return;
        }
        let narrow = |(position, lines): &(usize, u64)| {
            Some((u32::try_from(*position).ok()?, u32::try_from(*lines).ok()?))
        };
        let mut recent = self.0.lock();
        let at = recent.iter().position(|(known, _)| known == pattern);
        let known = at.and_then(|at| recent.remove(at)).map(|(_, known)| known);
        let known = known.iter().flat_map(|known| &known.0).copied();
        let mut counts: Vec<(u32, u32)> = known.chain(counted.iter().filter_map(narrow)).collect();
        counts.sort_unstable_by_key(|(position, _)| *position);
        counts.dedup_by_key(|(position, _)| *position);
        recent.push_front((pattern.clone(), Arc::new(FileCounts(counts))));
        let mut room = MAX_COUNTS;
        let fits = |(_, counts): &(PatternKey, Arc<FileCounts>)| {
            let left = room.checked_sub(counts.0.len());
            room = left.unwrap_or(0);
            left.is_some()
        };
        let fitting = recent.iter().take(MAX_PATTERNS).map(fits);
        let fitting = fitting.take_while(|fits| *fits).count();
        recent.truncate(fitting);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> PatternKey {
        PatternKey {
            text: text.to_owned(),
            is_literal: false,
            is_case_sensitive: true,
        }
    }

    /// Counts of this many files, each with the number of its position.
    fn counted(files: std::ops::Range<usize>) -> Vec<(usize, u64)> {
        files.map(|position| (position, position as u64)).collect()
    }

    #[test]
    fn counts_of_several_searches_of_one_pattern_add_up() {
        let recent = RecentCounts::default();
        recent.add(&key("a"), &counted(0..100));
        recent.add(&key("a"), &counted(50..200));
        recent.add(&key("a"), &counted(300..300 + FEW));
        let counts = recent.of(&key("a")).unwrap();
        assert_eq!(
            [0, 99, 150].map(|file| counts.get(file)),
            [0, 99, 150].map(Some)
        );
        assert_eq!([200, 300].map(|file| counts.get(file)), [None, None]);
        let literal = PatternKey {
            is_literal: true,
            ..key("a")
        };
        assert!(recent.of(&literal).is_none());
    }

    #[test]
    fn the_patterns_that_were_used_last_stay() {
        let recent = RecentCounts::default();
        let names: Vec<String> = (0..MAX_PATTERNS + 1).map(|name| name.to_string()).collect();
        for name in &names {
            recent.add(&key(name), &counted(0..100));
            recent.of(&key("0")).unwrap();
        }
        let known = names.iter().map(|name| recent.of(&key(name)).is_some());
        let gone: Vec<bool> = known.collect();
        assert_eq!(gone.iter().filter(|known| !**known).count(), 1);
        assert!(!gone[1], "the first that was not used again");
    }

    #[test]
    fn counts_beyond_the_bound_are_dropped() {
        let recent = RecentCounts::default();
        recent.add(&key("a"), &counted(0..100));
        recent.add(&key("b"), &counted(0..MAX_COUNTS));
        assert!(recent.of(&key("a")).is_none() && recent.of(&key("b")).is_some());
        recent.add(&key("b"), &counted(MAX_COUNTS..MAX_COUNTS + 100));
        assert!(recent.of(&key("b")).is_none());
    }
}
