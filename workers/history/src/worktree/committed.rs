//! The other side of the comparison: the files of a tree, next to those of the index.

use std::iter::Peekable;
use std::vec::IntoIter;

use archway_repo::{Cancel, RepoPath};
use gix::ObjectId;

use super::super::trees::{self, Difference};
use super::super::{History, HistoryError, Side};
use super::tracked::{Index, TrackedFile};

/// The files of a tree, consumed in byte order of their paths.
pub(super) enum TreeFiles {
    /// Nothing is staged: they equal the index, and the tree is not read.
    AsInIndex,
    /// Each as if it was deleted.
    Files(Peekable<IntoIter<Difference>>),
}

impl TreeFiles {
    pub(super) fn of(
        history: &History,
        tree: Option<ObjectId>,
        index: &Index,
        cancel: &Cancel,
    ) -> Result<TreeFiles, HistoryError> {
        // Git caches the tree that the index would make, and clears it when something is staged.
        let cached = index.file.tree().filter(|tree| tree.num_entries.is_some());
        if tree.is_some() && cached.map(|tree| tree.id) == tree {
            return Ok(TreeFiles::AsInIndex);
        }
        let files = trees::differences(&history.git, &history.rules, (tree, None), cancel)?;
        Ok(TreeFiles::Files(files.into_iter().peekable()))
    }

    /// The files before `path` that are no longer tracked.
    pub(super) fn files_before(&mut self, path: &RepoPath) -> Vec<Difference> {
        let TreeFiles::Files(files) = self else {
            return Vec::new();
        };
        let is_before = |file: &Difference| file.path.as_bytes() < path.as_bytes();
        std::iter::from_fn(|| files.next_if(is_before)).collect()
    }

    /// A tracked file as the tree has it.
    pub(super) fn side(&mut self, file: &TrackedFile) -> Option<Side> {
        match self {
            TreeFiles::AsInIndex => (!file.is_intent_to_add).then_some(file.side),
            TreeFiles::Files(files) => files.next_if(|next| next.path == file.path)?.old,
        }
    }

    /// The files after the last that was requested.
    pub(super) fn rest(self) -> impl Iterator<Item = Difference> {
        match self {
            TreeFiles::AsInIndex => Vec::new().into_iter().peekable(),
            TreeFiles::Files(files) => files,
        }
    }
}
