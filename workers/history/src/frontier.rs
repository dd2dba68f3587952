//! The frontier of a walk: commits that were reached and not yet visited.
//!
//! The youngest comes first; among commits of one second the one that was reached first, as in git.
//! A frontier can be saved and resumed by another worker, without the list of visited commits: as
//! long as no commit is younger than its child, commits older than the last visited one are
//! unvisited. Wrong clocks break that. Then the frontier is not saved or, if it shows only after
//! resuming, [`Frontier::must_restart`] says so and the walk begins again.

use std::{cmp::Ordering, collections::BinaryHeap};

use gix::ObjectId;

use super::cursor::WalkState;
use super::walk_node::{CommitKey, Flags, WalkNode};
use super::{History, HistoryError};

/// The commit was queued, and may have been visited.
const SEEN: u8 = 1;

/// Maximum number of commits in a saved frontier: cursors have to stay short.
const MAX_SAVED: usize = 40;

/// The commits that were reached and not yet visited.
pub(super) struct Frontier<'a> {
    history: &'a History,
    queue: BinaryHeap<QueuedNode>,
    pushed: u64,
    /// Bit 0 is the frontier's, the others are the walk's.
    pub(super) flags: Flags,
    /// The commits that were visited last, all of one second.
    last: Option<(i64, Vec<CommitKey>)>,
    /// The group of one second before these.
    before_last: Option<(i64, Vec<CommitKey>)>,
    /// Whether no commit was visited after an older one.
    is_in_order: bool,
    /// The last visited commits at the time the frontier was saved.
    floor: Option<(i64, Vec<CommitKey>)>,
    must_restart: bool,
}

struct QueuedNode {
    node: WalkNode,
    order: u64,
}

impl<'a> Frontier<'a> {
    /// The frontier of a walk that begins at `from`.
    pub(super) fn starting_at(
        history: &'a History,
        from: &[ObjectId],
    ) -> Result<Self, HistoryError> {
        let mut frontier = Frontier {
            history,
            queue: BinaryHeap::new(),
            pushed: 0,
            flags: Flags::new(history),
            last: None,
            before_last: None,
            is_in_order: true,
            floor: None,
            must_restart: false,
        };
        for &id in from {
            frontier.push(history.commit_key(id))?;
        }
        Ok(frontier)
    }

    /// Resumes a saved frontier.
    pub(super) fn resume(history: &'a History, saved: &WalkState) -> Result<Self, HistoryError> {
        let mut frontier = Frontier::starting_at(history, &saved.queued)?;
        let visited: Vec<CommitKey> = saved
            .visited
            .iter()
            .map(|&id| history.commit_key(id))
            .collect();
        frontier.last = Some((saved.time, visited.clone()));
        frontier.floor = Some((saved.time, visited));
        Ok(frontier)
    }

    /// Queues a commit, unless it was queued before.
    pub(super) fn push(&mut self, key: CommitKey) -> Result<(), HistoryError> {
        if self.is_seen(key) {
            return Ok(());
        }
        let node = self.history.walk_node(key)?;
        self.push_node(node);
        Ok(())
    }

    /// [`Frontier::push`] for a commit that is already read.
    pub(super) fn push_node(&mut self, node: WalkNode) {
        if !self.flags.add(node.key, SEEN) {
            return;
        }
        if let Some((time, visited)) = &self.floor {
            self.must_restart |= node.time > *time;
            if node.time == *time && visited.contains(&node.key) {
                return;
            }
        }
        self.pushed += 1;
        let order = self.pushed;
        self.queue.push(QueuedNode { node, order });
    }

    pub(super) fn is_seen(&self, key: CommitKey) -> bool {
        self.flags.has(key, SEEN)
    }

    /// Takes the next commit.
    pub(super) fn pop(&mut self) -> Option<WalkNode> {
        let node = self.queue.pop()?.node;
        match &mut self.last {
            Some((time, visited)) if *time == node.time => visited.push(node.key),
            last => {
                self.is_in_order &= last.as_ref().is_none_or(|(time, _)| *time > node.time);
                self.before_last = last.replace((node.time, vec![node.key]));
            }
        }
        Some(node)
    }

    /// Returns the commit that was taken last: it becomes the next again.
    pub(super) fn put_back(&mut self, node: WalkNode) {
        if let Some((_, visited)) = &mut self.last {
            visited.pop();
            if visited.is_empty() {
                self.last = self.before_last.take();
            }
        }
        self.queue.push(QueuedNode { node, order: 0 });
    }

    /// Time of the youngest queued commit.
    pub(super) fn next_time(&self) -> Option<i64> {
        self.queue.peek().map(|next| next.node.time)
    }

    /// All queued commits, in no order.
    pub(super) fn queued(&self) -> impl Iterator<Item = CommitKey> + '_ {
        self.queue.iter().map(|next| next.node.key)
    }

    /// Whether the walk met a commit that the saved walk may have visited already.
    pub(super) fn must_restart(&self) -> bool {
        self.must_restart
    }

    /// The state to resume from. `None` if it is too long, or clocks were out of order.
    pub(super) fn state(&self) -> Option<WalkState> {
        let (time, visited) = self.last.as_ref()?;
        let is_short = self.queue.len() + visited.len() <= MAX_SAVED;
        if !is_short || !self.is_in_order || self.must_restart {
            return None;
        }
        let mut queued: Vec<&QueuedNode> = self.queue.iter().collect();
        queued.sort_unstable_by(|a, b| b.cmp(a));
        let id = |key| self.history.id_of(key);
        Some(WalkState {
            time: *time,
            visited: visited.iter().map(|&key| id(key)).collect(),
            queued: queued.into_iter().map(|next| id(next.node.key)).collect(),
        })
    }
}

impl Ord for QueuedNode {
    fn cmp(&self, other: &QueuedNode) -> Ordering {
        let time = self.node.time.cmp(&other.node.time);
        time.then_with(|| other.order.cmp(&self.order))
    }
}

impl PartialOrd for QueuedNode {
    fn partial_cmp(&self, other: &QueuedNode) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for QueuedNode {
    fn eq(&self, other: &QueuedNode) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for QueuedNode {}
