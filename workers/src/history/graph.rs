//! What git's commit-graph says: commits, their parents and which paths they may have changed,
//! without reading an object.

use gix::ObjectId;

use crate::repo::RepoPath;

/// Where a commit stands in a graph. Good for the graph that gave it, and no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Position(u32);

impl Position {
    /// As an index, for a table of all commits of a graph.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Commits that can be walked without reading objects. A graph that has a commit has all that it
/// descends from.
#[derive(Debug, Default)]
pub(crate) struct Graph {}

/// A commit in a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) tree: ObjectId,
    /// In the commit's order.
    pub(crate) parents: Vec<Position>,
    /// When it was committed, in seconds since 1970.
    pub(crate) time: i64,
    /// More than that of each parent; 0 if unknown.
    pub(crate) generation: u64,
}

/// A path, made ready to be asked of many commits.
#[derive(Clone, Debug)]
pub(crate) struct Asked {}

impl Asked {
    /// Asks about the file or folder `path`.
    pub(crate) fn of(_path: &RepoPath) -> Asked {
        Asked {}
    }
}

impl Graph {
    /// How many commits it has: positions are below.
    pub(crate) fn len(&self) -> usize {
        0
    }

    /// Where `id` stands, if it is in the graph.
    pub(crate) fn find(&self, _id: &gix::oid) -> Option<Position> {
        None
    }

    /// The commit's id.
    pub(crate) fn id(&self, _position: Position) -> ObjectId {
        ObjectId::null(gix::hash::Kind::Sha1)
    }

    /// What is said of the commit.
    pub(crate) fn entry(&self, _position: Position) -> Option<Entry> {
        None
    }

    /// Whether the commit may have changed `asked` against its first parent; `Some(false)` is
    /// certain, `None` means that nothing is known.
    pub(crate) fn maybe_changed(&self, _position: Position, _asked: &Asked) -> Option<bool> {
        None
    }
}
