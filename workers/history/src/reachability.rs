//! Finds out whether HEAD, a branch, a remote branch or a tag reaches a commit. Archway serves no
//! other commits.
//!
//! One walk starts at HEAD; a second one, from all references, runs only if the first misses. Most
//! requested commits are reachable from HEAD, and reading ten thousand references takes longer than
//! finding those. Both walks visit the newest commits first and resume where they stopped: later
//! calls reuse the visited commits of earlier ones, unless a reference moved or was deleted. A walk
//! stops early only if the commit-graph's generation numbers prove that it can't meet the target any
//! more. Commit times prove nothing.

use std::{
    collections::{BinaryHeap, HashSet},
    sync::{Arc, Weak},
};

use archway_repo::{Cancel, RepoError};
use gix::ObjectId;
use parking_lot::Mutex;

use super::tips::Tips;
use super::{Graph, History, HistoryError, Position};

/// Commits outside any commit-graph that a cached walk may hold. Larger walks are repeated by each
/// call until the project's graph is built.
const MAX_CACHED_OUTSIDE: usize = 200_000;

/// The reachability walks of one project, shared by calls.
pub(super) type SharedReachability = Arc<Mutex<ReachabilityWalks>>;

#[derive(Debug, Default)]
pub(super) struct ReachabilityWalks {
    tips: Tips,
    from_head: ReachabilityWalk,
    from_all: ReachabilityWalk,
}

/// A resumable walk from the tips.
#[derive(Debug, Default)]
struct ReachabilityWalk {
    /// The commits and tags from which it walks, as references name them.
    tips: HashSet<ObjectId>,
    /// The graph that positions refer to. Weak, because the cache of graphs accounts for its bytes:
    /// an idle walk must not keep it in memory.
    graph: Weak<Graph>,
    /// Visited commits of the graph, one bit for each position.
    visited: Vec<u64>,
    /// Visited commits outside the graph.
    others: HashSet<ObjectId>,
    /// Visited commits whose parents are not visited yet.
    queue: BinaryHeap<QueuedCommit>,
}

/// A commit whose parents are not visited yet. The greatest is visited next.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct QueuedCommit {
    /// Greater than the generation of any ancestor; `u64::MAX` if its own is unknown.
    generation: u64,
    time: i64,
    parents: Parents,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Parents {
    /// The parents of the commit at this graph position.
    InGraph(Position),
    /// The parents of a commit outside the graph, as read.
    Read(Vec<ObjectId>),
}

impl History {
    /// Those of `commits` that HEAD, a branch or a tag reaches, in their order.
    ///
    /// # Errors
    /// If references or commits can't be read, or the call has to stop.
    pub(super) fn reachable(
        &self,
        commits: &[ObjectId],
        cancel: &Cancel,
    ) -> Result<Vec<ObjectId>, HistoryError> {
        let shared = self.cache.reachability();
        let mut walks = cancel.lock(&shared)?;
        let head = self.head.into_iter().collect();
        let mut reached = walks.from_head.reached_from(commits, head, self, cancel)?;
        if reached.len() < commits.len() {
            let tips = walks.tips.current(&self.git, cancel)?;
            let tips = tips.iter().copied().chain(self.head).collect();
            reached = walks.from_all.reached_from(commits, tips, self, cancel)?;
        }
        Ok(reached)
    }
}

impl ReachabilityWalk {
    /// Those of `commits` that `tips` reach.
    fn reached_from(
        &mut self,
        commits: &[ObjectId],
        tips: HashSet<ObjectId>,
        history: &History,
        cancel: &Cancel,
    ) -> Result<Vec<ObjectId>, HistoryError> {
        self.set_tips(history, tips, cancel)?;
        let mut reached = Vec::new();
        for &commit in commits {
            if self.visits(history, commit, cancel)? {
                reached.push(commit);
            }
        }
        if self.others.len() > MAX_CACHED_OUTSIDE {
            *self = ReachabilityWalk::default();
        }
        Ok(reached)
    }

    /// Makes this a walk from `tips`. Keeps the current walk if its tips are a subset of them.
    fn set_tips(
        &mut self,
        history: &History,
        tips: HashSet<ObjectId>,
        cancel: &Cancel,
    ) -> Result<(), HistoryError> {
        let is_same_graph = std::ptr::eq(self.graph.as_ptr(), history.graph());
        if !is_same_graph || !self.tips.is_subset(&tips) {
            *self = ReachabilityWalk {
                graph: Arc::downgrade(&history.graph),
                visited: vec![0; history.graph.len().div_ceil(64)],
                ..ReachabilityWalk::default()
            };
        }
        for tip in tips {
            if self.tips.contains(&tip) {
                continue;
            }
            match self.add_tip(history, tip, cancel) {
                Ok(()) => _ = self.tips.insert(tip),
                Err(stopped @ HistoryError::Repo(RepoError::Stopped(_))) => return Err(stopped),
                // A damaged reference reaches nothing, and must not hide the others. The next call
                // retries it.
                Err(_source_names_objects) => {}
            }
        }
        Ok(())
    }

    fn add_tip(
        &mut self,
        history: &History,
        tip: ObjectId,
        cancel: &Cancel,
    ) -> Result<(), HistoryError> {
        match history.peel(tip, cancel)? {
            Some(commit) => self.enqueue(history, commit),
            None => Ok(()),
        }
    }

    /// Walks until it visits `commit`, or knows that it never will.
    fn visits(
        &mut self,
        history: &History,
        commit: ObjectId,
        cancel: &Cancel,
    ) -> Result<bool, HistoryError> {
        let graph = history.graph();
        let position = graph.find(&commit);
        // All commits to be visited later have a smaller generation than the next one.
        let generation = position.and_then(|position| generation(graph, position));
        loop {
            cancel.check()?;
            if self.has_visited(commit, position) {
                return Ok(true);
            }
            match self.queue.peek() {
                None => return Ok(false),
                Some(next) if generation.is_some_and(|sought| next.generation <= sought) => {
                    return Ok(false);
                }
                Some(_) => self.visit_next(history)?,
            }
        }
    }

    fn has_visited(&self, commit: ObjectId, position: Option<Position>) -> bool {
        match position {
            Some(position) => {
                let (word, bit) = word_and_bit(position);
                self.visited.get(word).is_some_and(|word| word & bit != 0)
            }
            None => self.others.contains(&commit),
        }
    }

    /// Visits the next commit's parents. On an error the commit stays the next one.
    fn visit_next(&mut self, history: &History) -> Result<(), HistoryError> {
        let Some(next) = self.queue.pop() else {
            return Ok(());
        };
        let outcome = match &next.parents {
            Parents::InGraph(position) => {
                let graph = history.graph();
                for parent in graph.parents(*position) {
                    self.enqueue_in_graph(graph, parent);
                }
                Ok(())
            }
            Parents::Read(parents) => parents.iter().try_for_each(|id| self.enqueue(history, *id)),
        };
        if outcome.is_err() {
            self.queue.push(next);
        }
        outcome
    }

    fn enqueue_in_graph(&mut self, graph: &Graph, position: Position) {
        let (word, bit) = word_and_bit(position);
        let Some(word) = self.visited.get_mut(word) else {
            return;
        };
        if *word & bit == 0 {
            *word |= bit;
            self.queue.push(QueuedCommit {
                generation: generation(graph, position).unwrap_or(u64::MAX),
                time: graph.time(position),
                parents: Parents::InGraph(position),
            });
        }
    }

    fn enqueue(&mut self, history: &History, commit: ObjectId) -> Result<(), HistoryError> {
        let graph = history.graph();
        if let Some(position) = graph.find(&commit) {
            self.enqueue_in_graph(graph, position);
            return Ok(());
        }
        if self.others.contains(&commit) {
            return Ok(());
        }
        // A clone may lack commits, and then lacks their ancestors as well.
        let node = history.git.has_object(commit).then(|| history.node(commit));
        if let Some(node) = node.transpose()? {
            self.queue.push(QueuedCommit {
                generation: u64::MAX,
                time: node.time,
                parents: Parents::Read(node.parents),
            });
        }
        self.others.insert(commit);
        Ok(())
    }
}

/// `None` where the graph has no generation number.
fn generation(graph: &Graph, position: Position) -> Option<u64> {
    let generation = graph.generation(position);
    (generation > 0).then_some(generation)
}

/// The word that holds a position's bit, and the bit.
fn word_and_bit(position: Position) -> (usize, u64) {
    let index = position.index();
    (index / 64, 1 << (index % 64))
}
