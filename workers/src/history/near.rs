//! What is told where a path is not: whether it is a folder.
//!
//! Asked only where nothing else could be answered, so that it costs no other call anything.

use gix::ObjectId;

use super::scope::Scope;
use super::{History, HistoryError};
use crate::repo::{Kind, RepoPath};

impl History {
    /// Whether `path` is a folder of a commit that readers see.
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
        let is_served = self.rules.judge(path, Kind::Directory).is_ok();
        Ok(is_served && self.is_tree(commit, path.clone())? == Some(true))
    }

    /// Whether a commit has a folder at `path`, or a file; `None` if it has nothing there.
    fn is_tree(&self, commit: ObjectId, path: RepoPath) -> Result<Option<bool>, HistoryError> {
        let tree = self.node(commit)?.tree;
        let (_, side) = Scope::of(path).sides(self, None, Some(tree))?;
        Ok(side.map(|side| side.mode.is_tree()))
    }
}
