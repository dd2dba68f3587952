//! Commits as walks handle them: by graph position, or by id where the graph lacks them.
//!
//! A commit that is in the graph is always keyed by its position, so that a walk's tables never
//! hold one commit under two keys.

use gix::{ObjectId, hashtable::HashMap, prelude::ObjectIdExt as _};

use super::{History, HistoryError, Position};

/// A commit's key in a walk's tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Spot {
    /// Its position in the graph.
    Known(Position),
    /// Its id: the graph lacks it.
    Read(ObjectId),
}

/// The part of a commit that a walk needs.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) spot: Spot,
    pub(super) tree: ObjectId,
    /// In the commit's order.
    pub(super) parents: Vec<Spot>,
    /// Committer time in seconds since 1970.
    pub(super) time: i64,
}

impl History {
    /// The key of commit `id`: its graph position if it has one.
    pub(super) fn spot(&self, id: ObjectId) -> Spot {
        self.graph().find(&id).map_or(Spot::Read(id), Spot::Known)
    }

    pub(super) fn id_of(&self, spot: Spot) -> ObjectId {
        match spot {
            Spot::Known(position) => self.graph().id(position),
            Spot::Read(id) => id,
        }
    }

    /// Reads the part of a commit that a walk needs.
    ///
    /// # Errors
    /// If the commit can't be read.
    pub(super) fn step(&self, spot: Spot) -> Result<Step, HistoryError> {
        let graph = self.graph();
        Ok(match spot {
            Spot::Known(position) => Step {
                spot,
                tree: graph.tree(position),
                parents: graph.parents(position).map(Spot::Known).collect(),
                time: graph.time(position),
            },
            Spot::Read(id) => {
                let node = self.node(id)?;
                Step {
                    spot,
                    tree: node.tree,
                    parents: node.parents.into_iter().map(|id| self.spot(id)).collect(),
                    time: node.time,
                }
            }
        })
    }

    /// The tree of the commit's first parent. `None` for a root.
    pub(super) fn first_parent_tree(&self, step: &Step) -> Result<Option<ObjectId>, HistoryError> {
        let parent = step.parents.first().map(|&parent| self.step(parent));
        Ok(parent.transpose()?.map(|parent| parent.tree))
    }

    /// Shortens an id as git does.
    pub fn short(&self, id: ObjectId) -> String {
        id.attach(&self.settled).shorten_or_id().to_string()
    }
}

/// Bit flags of the commits that a walk met, all clear at first.
///
/// One byte for each commit of the graph, and a table for commits outside it.
pub(super) struct Marks {
    known: Vec<u8>,
    read: HashMap<ObjectId, u8>,
}

impl Marks {
    pub(super) fn new(history: &History) -> Marks {
        Marks {
            known: vec![0; history.graph().len()],
            read: HashMap::default(),
        }
    }

    /// All flags of a commit.
    pub(super) fn of(&self, spot: Spot) -> u8 {
        let bits = match spot {
            Spot::Known(position) => self.known.get(position.index()),
            Spot::Read(id) => self.read.get(&id),
        };
        bits.copied().unwrap_or_default()
    }

    /// Whether any of `bits` is set.
    pub(super) fn has(&self, spot: Spot, bits: u8) -> bool {
        self.of(spot) & bits != 0
    }

    /// Sets `bits`. Returns whether any of them was clear before.
    pub(super) fn add(&mut self, spot: Spot, bits: u8) -> bool {
        let slot = match spot {
            Spot::Known(position) => match self.known.get_mut(position.index()) {
                Some(slot) => slot,
                None => return false,
            },
            Spot::Read(id) => self.read.entry(id).or_default(),
        };
        let is_new = *slot & bits != bits;
        *slot |= bits;
        is_new
    }
}
