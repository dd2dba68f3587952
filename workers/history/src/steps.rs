//! Commits as walks go over them: by their place in the commit-graph, else by reading them.
//!
//! A commit that is in the graph is always meant by its place there, so that one commit never has
//! two names in the tables of a walk.

use gix::{ObjectId, hashtable::HashMap, prelude::ObjectIdExt as _};

use super::{History, HistoryError, Position};

/// One commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Spot {
    /// It is in the graph, here.
    Known(Position),
    /// It is not in the graph.
    Read(ObjectId),
}

/// What a walk needs of a commit.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) spot: Spot,
    pub(super) tree: ObjectId,
    /// In the commit's order.
    pub(super) parents: Vec<Spot>,
    /// When it was committed, in seconds since 1970.
    pub(super) time: i64,
}

impl History {
    /// The commit `id`, by its place in the graph if it has one.
    pub(super) fn spot(&self, id: ObjectId) -> Spot {
        self.graph().find(&id).map_or(Spot::Read(id), Spot::Known)
    }

    /// The commit's id.
    pub(super) fn id_of(&self, spot: Spot) -> ObjectId {
        match spot {
            Spot::Known(position) => self.graph().id(position),
            Spot::Read(id) => id,
        }
    }

    /// What a walk needs of a commit.
    ///
    /// # Errors
    /// If it can't be read.
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

    /// The tree of the commit's first parent; `None` of a root.
    pub(super) fn first_parent_tree(&self, step: &Step) -> Result<Option<ObjectId>, HistoryError> {
        let parent = step.parents.first().map(|&parent| self.step(parent));
        Ok(parent.transpose()?.map(|parent| parent.tree))
    }

    /// An id as git shortens it.
    pub fn short(&self, id: ObjectId) -> String {
        id.attach(&self.settled).shorten_or_id().to_string()
    }
}

/// What a walk noted of each commit: some bits, none of them set at first.
///
/// A byte for each commit of the graph, and a table of the others that were met.
pub(super) struct Marks {
    known: Vec<u8>,
    read: HashMap<ObjectId, u8>,
}

impl Marks {
    /// Nothing is noted yet.
    pub(super) fn new(history: &History) -> Marks {
        Marks {
            known: vec![0; history.graph().len()],
            read: HashMap::default(),
        }
    }

    /// What is noted of a commit.
    pub(super) fn of(&self, spot: Spot) -> u8 {
        let bits = match spot {
            Spot::Known(position) => self.known.get(position.index()),
            Spot::Read(id) => self.read.get(&id),
        };
        bits.copied().unwrap_or_default()
    }

    /// Whether one of `bits` is set.
    pub(super) fn has(&self, spot: Spot, bits: u8) -> bool {
        self.of(spot) & bits != 0
    }

    /// Sets `bits`, and says whether one of them was not set before.
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
