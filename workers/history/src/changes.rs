//! The differences between two trees, file by file.

use archway_repo::Cancel;
use gix::ObjectId;

use super::blobs::Blobs;
use super::change::{Change, ChangeKind, Changes};
use super::patch::{Comparer, LineCounts, Patch};
use super::trees::{self, Difference};
use super::{History, HistoryError, renames};

impl History {
    /// The differences between two trees, with renames detected like `git diff -M`. `None` is the
    /// empty tree.
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

    /// The differences between two trees, renames included, with access to the contents.
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

/// The differences between two states, with access to the contents.
pub struct Comparison<'h> {
    /// The files that differ.
    pub changes: Changes,
    blobs: Blobs<'h>,
}

impl<'h> Comparison<'h> {
    /// Classifies the differences; `found` is in git's order.
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
    pub fn count(
        &self,
        comparer: &mut Comparer,
        change: &Change,
    ) -> Result<LineCounts, HistoryError> {
        comparer.count(&self.blobs, change)
    }

    /// How many lines of a file changed, and the patch with `context` lines of context.
    ///
    /// # Errors
    /// If a side can't be read.
    pub fn patch(
        &self,
        comparer: &mut Comparer,
        change: &Change,
        context: u32,
    ) -> Result<(LineCounts, Patch), HistoryError> {
        comparer.patch(&self.blobs, change, context)
    }
}

impl Changes {
    /// Classifies the differences; `found` is in git's order.
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
    /// The change of a file that kept its name. `None` if neither side has it.
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
