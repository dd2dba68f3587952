//! Whether a file of HEAD is another one in the index or in the work tree.

use gix::bstr::{BStr, BString};
use gix::index::entry::Stage;
use gix::status::index_worktree::Item;
use gix::status::plumbing::index_as_worktree::EntryStatus;
use gix::status::{Submodule, UntrackedFiles};
use gix::submodule::config::Ignore;

use super::Tracked;
use crate::history::{History, HistoryError, error::git};

const READING: &str = "reading a file's status";

impl History {
    /// Whether index or work tree have another file than HEAD, of which `file` is one. Only this
    /// one is looked at; never true without a work tree.
    ///
    /// # Errors
    /// If index or work tree can't be read.
    pub(crate) fn is_modified(&self, file: &Tracked) -> Result<bool, HistoryError> {
        if self.git.workdir().is_none() {
            return Ok(false);
        }
        let path: &BStr = file.path.as_bytes().into();
        let index = self.git.index_or_empty().map_err(git(READING))?;
        let staged = index
            .entry_by_path_and_stage(path, Stage::Unconflicted)
            .map(|entry| (entry.id, entry.mode.to_tree_entry_mode()));
        let committed = (file.place.file.id, Some(file.place.file.mode));
        Ok(staged != Some(committed) || self.is_edited(path)?)
    }

    /// Whether the work tree differs from the index, as `git status` sees it.
    fn is_edited(&self, path: &BStr) -> Result<bool, HistoryError> {
        let submodules = Submodule::Given {
            ignore: Ignore::All,
            check_dirty: false,
        };
        let pattern = BString::from([b":(top,literal)".as_slice(), path].concat());
        let status = self.git.status(gix::progress::Discard);
        let changes = status
            .map_err(git(READING))?
            .untracked_files(UntrackedFiles::None)
            .index_worktree_submodules(submodules)
            .index_worktree_rewrites(None)
            .into_index_worktree_iter([pattern])
            .map_err(git(READING))?;
        for change in changes {
            match change.map_err(git(READING))? {
                // The same content, written anew.
                Item::Modification {
                    status: EntryStatus::NeedsUpdate(_),
                    ..
                } => {}
                _ => return Ok(true),
            }
        }
        Ok(false)
    }
}
