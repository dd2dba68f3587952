//! Cached file lists of commits: logs repeatedly list the same recent commits.

use std::sync::Arc;

use archway_repo::{Cancel, Kind, RepoPath};
use gix::ObjectId;

use super::MAX_FILES;
use crate::change::{Change, ChangeKind, Changes};
use crate::log_file::{ChangedFile, Status};
use crate::steps::Step;
use crate::{History, HistoryError, Keepable, Question};

/// The differences between a commit and its first parent.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    /// By path, at most [`MAX_FILES`].
    pub(super) files: Vec<ChangedFile>,
    /// The total number of differences.
    pub(super) total: usize,
    /// Rename detection was cut short.
    pub(super) renames_cut: bool,
}

impl Keepable for Listed {
    const NAME: &'static str = "log";

    fn bytes(&self) -> usize {
        let names = |file: &ChangedFile| {
            let old = file.old_path.as_ref();
            size_of::<ChangedFile>()
                + file.path.as_bytes().len()
                + old.map_or(0, |old| old.as_bytes().len())
        };
        self.files.iter().map(names).sum()
    }
}

impl Listed {
    /// A list of the followed file alone.
    pub(super) fn alone(file: ChangedFile) -> Listed {
        Listed {
            files: vec![file],
            total: 1,
            renames_cut: false,
        }
    }

    pub(super) fn of(changes: Changes) -> Listed {
        Listed {
            total: changes.files.len(),
            renames_cut: changes.renames_cut,
            files: changes
                .files
                .into_iter()
                .take(MAX_FILES)
                .map(ChangedFile::of)
                .collect(),
        }
    }
}

impl History {
    /// The differences between a commit and its first parent, in the whole project.
    ///
    /// # Errors
    /// If an object can't be read, or the call has to stop.
    pub(super) fn listed(&self, step: &Step, cancel: &Cancel) -> Result<Arc<Listed>, HistoryError> {
        let commit = self.id_of(step.spot);
        if let Some(noted) = self.noted(commit) {
            return Ok(Arc::new(noted));
        }
        let question = Question {
            commit,
            path: RepoPath::root(),
            detail: String::new(),
        };
        if let Some(kept) = self.kept().get::<Listed>(&question) {
            return Ok(kept);
        }
        let old = self.first_parent_tree(step)?;
        let changes = self.changes(old, Some(step.tree), cancel)?;
        let listed = Arc::new(Listed::of(changes));
        // With more time, more renames may be found.
        if !listed.renames_cut {
            self.kept().keep(&question, Arc::clone(&listed));
        }
        Ok(listed)
    }

    /// The ledger's list. `None` if it names a blocked path: without it, other files may pair up as
    /// renames.
    fn noted(&self, commit: ObjectId) -> Option<Listed> {
        let mut files = self.ledger().files(&commit)?;
        let is_seen = |path: &RepoPath| self.rules.judge(path, Kind::File).is_ok();
        for file in &files {
            let mut paths = [&file.path].into_iter().chain(&file.old_path);
            if !paths.all(is_seen) {
                return None;
            }
        }
        let total = files.len();
        files.truncate(MAX_FILES);
        Some(Listed {
            files,
            total,
            renames_cut: false,
        })
    }
}

impl ChangedFile {
    /// A change of a file that is not followed.
    pub(crate) fn of(change: Change) -> ChangedFile {
        let (status, old_path) = match change.kind {
            ChangeKind::Added => (Status::Added, None),
            ChangeKind::Modified => (Status::Modified, None),
            ChangeKind::Deleted => (Status::Deleted, None),
            ChangeKind::Renamed(from) => (Status::Renamed, Some(from)),
            ChangeKind::TypeChanged => (Status::TypeChanged, None),
        };
        ChangedFile {
            path: change.path,
            old_path,
            status,
        }
    }
}
