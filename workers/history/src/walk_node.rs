//! Commits as walks handle them: by graph position, or by id where the graph lacks them.
//!
//! A commit that is in the graph is always keyed by its position, so that a walk's tables never
//! hold one commit under two keys.

use gix::{ObjectId, hashtable::HashMap, prelude::ObjectIdExt as _};

use super::{History, HistoryError, Position};

/// A commit's key in a walk's tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum CommitKey {
    /// Its position in the graph.
    InGraph(Position),
    /// Its id: the graph lacks it.
    Object(ObjectId),
}

/// The part of a commit that a walk needs.
#[derive(Clone, Debug)]
pub(super) struct WalkNode {
    pub(super) key: CommitKey,
    pub(super) tree: ObjectId,
    /// In the commit's order.
    pub(super) parents: Vec<CommitKey>,
    /// Committer time in seconds since 1970.
    pub(super) time: i64,
}

impl History {
    /// The key of commit `id`: its graph position if it has one.
    pub(super) fn commit_key(&self, id: ObjectId) -> CommitKey {
        self.graph()
            .find(&id)
            .map_or(CommitKey::Object(id), CommitKey::InGraph)
    }

    pub(super) fn id_of(&self, key: CommitKey) -> ObjectId {
        match key {
            CommitKey::InGraph(position) => self.graph().id(position),
            CommitKey::Object(id) => id,
        }
    }

    /// Reads the part of a commit that a walk needs.
    ///
    /// # Errors
    /// If the commit can't be read.
    pub(super) fn walk_node(&self, key: CommitKey) -> Result<WalkNode, HistoryError> {
        let graph = self.graph();
        Ok(match key {
            CommitKey::InGraph(position) => WalkNode {
                key,
                tree: graph.tree(position),
                parents: graph.parents(position).map(CommitKey::InGraph).collect(),
                time: graph.time(position),
            },
            CommitKey::Object(id) => {
                let commit = self.node(id)?;
                WalkNode {
                    key,
                    tree: commit.tree,
                    parents: commit
                        .parents
                        .into_iter()
                        .map(|id| self.commit_key(id))
                        .collect(),
                    time: commit.time,
                }
            }
        })
    }

    /// The tree of the commit's first parent. `None` for a root.
    pub(super) fn first_parent_tree(
        &self,
        node: &WalkNode,
    ) -> Result<Option<ObjectId>, HistoryError> {
        let parent = node.parents.first().map(|&parent| self.walk_node(parent));
        Ok(parent.transpose()?.map(|parent| parent.tree))
    }

    /// Shortens an id as git does.
    pub fn short(&self, id: ObjectId) -> String {
        id.attach(&self.no_refresh).shorten_or_id().to_string()
    }
}

/// Bit flags of the commits that a walk met, all clear at first.
///
/// One byte for each commit of the graph, and a table for commits outside it.
pub(super) struct Flags {
    in_graph: Vec<u8>,
    others: HashMap<ObjectId, u8>,
}

impl Flags {
    pub(super) fn new(history: &History) -> Flags {
        Flags {
            in_graph: vec![0; history.graph().len()],
            others: HashMap::default(),
        }
    }

    /// All flags of a commit.
    pub(super) fn of(&self, key: CommitKey) -> u8 {
        let bits = match key {
            CommitKey::InGraph(position) => self.in_graph.get(position.index()),
            CommitKey::Object(id) => self.others.get(&id),
        };
        bits.copied().unwrap_or_default()
    }

    /// Whether any of `bits` is set.
    pub(super) fn has(&self, key: CommitKey, bits: u8) -> bool {
        self.of(key) & bits != 0
    }

    /// Sets `bits`. Returns whether any of them was clear before.
    pub(super) fn add(&mut self, key: CommitKey, bits: u8) -> bool {
        let slot = match key {
            CommitKey::InGraph(position) => match self.in_graph.get_mut(position.index()) {
                Some(slot) => slot,
                None => return false,
            },
            CommitKey::Object(id) => self.others.entry(id).or_default(),
        };
        let is_new = *slot & bits != bits;
        *slot |= bits;
        is_new
    }
}
