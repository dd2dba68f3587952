//! File contents of a work tree for searches: from the cache, or opened beneath the root and read.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use rustix::fs::FileType;
use rustix::io::Errno;

use super::indexed::IndexedWorkTree;
use super::{READ, WorkTree};
use crate::content_cache::Loaded;
use crate::jail::{OpenFolder, file_type};
use crate::path::RepoPath;
use crate::scan::{Count, MAX_FILE};
use crate::search::{FileSource, ListedFile};
use crate::search_index::{Selection, Verdict};
use crate::stamp::ObservedState;

/// The files of a work tree, with what the index says of them.
pub(crate) struct WorkFiles<'a> {
    pub(crate) work: &'a WorkTree,
    /// `None` without an index.
    pub(crate) indexed: Option<(&'a IndexedWorkTree, Selection)>,
    /// Files that the index does not know, or that changed since.
    pub(crate) changed: AtomicUsize,
}

#[cfg(test)]
impl WorkFiles<'_> {
    /// Without an index.
    pub(crate) fn scanned(work: &WorkTree) -> WorkFiles<'_> {
        WorkFiles {
            work,
            indexed: None,
            changed: AtomicUsize::new(0),
        }
    }
}

impl FileSource for WorkFiles<'_> {
    fn known_counts(&self, files: &[ListedFile<'_>]) -> Vec<Option<Count>> {
        let mut folder = OpenFolder::default();
        let mut known = |file: &ListedFile<'_>| {
            let (indexed, selection) = self.indexed.as_ref()?;
            let Verdict::Excluded { is_skipped } = selection.verdict(file.position) else {
                return None;
            };
            let state = indexed.state(file.position)?;
            if state.still_holds(folder.stat(&self.work.jail, file.path)) {
                return Some(Count::none(is_skipped));
            }
            self.changed.fetch_add(1, Ordering::Relaxed);
            None
        };
        files.iter().map(&mut known).collect()
    }

    fn load<'a>(&self, file: ListedFile<'_>, buffer: &'a mut Vec<u8>) -> Option<Loaded<'a>> {
        let work = self.work;
        let holds = |seen: ObservedState| seen.still_holds(work.jail.stat_unchecked(file.path));
        if let Some(bytes) = work.contents.get(file.path, holds) {
            return Some(Loaded::Cached(bytes));
        }
        let state = work.read_observed(file.path, buffer).ok().flatten()?;
        work.contents.insert(file.path, state, buffer);
        Some(Loaded::Read(buffer))
    }

    fn is_too_large(&self, file: ListedFile<'_>) -> bool {
        let stat = self.work.jail.stat(file.path);
        stat.is_ok_and(|stat| u64::try_from(stat.st_size).is_ok_and(|size| size > MAX_FILE))
    }
}

impl WorkTree {
    /// Reads a listed file, and returns its state from before the read. `None` if it is too large
    /// or not a regular file.
    pub(super) fn read_observed(
        &self,
        path: &RepoPath,
        into: &mut Vec<u8>,
    ) -> Result<Option<ObservedState>, Errno> {
        into.clear();
        let observed_at = SystemTime::now();
        let fd = self.jail.open(path, READ)?;
        let stat = rustix::fs::fstat(&fd)?;
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        if size > MAX_FILE || file_type(&stat) != FileType::RegularFile {
            return Ok(None);
        }
        let size = usize::try_from(size).unwrap_or(0);
        into.reserve_exact(size);
        // One read usually suffices; some file systems return less at a time.
        while into.len() < size {
            match rustix::io::read(&fd, rustix::buffer::spare_capacity(into)) {
                Ok(0) => break,
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        into.truncate(size);
        Ok(Some(ObservedState::at(observed_at, Ok(stat))))
    }
}
