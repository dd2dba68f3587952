//! What is known of a missing path: whether it is a folder, and which paths there are instead.
//!
//! Computed only after a lookup failed, so successful calls pay nothing. Blocked paths are never
//! read.

use std::collections::VecDeque;

use archway_repo::{Cancel, Kind, RepoPath};
use gix::ObjectId;
use gix::objs::FindExt as _;

use super::error::git;
use super::path_limiter::PathLimiter;
use super::trees::entry_path;
use super::{History, HistoryError, LogCursor};

/// Entries of a commit that are searched at most; upper folders come first.
const MAX_ENTRIES: usize = 20_000;

/// Why a log has no commits, as far as that is known.
pub enum EmptyLogReason {
    /// `since` is after `until`.
    Reversed,
    /// The path is absent from all of these commits, where the log began.
    Absent(Vec<ObjectId>),
}

impl History {
    /// Explains why a log that began at this cursor, limited to this path, has no commits.
    ///
    /// # Errors
    /// If a commit can't be read.
    pub fn empty_log_reason(
        &self,
        start: &LogCursor,
        path: Option<&RepoPath>,
    ) -> Result<Option<EmptyLogReason>, HistoryError> {
        if start.returned > 0 {
            return Ok(None);
        }
        if let (Some(since), Some(until)) = (start.since, start.until)
            && since > until
        {
            return Ok(Some(EmptyLogReason::Reversed));
        }
        let Some(path) = path.filter(|_| !start.from.is_empty()) else {
            return Ok(None);
        };
        for &commit in &start.from {
            if self.has(commit, path)? {
                return Ok(None);
            }
        }
        Ok(Some(EmptyLogReason::Absent(start.from.clone())))
    }

    /// Whether a commit has an entry at `path`, verbatim or with its escapes decoded.
    ///
    /// # Errors
    /// If the commit can't be read.
    pub fn has(&self, commit: ObjectId, path: &RepoPath) -> Result<bool, HistoryError> {
        for path in [Some(path.clone()), path.unescaped()].into_iter().flatten() {
            if path.is_root() || self.is_tree(commit, path)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether `path` is a folder of the commit that path rules admit.
    ///
    /// # Errors
    /// If the commit can't be read.
    pub(crate) fn is_folder(
        &self,
        commit: ObjectId,
        path: &RepoPath,
    ) -> Result<bool, HistoryError> {
        if path.is_root() {
            return Ok(true);
        }
        let is_served = self.rules.check(path, Kind::Directory).is_ok();
        Ok(is_served && self.is_tree(commit, path.clone())? == Some(true))
    }

    /// The files and folders of a commit that path rules admit, upper folders first. A submodule is a folder. Of a
    /// large commit only the first ones are looked at.
    ///
    /// # Errors
    /// If the commit can't be read, or the call has to stop.
    pub fn served_paths(
        &self,
        commit: ObjectId,
        cancel: &Cancel,
    ) -> Result<Vec<(RepoPath, Kind)>, HistoryError> {
        const READING: &str = "reading a tree";
        let mut folders = VecDeque::from([(RepoPath::root(), self.node(commit)?.tree)]);
        let (mut served, mut left) = (Vec::new(), MAX_ENTRIES);
        let mut buffer = Vec::new();
        while let Some((folder, tree)) = folders.pop_front().filter(|_| left > 0) {
            cancel.check()?;
            if tree.is_empty_tree() {
                continue;
            }
            let entries = self.git.objects.find_tree_iter(&tree, &mut buffer);
            for entry in entries.map_err(git(READING))?.take(left) {
                left -= 1;
                let entry = entry.map_err(git(READING))?;
                let kind = match entry.mode.is_tree() || entry.mode.is_commit() {
                    true => Kind::Directory,
                    false => Kind::File,
                };
                let path = entry_path(&folder, entry.filename);
                let Some(path) = path.filter(|path| self.rules.check(path, kind).is_ok()) else {
                    continue;
                };
                if entry.mode.is_tree() {
                    folders.push_back((path.clone(), entry.oid.to_owned()));
                }
                served.push((path, kind));
            }
        }
        Ok(served)
    }

    /// Whether the commit's entry at `path` is a folder. `None` without an entry.
    fn is_tree(&self, commit: ObjectId, path: RepoPath) -> Result<Option<bool>, HistoryError> {
        let tree = self.node(commit)?.tree;
        let (_, side) = PathLimiter::of(path).sides(self, None, Some(tree))?;
        Ok(side.map(|side| side.mode.is_tree()))
    }
}
