//! The other side of the comparison: the files of a tree, next to those that the index has.

use std::iter::Peekable;
use std::vec::IntoIter;

use archway_repo::{Cancel, RepoPath};
use gix::ObjectId;

use super::super::trees::{self, Difference};
use super::super::{History, HistoryError, Side};
use super::tracked::{Index, Tracked};

/// The files of a tree, asked for in the order of their paths' bytes.
pub(super) enum Committed {
    /// Nothing is staged: they are those of the index, and the tree needn't be read.
    AsInIndex,
    /// Each as if it was deleted.
    Files(Peekable<IntoIter<Difference>>),
}

impl Committed {
    pub(super) fn of(
        history: &History,
        tree: Option<ObjectId>,
        index: &Index,
        cancel: &Cancel,
    ) -> Result<Committed, HistoryError> {
        // Git notes which tree the index would make, and forgets it when something is staged.
        let made = index.file.tree().filter(|made| made.num_entries.is_some());
        if tree.is_some() && made.map(|made| made.id) == tree {
            return Ok(Committed::AsInIndex);
        }
        let files = trees::differences(&history.git, &history.rules, (tree, None), cancel)?;
        Ok(Committed::Files(files.into_iter().peekable()))
    }

    /// The files before `path` that are not tracked any longer.
    pub(super) fn until(&mut self, path: &RepoPath) -> Vec<Difference> {
        let Committed::Files(files) = self else {
            return Vec::new();
        };
        let is_before = |file: &Difference| file.path.as_bytes() < path.as_bytes();
        std::iter::from_fn(|| files.next_if(is_before)).collect()
    }

    /// A tracked file as the tree has it.
    pub(super) fn side(&mut self, file: &Tracked) -> Option<Side> {
        match self {
            Committed::AsInIndex => (!file.is_announced).then_some(file.side),
            Committed::Files(files) => files.next_if(|next| next.path == file.path)?.old,
        }
    }

    /// The files behind the last that was asked for.
    pub(super) fn rest(self) -> impl Iterator<Item = Difference> {
        match self {
            Committed::AsInIndex => Vec::new().into_iter().peekable(),
            Committed::Files(files) => files,
        }
    }
}
