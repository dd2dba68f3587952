//! The order in which a walk visits commits: that of
//! [`Frontier`](super::super::frontier::Frontier), which does not depend on the path.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use archway_repo::Cancel;
use gix::ObjectId;

use super::super::walk_node::CommitKey;
use super::super::{History, HistoryError};

/// The commit was not met yet.
const UNSEEN: u32 = 0;
/// The commit is queued.
const QUEUED: u32 = u32::MAX;
/// Maximum number of commits outside the graph in a cached order.
const MAX_OUTSIDE_GRAPH: usize = 20_000;
/// Number of commits that are visited between two deadline checks.
const CHECK_INTERVAL: u32 = 1 << 8;

/// A walk order, as far as it is known.
pub(super) struct Order {
    /// The rank of each commit of the graph. The first has rank 1.
    ranks: Vec<u32>,
    /// The commits outside the graph that were met.
    outside_graph: HashMap<ObjectId, LoadedCommit>,
    /// The greatest is the next: the youngest, and within one second the one that was met first.
    queue: BinaryHeap<(i64, Reverse<u32>, QueuedKey)>,
    enqueued: u32,
    visited: u32,
}

/// A queued commit, by graph position or by id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum QueuedKey {
    InGraph(super::super::Position),
    Object(ObjectId),
}

/// A commit that the graph lacks.
struct LoadedCommit {
    rank: u32,
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
            ranks: vec![UNSEEN; history.graph().len()],
            outside_graph: HashMap::new(),
            queue: BinaryHeap::new(),
            enqueued: 0,
            visited: 0,
        };
        for &id in from {
            order.load(history, id)?;
            order.enqueue(history, history.commit_key(id));
        }
        Ok(order)
    }

    /// The size of an order of so many commits, in bytes.
    pub(super) fn bytes_of(commits: usize) -> usize {
        commits * size_of::<u32>()
    }

    /// The number of visited commits.
    pub(super) fn visited(&self) -> u32 {
        self.visited
    }

    /// The rank of a commit, if it was visited.
    pub(super) fn rank(&self, key: CommitKey) -> Option<u32> {
        let rank = match key {
            CommitKey::InGraph(position) => self.ranks.get(position.index()).copied(),
            CommitKey::Object(id) => self.outside_graph.get(&id).map(|commit| commit.rank),
        };
        rank.filter(|rank| !matches!(*rank, UNSEEN | QUEUED))
    }

    /// The commits outside the graph that were met.
    pub(super) fn outside_graph(&self) -> impl Iterator<Item = CommitKey> {
        self.outside_graph.keys().copied().map(CommitKey::Object)
    }

    /// Whether it is too large to cache.
    pub(super) fn is_long(&self) -> bool {
        self.outside_graph.len() > MAX_OUTSIDE_GRAPH
    }

    /// Visits the next commit, and queues its parents.
    ///
    /// # Errors
    /// If a parent can't be read, or the call has to stop. Nothing has changed then.
    pub(super) fn visit_next(
        &mut self,
        history: &History,
        cancel: &Cancel,
    ) -> Result<Option<CommitKey>, HistoryError> {
        let Some(&(_, _, next)) = self.queue.peek() else {
            return Ok(None);
        };
        if self.visited.is_multiple_of(CHECK_INTERVAL) {
            cancel.check()?;
        }
        let key = match next {
            QueuedKey::InGraph(position) => CommitKey::InGraph(position),
            QueuedKey::Object(id) => CommitKey::Object(id),
        };
        let parents = match key {
            CommitKey::InGraph(_) => Vec::new(),
            CommitKey::Object(id) => self
                .outside_graph
                .get(&id)
                .map_or_else(Vec::new, |commit| commit.parents.clone()),
        };
        for &parent in &parents {
            self.load(history, parent)?;
        }
        self.queue.pop();
        self.visited += 1;
        self.set(key, self.visited);
        if let CommitKey::InGraph(position) = key {
            for parent in history.graph().parents(position) {
                self.enqueue(history, CommitKey::InGraph(parent));
            }
        }
        for parent in parents {
            self.enqueue(history, history.commit_key(parent));
        }
        Ok(Some(key))
    }

    /// Reads a commit that the graph lacks.
    fn load(&mut self, history: &History, id: ObjectId) -> Result<(), HistoryError> {
        let is_known = matches!(history.commit_key(id), CommitKey::InGraph(_));
        if is_known || self.outside_graph.contains_key(&id) {
            return Ok(());
        }
        let node = history.node(id)?;
        let commit = LoadedCommit {
            rank: UNSEEN,
            time: node.time,
            parents: node.parents,
        };
        self.outside_graph.insert(id, commit);
        Ok(())
    }

    /// Queues a commit, unless it was queued before.
    fn enqueue(&mut self, history: &History, key: CommitKey) {
        let (rank, next, time) = match key {
            CommitKey::InGraph(position) => {
                let rank = self.ranks.get(position.index());
                let next = QueuedKey::InGraph(position);
                (rank.copied(), next, history.graph().time(position))
            }
            CommitKey::Object(id) => {
                let commit = self.outside_graph.get(&id);
                let time = commit.map_or(0, |commit| commit.time);
                (
                    commit.map(|commit| commit.rank),
                    QueuedKey::Object(id),
                    time,
                )
            }
        };
        if rank == Some(UNSEEN) {
            self.set(key, QUEUED);
            self.enqueued += 1;
            self.queue.push((time, Reverse(self.enqueued), next));
        }
    }

    fn set(&mut self, key: CommitKey, rank: u32) {
        let slot = match key {
            CommitKey::InGraph(position) => self.ranks.get_mut(position.index()),
            CommitKey::Object(id) => self
                .outside_graph
                .get_mut(&id)
                .map(|commit| &mut commit.rank),
        };
        if let Some(slot) = slot {
            *slot = rank;
        }
    }
}
