//! File contents of a work tree for searches: from the cache, or opened beneath the root and read.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use rustix::fs::{FileType, Stat};
use rustix::io::Errno;

use super::indexed::IndexedWorkTree;
use super::{READ, WorkTree};
use crate::content_cache;
use crate::file_text::{FileText, LoadedFile, TextParts, Wanted};
use crate::jail::{OpenFolder, file_type};
use crate::path::RepoPath;
use crate::scan::{Count, MAX_FILE};
use crate::search::{FileSource, ListedFile, PatternKey};
use crate::search_index::Selection;
use crate::stamp::ObservedState;

/// Parts of a large file are read from the index if they are at most a quarter of it: they have to be
/// decompressed.
const INDEX_READ_DIVISOR: usize = 4;

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
            let count = selection.known_count(file.position)?;
            let state = indexed.state(file.position)?;
            if state.still_holds(folder.stat(&self.work.jail, file.path)) {
                return Some(count);
            }
            self.changed.fetch_add(1, Ordering::Relaxed);
            None
        };
        files.iter().map(&mut known).collect()
    }

    fn record_counts(&self, pattern: &PatternKey, counted: &[(usize, u64)]) {
        if let Some((_, selection)) = &self.indexed {
            selection.record_counts(pattern, counted);
        }
    }

    fn load<'a>(
        &self,
        file: ListedFile<'_>,
        wanted: Wanted,
        buffer: &'a mut Vec<u8>,
    ) -> Option<LoadedFile<'a>> {
        let work = self.work;
        let stat = work.jail.stat_unchecked(file.path);
        let parts = (wanted == Wanted::Candidates).then(|| self.parts(file, stat));
        let parts = parts.flatten();
        if let Some(text) = work.contents.get(file.path, |seen| seen.still_holds(stat)) {
            // Both are of the same state of the file.
            return Some(LoadedFile::new(text, parts));
        }
        if let Some(selection) = self.selection_to_read(parts.as_ref(), stat)
            && let Some(is_skipped) = selection.text(file.position, wanted, buffer)
        {
            return Some(LoadedFile::indexed(buffer, is_skipped));
        }
        let state = work.read_observed(file.path, buffer).ok().flatten()?;
        let text = FileText::decode(buffer);
        work.contents.insert(file.path, state, &text);
        let is_same = |indexed: &IndexedWorkTree| indexed.state(file.position) == Some(state);
        let is_indexed = self.indexed.as_ref().is_some_and(|(it, _)| is_same(it));
        Some(LoadedFile::new(text, parts.filter(|_| is_indexed)))
    }

    fn is_too_large(&self, file: ListedFile<'_>) -> bool {
        let stat = self.work.jail.stat(file.path);
        stat.is_ok_and(|stat| u64::try_from(stat.st_size).is_ok_and(|size| size > MAX_FILE))
    }
}

impl WorkFiles<'_> {
    /// The parts of a file that can match, if the index has it and it is unchanged since.
    fn parts(&self, file: ListedFile<'_>, stat: Result<Stat, Errno>) -> Option<TextParts> {
        let (indexed, selection) = self.indexed.as_ref()?;
        let state = indexed.state(file.position)?;
        state.still_holds(stat).then_some(())?;
        selection.parts(file.position)
    }

    /// The index, if reading these parts from it takes less than reading the file: the file is too
    /// large to be cached, and most of it cannot match.
    fn selection_to_read(
        &self,
        parts: Option<&TextParts>,
        stat: Result<Stat, Errno>,
    ) -> Option<&Selection> {
        let size = usize::try_from(stat.ok()?.st_size).ok()?;
        let is_less = size > content_cache::MAX_FILE && parts?.bytes() <= size / INDEX_READ_DIVISOR;
        let (_, selection) = self.indexed.as_ref()?;
        is_less.then_some(selection)
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
