//! Cached file lists of commits: logs repeatedly list the same recent commits.

use std::sync::Arc;

use archway_repo::{Cancel, Kind, RepoPath};
use gix::ObjectId;

use super::MAX_FILES;
use crate::change::{Change, ChangeKind, Changes};
use crate::changed_file::{ChangedFile, Status};
use crate::walk_node::WalkNode;
use crate::{AnswerKey, Cacheable, History, HistoryError};

/// The differences between a commit and its first parent.
#[derive(Clone, Debug)]
pub(super) struct FileList {
    /// By path, at most [`MAX_FILES`].
    pub(super) files: Vec<ChangedFile>,
    /// The total number of differences.
    pub(super) total: usize,
    /// Rename detection was cut short.
    pub(super) renames_cut: bool,
}

impl Cacheable for FileList {
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

impl FileList {
    /// A list of the followed file alone.
    pub(super) fn single(file: ChangedFile) -> FileList {
        FileList {
            files: vec![file],
            total: 1,
            renames_cut: false,
        }
    }

    pub(super) fn of(changes: Changes) -> FileList {
        FileList {
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
    pub(super) fn file_list(
        &self,
        node: &WalkNode,
        cancel: &Cancel,
    ) -> Result<Arc<FileList>, HistoryError> {
        let commit = self.id_of(node.key);
        if let Some(recorded) = self.ledger_list(commit) {
            return Ok(Arc::new(recorded));
        }
        let key = AnswerKey {
            commit,
            path: RepoPath::root(),
            detail: String::new(),
        };
        if let Some(cached) = self.cache().get::<FileList>(&key) {
            return Ok(cached);
        }
        let old = self.first_parent_tree(node)?;
        let changes = self.changes(old, Some(node.tree), cancel)?;
        let file_list = Arc::new(FileList::of(changes));
        // With more time, more renames may be found.
        if !file_list.renames_cut {
            self.cache().insert(&key, Arc::clone(&file_list));
        }
        Ok(file_list)
    }

    /// The ledger's list. `None` if it names a blocked path: without it, other files may pair up as
    /// renames.
    fn ledger_list(&self, commit: ObjectId) -> Option<FileList> {
        let mut files = self.ledger().files(&commit)?;
        let is_visible = |path: &RepoPath| self.rules.check(path, Kind::File).is_ok();
        for file in &files {
            let mut paths = [&file.path].into_iter().chain(&file.old_path);
            if !paths.all(is_visible) {
                return None;
            }
        }
        let total = files.len();
        files.truncate(MAX_FILES);
        Some(FileList {
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
