//! One path in many trees: whether it differs between two of them, and in which files.
//!
//! Trees are read side by side from the root down, and only as long as they differ. For most
//! commits, a commit-graph with changed-path filters answers without reading any; the ledger
//! answers for the rest.

use archway_repo::{Cancel, RepoPath};
use gix::ObjectId;
use gix::objs::tree::EntryKind;

use super::trees::{self, Difference};
use super::walk_node::{CommitKey, WalkNode};
use super::{FilterQuery, History, HistoryError, Side};

/// The path's entry in two trees; `None` where it is absent.
pub(super) type Sides = (Option<Side>, Option<Side>);

/// The path that limits a log, with reusable buffers.
pub(super) struct PathLimiter {
    path: RepoPath,
    filter_query: FilterQuery,
    buffer: Vec<u8>,
}

impl PathLimiter {
    pub(super) fn of(path: RepoPath) -> PathLimiter {
        PathLimiter {
            filter_query: FilterQuery::of(&path),
            path,
            buffer: Vec::new(),
        }
    }

    pub(super) fn path(&self) -> &RepoPath {
        &self.path
    }

    /// Whether graph or ledger prove that the path is the same in the commit and its first parent,
    /// or that a root lacks it.
    pub(super) fn is_proven_same(&self, history: &History, key: CommitKey) -> bool {
        let (graph, ledger) = (history.graph(), history.ledger());
        let filtered = match key {
            CommitKey::InGraph(position) => graph.maybe_changed(position, &self.filter_query),
            CommitKey::Object(_) => None,
        };
        // Filters err for one path in a hundred: many commits in a long history.
        filtered == Some(false) || ledger.touches(&history.id_of(key), &self.path) == Some(false)
    }

    /// The path's entry in two trees. Both are `None` if a folder above it is the same in both,
    /// since nothing below it is read then.
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

    /// Whether the path differs, as path rules admit it, between a commit and one parent.
    pub(super) fn differs(
        &mut self,
        history: &History,
        node: &WalkNode,
        parent: Option<CommitKey>,
        cancel: &Cancel,
    ) -> Result<bool, HistoryError> {
        let parent = parent.map(|parent| history.walk_node(parent)).transpose()?;
        let old = parent.map(|parent| parent.tree);
        let found = self.differences(history, old, Some(node.tree), cancel)?;
        Ok(!found.is_empty())
    }

    /// The files at the path that differ between two trees and that path rules admit.
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
