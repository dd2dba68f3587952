//! Where two histories meet: from which commits on all is reachable from both.

use std::collections::BinaryHeap;

use archway_repo::Cancel;
use gix::ObjectId;

use super::steps::{Marks, Spot, Step};
use super::{History, HistoryError};

/// Reachable from the one, or from the other.
const ONE: u8 = 1;
const OTHER: u8 = 2;
/// Behind a commit that is reachable from both.
const BEHIND: u8 = 4;
/// Noted as a place where both meet.
const FOUND: u8 = 8;
const BOTH: u8 = ONE | OTHER;

impl History {
    /// Commits that are reachable from `one` and from `other`, and from which all others that are
    /// can be reached; none if the two share nothing. A commit reaches itself.
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
        // How many of the queue are not behind what was found: with the last, all was found.
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

/// A commit that was reached; the youngest is looked at first.
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
