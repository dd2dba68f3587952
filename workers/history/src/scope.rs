//! One path in many trees: whether it differs between two of them, and in what.
//!
//! Trees are read side by side from the root down, and only as long as they differ. A commit-graph
//! with filters of changed paths answers for most commits without reading any, a ledger for the rest.

use archway_repo::{Cancel, RepoPath};
use gix::ObjectId;
use gix::objs::tree::EntryKind;

use super::steps::{Spot, Step};
use super::trees::{self, Difference};
use super::{Asked, History, HistoryError, Side};

/// What a path is in two trees; `None` where it is not.
pub(super) type Sides = (Option<Side>, Option<Side>);

/// The path that is looked at.
pub(super) struct Scope {
    path: RepoPath,
    asked: Asked,
    buffer: Vec<u8>,
}

impl Scope {
    pub(super) fn of(path: RepoPath) -> Scope {
        Scope {
            asked: Asked::of(&path),
            path,
            buffer: Vec::new(),
        }
    }

    pub(super) fn path(&self) -> &RepoPath {
        &self.path
    }

    /// Whether the commit is known to have the path as its first parent has it; as nothing, if it
    /// has no parent.
    pub(super) fn is_known_same(&self, history: &History, spot: Spot) -> bool {
        let (graph, ledger) = (history.graph(), history.ledger());
        let filtered = match spot {
            Spot::Known(position) => graph.maybe_changed(position, &self.asked),
            Spot::Read(_) => None,
        };
        // Filters are wrong of one path in a hundred, in long histories about many commits.
        filtered == Some(false) || ledger.touches(&history.id_of(spot), &self.path) == Some(false)
    }

    /// What the path is in two trees. Where a folder above it is the same in both, that is all
    /// that is looked at: then both are `None`.
    pub(super) fn sides(
        &mut self,
        history: &History,
        old: Option<ObjectId>,
        new: Option<ObjectId>,
    ) -> Result<Sides, HistoryError> {
        let folder = |id| Side {
            id,
            mode: EntryKind::Tree.into(),
        };
        let (mut old, mut new) = (old.map(folder), new.map(folder));
        let path = self.path.clone();
        for name in path.components() {
            if old == new {
                return Ok((None, None));
            }
            old = self.entry(history, old, name)?;
            new = self.entry(history, new, name)?;
        }
        Ok((old, new))
    }

    /// Whether a reader of this project sees the path differ between a commit and one parent.
    pub(super) fn differs(
        &mut self,
        history: &History,
        step: &Step,
        parent: Option<Spot>,
        cancel: &Cancel,
    ) -> Result<bool, HistoryError> {
        let parent = parent.map(|parent| history.step(parent)).transpose()?;
        let old = parent.map(|parent| parent.tree);
        let found = self.differences(history, old, Some(step.tree), cancel)?;
        Ok(!found.is_empty())
    }

    /// The files at the path that differ between two trees and that readers of this project see.
    pub(super) fn differences(
        &mut self,
        history: &History,
        old: Option<ObjectId>,
        new: Option<ObjectId>,
        cancel: &Cancel,
    ) -> Result<Vec<Difference>, HistoryError> {
        let (old, new) = self.sides(history, old, new)?;
        if old == new {
            return Ok(Vec::new());
        }
        let path = self.path.clone();
        trees::differences_at(&history.git, &history.rules, path, (old, new), cancel)
    }

    fn entry(
        &mut self,
        history: &History,
        folder: Option<Side>,
        name: &[u8],
    ) -> Result<Option<Side>, HistoryError> {
        match folder.filter(|side| side.mode.is_tree()) {
            Some(tree) => trees::entry(&history.git, tree.id, name, &mut self.buffer),
            None => Ok(None),
        }
    }
}
