//! A walk that excludes everything another commit reaches: `git log X..Y`.
//!
//! The exclusions are known only after both histories were walked, so the whole list is computed
//! before its first commit is shown. Git's rule ends the walk: when no interesting commit waits,
//! five more commits are visited, since a clock may have been wrong.

use std::collections::{HashMap, hash_map::Entry};

use archway_repo::Cancel;
use gix::ObjectId;

use super::HistoryError;
use super::walk::LogWalk;
use super::walk_node::{CommitKey, WalkNode};

/// Reached from the excluded commit.
const UNINTERESTING: u8 = 2;
/// The excluded commit itself.
const EXCLUDED_TIP: u8 = 4;

/// Commits visited after the last one that may be interesting. Git's `SLOP`.
const SLOP: u32 = 5;

/// The parents of every commit that was read, less those that the walk skipped.
type ParentTable = HashMap<CommitKey, Vec<CommitKey>>;

impl LogWalk<'_> {
    /// All shown commits, the last one first.
    pub(super) fn list_excluding(
        &mut self,
        excluded: ObjectId,
        cancel: &Cancel,
    ) -> Result<Vec<WalkNode>, HistoryError> {
        let excluded_tip = self.history.commit_key(excluded);
        let mut read = ParentTable::new();
        self.frontier.push(excluded_tip)?;
        self.frontier
            .flags
            .add(excluded_tip, UNINTERESTING | EXCLUDED_TIP);
        for key in self.frontier.queued().collect::<Vec<_>>() {
            read.insert(key, self.history.walk_node(key)?.parents);
        }
        self.mark_ancestors(excluded_tip, &mut read);
        let mut shown: Vec<WalkNode> = Vec::new();
        let mut last = i64::MAX;
        let mut slop = SLOP;
        let mut interesting = None;
        while let Some(node) = self.frontier.pop() {
            cancel.check()?;
            interesting = interesting.filter(|&key| key != node.key);
            if self.plan.dates.excludes(node.time) {
                self.frontier.flags.add(node.key, UNINTERESTING);
            }
            let is_shown = self.visit(&node, &mut read, cancel)?;
            if self.frontier.flags.has(node.key, UNINTERESTING) {
                self.mark_ancestors(node.key, &mut read);
                slop = self.slop_left(last, slop, &mut interesting);
                if slop == 0 {
                    break;
                }
            } else if self.plan.dates.shows(node.time) {
                last = node.time;
                if is_shown {
                    shown.push(node);
                }
            }
        }
        shown.retain(|node| !self.frontier.flags.has(node.key, UNINTERESTING));
        shown.reverse();
        Ok(shown)
    }

    /// Queues a commit's parents. Returns whether the commit is shown, provided it is interesting.
    fn visit(
        &mut self,
        node: &WalkNode,
        read: &mut ParentTable,
        cancel: &Cancel,
    ) -> Result<bool, HistoryError> {
        for &parent in &node.parents {
            if let Entry::Vacant(unread) = read.entry(parent) {
                unread.insert(self.history.walk_node(parent)?.parents);
            }
        }
        if self.frontier.flags.has(node.key, UNINTERESTING) {
            for &parent in &node.parents {
                self.frontier.flags.add(parent, UNINTERESTING);
                self.mark_ancestors(parent, read);
                self.frontier.push(parent)?;
            }
            return Ok(false);
        }
        let uninteresting: Vec<CommitKey> = node
            .parents
            .iter()
            .copied()
            .filter(|&parent| {
                self.frontier.flags.of(parent) & (UNINTERESTING | EXCLUDED_TIP) == UNINTERESTING
            })
            .collect();
        let (parents, is_shown) =
            self.simplify(node, |parent| !uninteresting.contains(&parent), cancel)?;
        for &parent in &parents {
            self.frontier.push(parent)?;
        }
        read.insert(node.key, parents);
        Ok(is_shown)
    }

    /// Marks everything that `key` reaches, as far as it was read.
    fn mark_ancestors(&mut self, key: CommitKey, read: &mut ParentTable) {
        let mut pending = read.get(&key).cloned().unwrap_or_default();
        while let Some(next) = pending.pop() {
            if self.frontier.flags.add(next, UNINTERESTING)
                && let Some(parents) = read.get(&next)
            {
                pending.extend_from_slice(parents);
            }
        }
    }

    /// The number of commits that may still be visited without result. `interesting` caches a
    /// queued commit that is known to be interesting.
    fn slop_left(&self, last: i64, slop: u32, interesting: &mut Option<CommitKey>) -> u32 {
        let Some(next) = self.frontier.next_time() else {
            return 0;
        };
        if last <= next {
            return SLOP;
        }
        let is_interesting = |key: &CommitKey| !self.frontier.flags.has(*key, UNINTERESTING);
        *interesting = interesting
            .filter(is_interesting)
            .or_else(|| self.frontier.queued().find(is_interesting));
        match interesting {
            Some(_) => SLOP,
            None => slop - 1,
        }
    }
}
