//! What differs between two trees, file by file.

use gix::{ObjectId, objs::tree::EntryMode};

use super::blobs::Blobs;
use super::patch::{Comparer, Lines, Patch};
use super::trees::{self, Difference};
use super::{History, HistoryError, renames};
use archway_repo::{Cancel, RepoPath};

/// One file that differs. Blocked paths are not among them: a file that was renamed from a blocked
/// name was added, one that was renamed to it deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Where the file is now, or was if it is gone.
    pub path: RepoPath,
    pub kind: ChangeKind,
    /// The file before; `None` if it was added.
    pub old: Option<Side>,
    /// The file after; `None` if it was deleted.
    pub new: Option<Side>,
}

/// What became of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    Added,
    Modified,
    Deleted,
    /// From this path; its content may differ, too.
    Renamed(RepoPath),
    /// Between file, link and submodule.
    TypeChanged,
}

/// A file in a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
    pub(crate) id: ObjectId,
    pub mode: EntryMode,
}

/// What differs, in the order of the paths: by component, as everywhere. (Git's own is by byte.)
#[derive(Clone, Debug, Default)]
pub struct Changes {
    pub files: Vec<Change>,
    /// Not all renames were looked for: too many files came and went (then those of the same
    /// content or name were paired), or there was no time (then those of the same content).
    pub renames_cut: bool,
}

impl History {
    /// What differs between two trees, renames found as `git diff -M` finds them; `None` is the empty tree.
    ///
    /// # Errors
    /// If a tree can't be read, or the call has to stop.
    pub(crate) fn changes(
        &self,
        old: Option<ObjectId>,
        new: Option<ObjectId>,
        cancel: &Cancel,
    ) -> Result<Changes, HistoryError> {
        let found = trees::differences(&self.git, &self.rules, (old, new), cancel)?;
        Changes::of(&Blobs::new(&self.git), found, cancel)
    }

    /// What differs between two trees, with what was renamed, and the contents it is about.
    ///
    /// # Errors
    /// If a tree or a file can't be read, or the call has to stop.
    pub fn compare(
        &self,
        old: Option<ObjectId>,
        new: Option<ObjectId>,
        cancel: &Cancel,
    ) -> Result<Comparison<'_>, HistoryError> {
        let found = trees::differences(&self.git, &self.rules, (old, new), cancel)?;
        Comparison::of(Blobs::new(&self.git), found, cancel)
    }
}

/// What differs between two states, and the contents that it is about.
pub struct Comparison<'h> {
    pub changes: Changes,
    blobs: Blobs<'h>,
}

impl<'h> Comparison<'h> {
    /// Tells what became of each file that differs; `found` is in git's order.
    pub(super) fn of(
        blobs: Blobs<'h>,
        found: Vec<Difference>,
        cancel: &Cancel,
    ) -> Result<Comparison<'h>, HistoryError> {
        let changes = Changes::of(&blobs, found, cancel)?;
        Ok(Comparison { changes, blobs })
    }

    /// How many lines of a file changed.
    ///
    /// # Errors
    /// If a side can't be read.
    pub fn count(&self, comparer: &mut Comparer, change: &Change) -> Result<Lines, HistoryError> {
        comparer.count(&self.blobs, change)
    }

    /// How many lines of a file changed, and the patch with so many lines of context.
    ///
    /// # Errors
    /// If a side can't be read.
    pub fn patch(
        &self,
        comparer: &mut Comparer,
        change: &Change,
        context: u32,
    ) -> Result<(Lines, Patch), HistoryError> {
        comparer.patch(&self.blobs, change, context)
    }
}

impl Changes {
    /// Tells what became of each file that differs; `found` is in git's order.
    pub(super) fn of(
        blobs: &Blobs<'_>,
        found: Vec<Difference>,
        cancel: &Cancel,
    ) -> Result<Changes, HistoryError> {
        let mut changes = renames::pair(blobs, found, cancel)?;
        changes.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Ok(changes)
    }
}

impl Change {
    /// A file that kept its name; `None` where there is none on either side.
    pub(super) fn plain(difference: Difference) -> Option<Change> {
        let Difference { path, old, new } = difference;
        let kind = match (old, new) {
            (None, None) => return None,
            (None, Some(_)) => ChangeKind::Added,
            (Some(_), None) => ChangeKind::Deleted,
            (Some(old), Some(new)) if trees::are_of_one_type(old, new) => ChangeKind::Modified,
            (Some(_), Some(_)) => ChangeKind::TypeChanged,
        };
        Some(Change {
            path,
            kind,
            old,
            new,
        })
    }
}
