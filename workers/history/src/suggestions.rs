//! Suggestions for a missing path: whether it is a folder, and the most likely file.
//!
//! Computed only after a lookup failed, so successful calls pay nothing. Blocked paths are never
//! read.

use std::collections::VecDeque;

use archway_proto::nearest;
use archway_repo::{Cancel, Kind, RepoPath, text};
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

    /// The file of a commit that the caller most likely meant by a missing path: one of the same
    /// name in another folder, or one of nearly the same path.
    pub fn nearest_file(
        &self,
        commit: ObjectId,
        path: &RepoPath,
        cancel: &Cancel,
    ) -> Option<String> {
        // A suggestion is optional, so failures are ignored.
        let files = self.files(commit, cancel).ok()?;
        let same_name = |file: &&RepoPath| file.name().eq_ignore_ascii_case(path.name());
        let named: Vec<String> = files.iter().filter(same_name).map(shown).collect();
        let path = path.display();
        let nearest = |files: &[String]| {
            let nearest = nearest::to(&path, files.iter().map(String::as_str));
            nearest.map(str::to_owned)
        };
        match named.as_slice() {
            [] => nearest(&files.iter().map(shown).collect::<Vec<_>>()),
            [one] => Some(one.clone()),
            several => nearest(several),
        }
        .filter(|nearest| text::shown(nearest) == nearest.as_str())
    }

    /// The files of a commit that path rules admit, upper folders first.
    fn files(&self, commit: ObjectId, cancel: &Cancel) -> Result<Vec<RepoPath>, HistoryError> {
        const READING: &str = "reading a tree";
        let mut folders = VecDeque::from([(RepoPath::root(), self.node(commit)?.tree)]);
        let (mut files, mut left) = (Vec::new(), MAX_ENTRIES);
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
                let Some(path) = entry_path(&folder, entry.filename) else {
                    continue;
                };
                let is_served = |kind| self.rules.check(&path, kind).is_ok();
                match entry.mode.is_tree() {
                    true if is_served(Kind::Directory) => {
                        folders.push_back((path, entry.oid.to_owned()));
                    }
                    false if is_served(Kind::File) => files.push(path),
                    _ => {}
                }
            }
        }
        Ok(files)
    }

    /// Whether the commit's entry at `path` is a folder. `None` without an entry.
    fn is_tree(&self, commit: ObjectId, path: RepoPath) -> Result<Option<bool>, HistoryError> {
        let tree = self.node(commit)?.tree;
        let (_, side) = PathLimiter::of(path).sides(self, None, Some(tree))?;
        Ok(side.map(|side| side.mode.is_tree()))
    }
}

fn shown(path: &RepoPath) -> String {
    path.display()
}
