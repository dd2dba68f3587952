//! Merge bases: the best common ancestors of two commits.

use std::collections::BinaryHeap;

use archway_repo::Cancel;
use gix::ObjectId;

use super::steps::{Marks, Spot, Step};
use super::{History, HistoryError};

/// Reachable from the first commit, or from the second. The flags are git's.
const ONE: u8 = 1;
const OTHER: u8 = 2;
/// An ancestor of a common ancestor.
const BEHIND: u8 = 4;
/// Recorded as a common ancestor.
const FOUND: u8 = 8;
const BOTH: u8 = ONE | OTHER;

impl History {
    /// The best common ancestors of `one` and `other`: all other common ancestors are reachable
    /// from them. Empty if the histories are unrelated. A commit is its own ancestor.
    ///
    /// # Errors
    /// If a commit can't be read, or the call has to stop.
    pub(super) fn common(
        &self,
        one: ObjectId,
        other: ObjectId,
        cancel: &Cancel,
    ) -> Result<Vec<ObjectId>, HistoryError> {
        let mut marks = Marks::new(self);
        let mut queue = BinaryHeap::new();
        // Queued commits that are not stale. At 0, all results are found.
        let mut open = 0_usize;
        let mut found: Vec<Spot> = Vec::new();
        for (id, bit) in [(one, ONE), (other, OTHER)] {
            let spot = self.spot(id);
            marks.add(spot, bit);
            queue.push(Waiting::of(self, spot, false)?);
            open += 1;
        }
        while open > 0
            && let Some(next) = queue.pop()
        {
            cancel.check()?;
            open -= usize::from(!next.is_behind);
            let spot = next.step.spot;
            let mut bits = marks.of(spot) & (BOTH | BEHIND);
            if bits & BOTH == BOTH {
                if bits & BEHIND == 0 && marks.add(spot, FOUND) {
                    found.push(spot);
                }
                bits |= BEHIND;
            }
            for parent in next.step.parents {
                if marks.add(parent, bits) {
                    let waiting = Waiting::of(self, parent, bits & BEHIND != 0)?;
                    open += usize::from(!waiting.is_behind);
                    queue.push(waiting);
                }
            }
        }
        found.retain(|&spot| !marks.has(spot, BEHIND));
        Ok(found.into_iter().map(|spot| self.id_of(spot)).collect())
    }
}

/// A queued commit; the youngest is visited first.
struct Waiting {
    step: Step,
    is_behind: bool,
}

impl Waiting {
    fn of(history: &History, spot: Spot, is_behind: bool) -> Result<Waiting, HistoryError> {
        let step = history.step(spot)?;
        Ok(Waiting { step, is_behind })
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Waiting) -> bool {
        self.step.time == other.step.time
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Waiting) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Waiting) -> std::cmp::Ordering {
        self.step.time.cmp(&other.step.time)
    }
}
