//! Merge bases: the best common ancestors of two commits.

use std::collections::BinaryHeap;

use archway_repo::Cancel;
use gix::ObjectId;

use super::walk_node::{CommitKey, Flags, WalkNode};
use super::{History, HistoryError};

/// Reachable from the first commit, or from the second. The flags are git's.
const PARENT1: u8 = 1;
const PARENT2: u8 = 2;
/// An ancestor of a common ancestor.
const STALE: u8 = 4;
/// Recorded as a common ancestor.
const RESULT: u8 = 8;
const BOTH_PARENTS: u8 = PARENT1 | PARENT2;

impl History {
    /// The best common ancestors of `one` and `other`: all other common ancestors are reachable
    /// from them. Empty if the histories are unrelated. A commit is its own ancestor.
    ///
    /// # Errors
    /// If a commit can't be read, or the call has to stop.
    pub(super) fn merge_bases(
        &self,
        one: ObjectId,
        other: ObjectId,
        cancel: &Cancel,
    ) -> Result<Vec<ObjectId>, HistoryError> {
        let mut flags = Flags::new(self);
        let mut queue = BinaryHeap::new();
        // Queued commits that are not stale. At 0, all results are found.
        let mut fresh = 0_usize;
        let mut results: Vec<CommitKey> = Vec::new();
        for (id, bit) in [(one, PARENT1), (other, PARENT2)] {
            let key = self.commit_key(id);
            flags.add(key, bit);
            queue.push(QueuedCommit::of(self, key, false)?);
            fresh += 1;
        }
        while fresh > 0
            && let Some(next) = queue.pop()
        {
            cancel.check()?;
            fresh -= usize::from(!next.is_stale);
            let key = next.node.key;
            let mut bits = flags.of(key) & (BOTH_PARENTS | STALE);
            if bits & BOTH_PARENTS == BOTH_PARENTS {
                if bits & STALE == 0 && flags.add(key, RESULT) {
                    results.push(key);
                }
                bits |= STALE;
            }
            for parent in next.node.parents {
                if flags.add(parent, bits) {
                    let queued = QueuedCommit::of(self, parent, bits & STALE != 0)?;
                    fresh += usize::from(!queued.is_stale);
                    queue.push(queued);
                }
            }
        }
        results.retain(|&key| !flags.has(key, STALE));
        Ok(results.into_iter().map(|key| self.id_of(key)).collect())
    }
}

/// A queued commit; the youngest is visited first.
struct QueuedCommit {
    node: WalkNode,
    is_stale: bool,
}

impl QueuedCommit {
    fn of(history: &History, key: CommitKey, is_stale: bool) -> Result<QueuedCommit, HistoryError> {
        let node = history.walk_node(key)?;
        Ok(QueuedCommit { node, is_stale })
    }
}

impl PartialEq for QueuedCommit {
    fn eq(&self, other: &QueuedCommit) -> bool {
        self.node.time == other.node.time
    }
}

impl Eq for QueuedCommit {}

impl PartialOrd for QueuedCommit {
    fn partial_cmp(&self, other: &QueuedCommit) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for QueuedCommit {
    fn cmp(&self, other: &QueuedCommit) -> std::cmp::Ordering {
        self.node.time.cmp(&other.node.time)
    }
}
