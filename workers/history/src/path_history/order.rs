//! The order in which a walk visits commits: that of
//! [`Frontier`](super::super::frontier::Frontier), which does not depend on the path.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use archway_repo::Cancel;
use gix::ObjectId;

use super::super::steps::Spot;
use super::super::{History, HistoryError};

/// The commit was not met yet.
const NEVER: u32 = 0;
/// The commit is queued.
const LATER: u32 = u32::MAX;
/// Maximum number of commits outside the graph in a cached order.
const MAX_READ: usize = 20_000;
/// Number of commits that are visited between two deadline checks.
const STRIDE: u32 = 1 << 8;

/// A walk order, as far as it is known.
pub(super) struct Order {
    /// The rank of each commit of the graph. The first has rank 1.
    turns: Vec<u32>,
    /// The commits outside the graph that were met.
    read: HashMap<ObjectId, Read>,
    /// The greatest is the next: the youngest, and within one second the one that was met first.
    waiting: BinaryHeap<(i64, Reverse<u32>, Next)>,
    met: u32,
    taken: u32,
}

/// A queued commit, by graph position or by id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Next {
    Known(super::super::Position),
    Read(ObjectId),
}

/// A commit that the graph lacks.
struct Read {
    turn: u32,
    time: i64,
    parents: Vec<ObjectId>,
}

impl Order {
    /// The order of a walk that begins at `from`.
    ///
    /// # Errors
    /// If a commit can't be read.
    pub(super) fn at(history: &History, from: &[ObjectId]) -> Result<Order, HistoryError> {
        let mut order = Order {
            turns: vec![NEVER; history.graph().len()],
            read: HashMap::new(),
            waiting: BinaryHeap::new(),
            met: 0,
            taken: 0,
        };
        for &id in from {
            order.read_in(history, id)?;
            order.meet(history, history.spot(id));
        }
        Ok(order)
    }

    /// The size of an order of so many commits, in bytes.
    pub(super) fn bytes_of(commits: usize) -> usize {
        commits * size_of::<u32>()
    }

    /// The number of visited commits.
    pub(super) fn taken(&self) -> u32 {
        self.taken
    }

    /// The rank of a commit, if it was visited.
    pub(super) fn turn(&self, spot: Spot) -> Option<u32> {
        let turn = match spot {
            Spot::Known(position) => self.turns.get(position.index()).copied(),
            Spot::Read(id) => self.read.get(&id).map(|read| read.turn),
        };
        turn.filter(|turn| !matches!(*turn, NEVER | LATER))
    }

    /// The commits outside the graph that were met.
    pub(super) fn read(&self) -> impl Iterator<Item = Spot> {
        self.read.keys().copied().map(Spot::Read)
    }

    /// Whether it is too large to cache.
    pub(super) fn is_long(&self) -> bool {
        self.read.len() > MAX_READ
    }

    /// Visits the next commit, and queues its parents.
    ///
    /// # Errors
    /// If a parent can't be read, or the call has to stop. Nothing has changed then.
    pub(super) fn take(
        &mut self,
        history: &History,
        cancel: &Cancel,
    ) -> Result<Option<Spot>, HistoryError> {
        let Some(&(_, _, next)) = self.waiting.peek() else {
            return Ok(None);
        };
        if self.taken.is_multiple_of(STRIDE) {
            cancel.check()?;
        }
        let spot = match next {
            Next::Known(position) => Spot::Known(position),
            Next::Read(id) => Spot::Read(id),
        };
        let parents = match spot {
            Spot::Known(_) => Vec::new(),
            Spot::Read(id) => self
                .read
                .get(&id)
                .map_or_else(Vec::new, |read| read.parents.clone()),
        };
        for &parent in &parents {
            self.read_in(history, parent)?;
        }
        self.waiting.pop();
        self.taken += 1;
        self.set(spot, self.taken);
        if let Spot::Known(position) = spot {
            for parent in history.graph().parents(position) {
                self.meet(history, Spot::Known(parent));
            }
        }
        for parent in parents {
            self.meet(history, history.spot(parent));
        }
        Ok(Some(spot))
    }

    /// Reads a commit that the graph lacks.
    fn read_in(&mut self, history: &History, id: ObjectId) -> Result<(), HistoryError> {
        let is_known = matches!(history.spot(id), Spot::Known(_));
        if is_known || self.read.contains_key(&id) {
            return Ok(());
        }
        let node = history.node(id)?;
        let read = Read {
            turn: NEVER,
            time: node.time,
            parents: node.parents,
        };
        self.read.insert(id, read);
        Ok(())
    }

    /// Queues a commit, unless it was queued before.
    fn meet(&mut self, history: &History, spot: Spot) {
        let (turn, next, time) = match spot {
            Spot::Known(position) => {
                let turn = self.turns.get(position.index());
                let next = Next::Known(position);
                (turn.copied(), next, history.graph().time(position))
            }
            Spot::Read(id) => {
                let read = self.read.get(&id);
                let time = read.map_or(0, |read| read.time);
                (read.map(|read| read.turn), Next::Read(id), time)
            }
        };
        if turn == Some(NEVER) {
            self.set(spot, LATER);
            self.met += 1;
            self.waiting.push((time, Reverse(self.met), next));
        }
    }

    fn set(&mut self, spot: Spot, turn: u32) {
        let slot = match spot {
            Spot::Known(position) => self.turns.get_mut(position.index()),
            Spot::Read(id) => self.read.get_mut(&id).map(|read| &mut read.turn),
        };
        if let Some(slot) = slot {
            *slot = turn;
        }
    }
}
