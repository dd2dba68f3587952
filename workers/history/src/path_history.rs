//! Logs of files without a walk: the ledger says which commits changed a file, and the walk order
//! is computed once for all files.
//!
//! A followed file does not influence its walk. All walks from the same commits therefore visit the
//! same commits in the same order, wrong clocks and equal dates included. That order is cached as
//! far as some log has needed it; a log that needs more extends it. Each commit is then only looked
//! up in the ledger's index by the file's name; commits that the ledger lacks are always examined.
//! The log has the same commits as a walk, with less work for each.

mod index;
mod order;

use std::sync::{Arc, Weak};

use archway_repo::{Cancel, RepoPath, Stopped};
use gix::ObjectId;
use parking_lot::Mutex;

use super::ledger::Ledger;
use super::walk_node::{CommitKey, WalkNode};
use super::{Graph, History, HistoryError};
use index::PathIndex;
use order::Order;

/// Number of cached orders per project: HEAD's, and those of other starting points.
const MAX_ORDERS: usize = 3;

/// The path histories of one project, for one graph and ledger.
pub(super) struct PathHistories {
    graph: Weak<Graph>,
    ledger: Weak<Ledger>,
    index: PathIndex,
    /// By starting commits, the most recently used at the end.
    orders: Mutex<Vec<(Vec<ObjectId>, SharedOrder)>>,
    commits: usize,
}

/// A walk order that calls extend together.
type SharedOrder = Arc<Mutex<Order>>;

impl PathHistories {
    /// Builds the index. `None` without a ledger.
    ///
    /// # Errors
    /// If the call has to stop.
    pub(super) fn of(
        graph: &Arc<Graph>,
        ledger: &Arc<Ledger>,
        cancel: &Cancel,
    ) -> Result<Option<PathHistories>, Stopped> {
        if ledger.len() == 0 {
            return Ok(None);
        }
        Ok(Some(PathHistories {
            index: PathIndex::of(graph, ledger, cancel)?,
            graph: Arc::downgrade(graph),
            ledger: Arc::downgrade(ledger),
            orders: Mutex::default(),
            commits: graph.len(),
        }))
    }

    /// Whether it belongs to this graph and ledger. The weak references keep their addresses from
    /// being reused, so comparing addresses is safe.
    pub(super) fn is_of(&self, graph: &Arc<Graph>, ledger: &Arc<Ledger>) -> bool {
        std::ptr::eq(self.graph.as_ptr(), Arc::as_ptr(graph))
            && std::ptr::eq(self.ledger.as_ptr(), Arc::as_ptr(ledger))
    }

    /// Its maximum size, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.index.bytes() + MAX_ORDERS * Order::bytes_of(self.commits)
    }

    fn order(&self, history: &History, from: &[ObjectId]) -> Result<SharedOrder, HistoryError> {
        let mut orders = self.orders.lock();
        let position = orders.iter().position(|(begin, _)| begin == from);
        let found = match position {
            Some(position) => orders.remove(position),
            None => {
                let order = Order::at(history, from)?;
                (from.to_vec(), Arc::new(Mutex::new(order)))
            }
        };
        let order = Arc::clone(&found.1);
        if orders.len() == MAX_ORDERS {
            orders.remove(0);
        }
        orders.push(found);
        Ok(order)
    }

    /// Drops an order from the cache.
    fn uncache(&self, order: &SharedOrder) {
        let is_other = |entry: &(Vec<ObjectId>, SharedOrder)| !Arc::ptr_eq(&entry.1, order);
        self.orders.lock().retain(is_other);
    }
}

/// The position of a file's log in a walk order.
pub(super) struct PathHistory<'a> {
    history: &'a History,
    histories: Arc<PathHistories>,
    order: SharedOrder,
    /// The rank of the commit that came last; 0 before the first.
    at: u32,
    /// The rank of the one before.
    before: u32,
    /// The file's name for which `next` was computed.
    path: Option<RepoPath>,
    /// The next commits with their ranks, the first at the end.
    next: Vec<(u32, CommitKey)>,
    /// The rank up to which `next` is complete.
    covered: u32,
}

impl<'a> PathHistory<'a> {
    /// Path history of logs that begin at these commits, if the project has a ledger.
    ///
    /// # Errors
    /// If a commit can't be read, or the call has to stop.
    pub(super) fn from(
        history: &'a History,
        from: &[ObjectId],
        cancel: &Cancel,
    ) -> Result<Option<PathHistory<'a>>, HistoryError> {
        let histories = history
            .cache()
            .path_histories(&history.graph, &history.ledger, cancel)?;
        let Some(histories) = histories else {
            return Ok(None);
        };
        Ok(Some(PathHistory {
            history,
            order: histories.order(history, from)?,
            histories,
            at: 0,
            before: 0,
            path: None,
            next: Vec::new(),
            covered: 0,
        }))
    }

    /// Begins again with the first commit.
    pub(super) fn rewind(&mut self) {
        (self.at, self.before, self.path) = (0, 0, None);
    }

    /// Continues after `commit`. Returns false if the order lacks it.
    ///
    /// # Errors
    /// If a commit can't be read, or the call has to stop.
    pub(super) fn resume_after(
        &mut self,
        commit: ObjectId,
        cancel: &Cancel,
    ) -> Result<bool, HistoryError> {
        let key = self.history.commit_key(commit);
        let order = Arc::clone(&self.order);
        let mut order = cancel.lock(&order)?;
        while order.rank(key).is_none() {
            if order.visit_next(self.history, cancel)?.is_none() {
                return Ok(false);
            }
        }
        self.at = order.rank(key).unwrap_or_default();
        // Forces `next` to be recomputed.
        (self.before, self.path) = (self.at, None);
        Ok(true)
    }

    /// The next commit that may have changed the file `path` against its first parent.
    ///
    /// # Errors
    /// If a commit can't be read, or the call has to stop. The log can continue later.
    pub(super) fn next(
        &mut self,
        path: &RepoPath,
        cancel: &Cancel,
    ) -> Result<Option<WalkNode>, HistoryError> {
        if self.path.as_ref() != Some(path) {
            self.path = Some(path.clone());
            self.next.clear();
            self.covered = self.at;
        }
        while self.next.is_empty() {
            cancel.check()?;
            if !self.find_more(path, cancel)? {
                return Ok(None);
            }
        }
        let Some(&(rank, key)) = self.next.last() else {
            return Ok(None);
        };
        let node = self.history.walk_node(key)?;
        self.next.pop();
        self.before = std::mem::replace(&mut self.at, rank);
        Ok(Some(node))
    }

    /// Returns the commit that came last: it becomes the next again.
    pub(super) fn put_back(&mut self) {
        self.at = self.before;
        self.path = None;
    }

    /// Finds more commits. Returns false at the end of history.
    fn find_more(&mut self, path: &RepoPath, cancel: &Cancel) -> Result<bool, HistoryError> {
        let histories = Arc::clone(&self.histories);
        let changing = histories
            .index
            .changing(self.history.ledger.number_of(path));
        let shared = Arc::clone(&self.order);
        let mut order = cancel.lock(&shared)?;
        if self.covered < order.visited() {
            let keys = changing
                .in_graph()
                .map(CommitKey::InGraph)
                .chain(order.outside_graph());
            let later = keys.filter_map(|key| Some((order.rank(key)?, key)));
            self.next = later.filter(|(rank, _)| *rank > self.covered).collect();
            self.next
                .sort_unstable_by_key(|(rank, _)| std::cmp::Reverse(*rank));
            self.covered = order.visited();
            return Ok(true);
        }
        let found = loop {
            match order.visit_next(self.history, cancel) {
                Ok(Some(key)) if !changing.may_contain(key) => {}
                other => break other,
            }
        };
        self.covered = order.visited();
        let found = found?;
        self.next.extend(found.map(|key| (self.covered, key)));
        if order.is_long() {
            self.histories.uncache(&self.order);
        }
        Ok(found.is_some())
    }
}

#[cfg(test)]
mod tests;
