//! File contents kept between searches, so that a search of a warm tree opens no file.
//!
//! Opening costs most of a search of small files. What was read is used again while one look at
//! the file (identity, size, both its times) proves that nothing changed. All projects of a worker
//! share one budget. Nothing is pushed out by newer content: a tree larger than the budget would
//! only push out itself. Content goes with its file, or with its project when nobody asks for it.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::RwLock;

use super::listing::Listing;
use super::path::RepoPath;
use super::stamp::Seen;

/// The largest file that is kept, in bytes: of a larger one, opening costs little.
const MAX_FILE: usize = 128 << 10;

/// What a kept file costs beside its bytes.
const OVERHEAD: usize = 200;

/// How many bytes may still be kept, by all projects.
#[derive(Debug)]
pub(super) struct Budget {
    left: AtomicUsize,
}

/// The kept files of one project.
#[derive(Debug)]
pub(super) struct Contents {
    kept: RwLock<HashMap<RepoPath, Kept>>,
    budget: Arc<Budget>,
}

#[derive(Clone, Debug)]
struct Kept {
    seen: Seen,
    bytes: Arc<[u8]>,
}

/// The bytes of a file: kept, or read into the buffer of who asked.
pub(super) enum Loaded<'a> {
    Kept(Arc<[u8]>),
    Read(&'a [u8]),
}

impl Deref for Loaded<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Loaded::Kept(bytes) => bytes,
            Loaded::Read(bytes) => bytes,
        }
    }
}

impl Budget {
    pub(super) fn new(bytes: usize) -> Arc<Budget> {
        Arc::new(Budget {
            left: AtomicUsize::new(bytes),
        })
    }

    fn take(&self, cost: usize) -> bool {
        let take = |left: usize| left.checked_sub(cost);
        self.left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
            .is_ok()
    }

    fn give_back(&self, cost: usize) {
        self.left.fetch_add(cost, Ordering::Relaxed);
    }
}

impl Contents {
    pub(super) fn new(budget: Arc<Budget>) -> Contents {
        Contents {
            kept: RwLock::default(),
            budget,
        }
    }

    /// What is kept of a file, if `holds` says that it is still what was seen.
    pub(super) fn get(
        &self,
        path: &RepoPath,
        holds: impl FnOnce(Seen) -> bool,
    ) -> Option<Arc<[u8]>> {
        let kept = self.kept.read().get(path).cloned()?;
        holds(kept.seen).then_some(kept.bytes)
    }

    /// Keeps what was read, if it fits and if a later look can tell whether it changed.
    pub(super) fn keep(&self, path: &RepoPath, seen: Seen, bytes: &[u8]) {
        // What was kept no longer holds; its room is free for what replaces it.
        let before = self.kept.write().remove(path);
        self.let_go(path, before);
        let can_be_told = matches!(seen, Seen::As(_));
        if can_be_told && bytes.len() <= MAX_FILE && self.budget.take(cost(path, bytes)) {
            let kept = Kept {
                seen,
                bytes: bytes.into(),
            };
            let raced = self.kept.write().insert(path.clone(), kept);
            self.let_go(path, raced);
        }
    }

    /// Forgets files that are no longer listed.
    pub(super) fn retain(&self, listing: &Listing) {
        let is_listed = |path: &RepoPath| {
            listing
                .entries
                .binary_search_by(|e| e.path.cmp(path))
                .is_ok()
        };
        let mut kept = self.kept.write();
        let gone: Vec<_> = kept.extract_if(|path, _| !is_listed(path)).collect();
        drop(kept);
        for (path, gone) in gone {
            self.let_go(&path, Some(gone));
        }
    }

    fn let_go(&self, path: &RepoPath, kept: Option<Kept>) {
        if let Some(kept) = kept {
            self.budget.give_back(cost(path, &kept.bytes));
        }
    }
}

impl Drop for Contents {
    fn drop(&mut self) {
        let kept = std::mem::take(self.kept.get_mut());
        self.budget.give_back(
            kept.iter()
                .map(|(path, kept)| cost(path, &kept.bytes))
                .sum(),
        );
    }
}

fn cost(path: &RepoPath, bytes: &[u8]) -> usize {
    bytes.len() + path.as_bytes().len() + OVERHEAD
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;
    use crate::listing::{Entry, EntryKind};

    fn path(text: &str) -> RepoPath {
        RepoPath::parse(text).unwrap()
    }

    fn seen() -> Seen {
        let later = SystemTime::now() + std::time::Duration::from_secs(3600);
        Seen::at(later, rustix::fs::stat("/"))
    }

    fn left(budget: &Budget) -> usize {
        budget.left.load(Ordering::Relaxed)
    }

    #[test]
    fn what_changed_since_is_not_given() {
        let contents = Contents::new(Budget::new(1 << 20));
        contents.keep(&path("a"), seen(), b"one");
        assert_eq!(
            contents.get(&path("a"), |_| true).as_deref(),
            Some(b"one".as_slice())
        );
        assert!(contents.get(&path("a"), |_| false).is_none());
        assert!(contents.get(&path("b"), |_| true).is_none());
    }

    #[test]
    fn what_cannot_be_told_from_a_later_state_is_not_kept() {
        let contents = Contents::new(Budget::new(1 << 20));
        contents.keep(&path("a"), Seen::TooFresh, b"one");
        contents.keep(&path("b"), seen(), &vec![0; MAX_FILE + 1]);
        assert!(contents.kept.read().is_empty());
    }

    #[test]
    fn projects_share_a_budget_and_give_back_what_they_kept() {
        let budget = Budget::new(1000);
        let (first, second) = (Contents::new(budget.clone()), Contents::new(budget.clone()));
        first.keep(&path("a"), seen(), &[0; 700]);
        first.keep(&path("a"), seen(), &[0; 750]);
        assert_eq!(
            left(&budget),
            1000 - (750 + 1 + OVERHEAD),
            "the new state in the old one's room"
        );
        second.keep(&path("b"), seen(), &[0; 700]);
        assert!(second.get(&path("b"), |_| true).is_none());
        drop(first);
        assert_eq!(left(&budget), 1000);
        second.keep(&path("b"), seen(), &[0; 700]);
        assert!(second.get(&path("b"), |_| true).is_some());
    }

    #[test]
    fn a_file_that_is_no_longer_listed_is_forgotten() {
        let budget = Budget::new(1000);
        let contents = Contents::new(budget.clone());
        contents.keep(&path("a"), seen(), b"one");
        contents.keep(&path("b"), seen(), b"two");
        let entry = Entry {
            path: path("b"),
            kind: EntryKind::File,
        };
        contents.retain(&Listing {
            entries: vec![entry],
        });
        assert!(contents.get(&path("a"), |_| true).is_none());
        assert!(contents.get(&path("b"), |_| true).is_some());
        assert_eq!(left(&budget), 1000 - (3 + 1 + OVERHEAD));
    }
}
