//! Texts of files cached between searches, so that a search of a warm tree opens no file.
//!
//! Opening files dominates the search of small files. A cached text is used while one stat of the
//! file (identity, size, both times) proves that it is unchanged. All projects of a worker share
//! one budget. A new text evicts nothing: a tree larger than the budget would only evict itself.
//! A text is released with its file, or with its project once that is idle.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::RwLock;

use super::file_text::FileText;
use super::listing::Listing;
use super::path::RepoPath;
use super::stamp::ObservedState;

/// The largest cached file, in bytes. For a larger one, opening costs comparatively little.
pub(super) const MAX_FILE: usize = 128 << 10;

/// Memory cost of a cached file in addition to its content, in bytes.
const OVERHEAD: usize = 200;

/// The bytes that all projects together may still cache.
#[derive(Debug)]
pub(super) struct Budget {
    left: AtomicUsize,
}

/// The cached files of one project.
#[derive(Debug)]
pub(super) struct ContentCache {
    files: RwLock<HashMap<RepoPath, CachedFile>>,
    budget: Arc<Budget>,
}

#[derive(Clone, Debug)]
struct CachedFile {
    state: ObservedState,
    /// `None` for a binary file.
    text: Option<Arc<[u8]>>,
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

    fn release(&self, cost: usize) {
        self.left.fetch_add(cost, Ordering::Relaxed);
    }
}

impl ContentCache {
    pub(super) fn new(budget: Arc<Budget>) -> ContentCache {
        ContentCache {
            files: RwLock::default(),
            budget,
        }
    }

    /// The cached text, if `holds` accepts its state.
    pub(super) fn get(
        &self,
        path: &RepoPath,
        holds: impl FnOnce(ObservedState) -> bool,
    ) -> Option<FileText<'static>> {
        let cached = self.files.read().get(path).cloned()?;
        holds(cached.state).then(|| cached.text.map_or(FileText::Binary, FileText::Shared))
    }

    /// Caches a file's text if it fits and a later change can be detected.
    pub(super) fn insert(&self, path: &RepoPath, state: ObservedState, text: &FileText<'_>) {
        // The old text is outdated; the new one may use its budget.
        let old = self.files.write().remove(path);
        self.release(path, old);
        let is_settled = matches!(state, ObservedState::Stamped(_));
        let length = text.bytes().map_or(0, <[u8]>::len);
        if is_settled && length <= MAX_FILE && self.budget.take(cost(path, length)) {
            let text = text.bytes().map(Arc::from);
            let cached = CachedFile { state, text };
            let raced = self.files.write().insert(path.clone(), cached);
            self.release(path, raced);
        }
    }

    /// Removes files that are no longer listed.
    pub(super) fn retain(&self, listing: &Listing) {
        let is_listed = |path: &RepoPath| {
            listing
                .entries
                .binary_search_by(|e| e.path.cmp(path))
                .is_ok()
        };
        let mut files = self.files.write();
        let gone: Vec<_> = files.extract_if(|path, _| !is_listed(path)).collect();
        drop(files);
        for (path, gone) in gone {
            self.release(&path, Some(gone));
        }
    }

    fn release(&self, path: &RepoPath, cached: Option<CachedFile>) {
        if let Some(cached) = cached {
            self.budget.release(cached.cost(path));
        }
    }
}

impl Drop for ContentCache {
    fn drop(&mut self) {
        let files = std::mem::take(self.files.get_mut());
        self.budget
            .release(files.iter().map(|(path, cached)| cached.cost(path)).sum());
    }
}

impl CachedFile {
    fn cost(&self, path: &RepoPath) -> usize {
        cost(path, self.text.as_ref().map_or(0, |text| text.len()))
    }
}

fn cost(path: &RepoPath, length: usize) -> usize {
    length + path.as_bytes().len() + OVERHEAD
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;
    use crate::listing::{Entry, EntryKind};

    fn path(text: &str) -> RepoPath {
        RepoPath::parse(text).unwrap()
    }

    fn settled() -> ObservedState {
        let later = SystemTime::now() + std::time::Duration::from_secs(3600);
        ObservedState::at(later, rustix::fs::stat("/"))
    }

    fn left(budget: &Budget) -> usize {
        budget.left.load(Ordering::Relaxed)
    }

    #[test]
    fn changed_content_is_not_returned() {
        let contents = ContentCache::new(Budget::new(1 << 20));
        contents.insert(&path("a"), settled(), &FileText::Borrowed(b"one"));
        let cached = contents.get(&path("a"), |_| true).unwrap();
        assert_eq!(cached.bytes(), Some(b"one".as_slice()));
        assert!(contents.get(&path("a"), |_| false).is_none());
        assert!(contents.get(&path("b"), |_| true).is_none());
    }

    #[test]
    fn recently_changed_and_large_files_are_not_cached() {
        let contents = ContentCache::new(Budget::new(1 << 20));
        contents.insert(
            &path("a"),
            ObservedState::TooRecent,
            &FileText::Borrowed(b"one"),
        );
        contents.insert(
            &path("b"),
            settled(),
            &FileText::Borrowed(&vec![0; MAX_FILE + 1]),
        );
        assert!(contents.files.read().is_empty());
    }

    #[test]
    fn projects_share_a_budget_and_release_it() {
        let budget = Budget::new(1000);
        let (first, second) = (
            ContentCache::new(budget.clone()),
            ContentCache::new(budget.clone()),
        );
        first.insert(&path("a"), settled(), &FileText::Borrowed(&[0; 700]));
        first.insert(&path("a"), settled(), &FileText::Borrowed(&[0; 750]));
        assert_eq!(
            left(&budget),
            1000 - (750 + 1 + OVERHEAD),
            "the new content replaces the old"
        );
        second.insert(&path("b"), settled(), &FileText::Borrowed(&[0; 700]));
        assert!(second.get(&path("b"), |_| true).is_none());
        drop(first);
        assert_eq!(left(&budget), 1000);
        second.insert(&path("b"), settled(), &FileText::Borrowed(&[0; 700]));
        assert!(second.get(&path("b"), |_| true).is_some());
    }

    #[test]
    fn a_file_that_is_no_longer_listed_is_removed() {
        let budget = Budget::new(1000);
        let contents = ContentCache::new(budget.clone());
        contents.insert(&path("a"), settled(), &FileText::Borrowed(b"one"));
        contents.insert(&path("b"), settled(), &FileText::Borrowed(b"two"));
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
