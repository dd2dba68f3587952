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
use super::steps::{Spot, Step};
use super::{Graph, History, HistoryError};
use index::Index;
use order::Order;

/// Number of cached orders per project: HEAD's, and those of other starting points.
const MAX_ORDERS: usize = 3;

/// The path histories of one project, for one graph and ledger.
pub(super) struct Courses {
    graph: Weak<Graph>,
    ledger: Weak<Ledger>,
    index: Index,
    /// By starting commits, the most recently used at the end.
    orders: Mutex<Vec<(Vec<ObjectId>, Shared)>>,
    commits: usize,
}

/// A walk order that calls extend together.
type Shared = Arc<Mutex<Order>>;

impl Courses {
    /// Builds the index. `None` without a ledger.
    ///
    /// # Errors
    /// If the call has to stop.
    pub(super) fn of(
        graph: &Arc<Graph>,
        ledger: &Arc<Ledger>,
        cancel: &Cancel,
    ) -> Result<Option<Courses>, Stopped> {
        if ledger.len() == 0 {
            return Ok(None);
        }
        Ok(Some(Courses {
            index: Index::of(graph, ledger, cancel)?,
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

    fn order(&self, history: &History, from: &[ObjectId]) -> Result<Shared, HistoryError> {
        let mut orders = self.orders.lock();
        let held = orders.iter().position(|(begin, _)| begin == from);
        let found = match held {
            Some(held) => orders.remove(held),
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
    fn forget(&self, order: &Shared) {
        let is_other = |held: &(Vec<ObjectId>, Shared)| !Arc::ptr_eq(&held.1, order);
        self.orders.lock().retain(is_other);
    }
}

/// The position of a file's log in a walk order.
pub(super) struct Course<'a> {
    history: &'a History,
    courses: Arc<Courses>,
    order: Shared,
    /// The rank of the commit that came last; 0 before the first.
    at: u32,
    /// The rank of the one before.
    before: u32,
    /// The file's name for which `next` was computed.
    path: Option<RepoPath>,
    /// The next commits with their ranks, the first at the end.
    next: Vec<(u32, Spot)>,
    /// The rank up to which `next` is complete.
    covered: u32,
}

impl<'a> Course<'a> {
    /// Path history of logs that begin at these commits, if the project has a ledger.
    ///
    /// # Errors
    /// If a commit can't be read, or the call has to stop.
    pub(super) fn from(
        history: &'a History,
        from: &[ObjectId],
        cancel: &Cancel,
    ) -> Result<Option<Course<'a>>, HistoryError> {
        let courses = history
            .kept()
            .courses(&history.graph, &history.ledger, cancel)?;
        let Some(courses) = courses else {
            return Ok(None);
        };
        Ok(Some(Course {
            history,
            order: courses.order(history, from)?,
            courses,
            at: 0,
            before: 0,
            path: None,
            next: Vec::new(),
            covered: 0,
        }))
    }

    /// Continues after `commit`. Returns false if the order lacks it.
    ///
    /// # Errors
    /// If a commit can't be read, or the call has to stop.
    pub(super) fn go_on_after(
        &mut self,
        commit: ObjectId,
        cancel: &Cancel,
    ) -> Result<bool, HistoryError> {
        let spot = self.history.spot(commit);
        let order = Arc::clone(&self.order);
        let mut order = cancel.lock(&order)?;
        while order.turn(spot).is_none() {
            if order.take(self.history, cancel)?.is_none() {
                return Ok(false);
            }
        }
        self.at = order.turn(spot).unwrap_or_default();
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
    ) -> Result<Option<Step>, HistoryError> {
        if self.path.as_ref() != Some(path) {
            self.path = Some(path.clone());
            self.next.clear();
            self.covered = self.at;
        }
        while self.next.is_empty() {
            cancel.check()?;
            if !self.look_ahead(path, cancel)? {
                return Ok(None);
            }
        }
        let Some(&(turn, spot)) = self.next.last() else {
            return Ok(None);
        };
        let step = self.history.step(spot)?;
        self.next.pop();
        self.before = std::mem::replace(&mut self.at, turn);
        Ok(Some(step))
    }

    /// Returns the commit that came last: it becomes the next again.
    pub(super) fn give_back(&mut self) {
        self.at = self.before;
        self.path = None;
    }

    /// Finds more commits. Returns false at the end of history.
    fn look_ahead(&mut self, path: &RepoPath, cancel: &Cancel) -> Result<bool, HistoryError> {
        let courses = Arc::clone(&self.courses);
        let touching = courses.index.touching(self.history.ledger.number_of(path));
        let shared = Arc::clone(&self.order);
        let mut order = cancel.lock(&shared)?;
        if self.covered < order.taken() {
            let spots = touching.known().map(Spot::Known).chain(order.read());
            let later = spots.filter_map(|spot| Some((order.turn(spot)?, spot)));
            self.next = later.filter(|(turn, _)| *turn > self.covered).collect();
            self.next
                .sort_unstable_by_key(|(turn, _)| std::cmp::Reverse(*turn));
            self.covered = order.taken();
            return Ok(true);
        }
        let found = loop {
            match order.take(self.history, cancel) {
                Ok(Some(spot)) if !touching.may_have(spot) => {}
                other => break other,
            }
        };
        self.covered = order.taken();
        let found = found?;
        self.next.extend(found.map(|spot| (self.covered, spot)));
        if order.is_long() {
            self.courses.forget(&self.order);
        }
        Ok(found.is_some())
    }
}

#[cfg(test)]
mod tests;
