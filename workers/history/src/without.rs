//! A walk that excludes everything another commit reaches: `git log X..Y`.
//!
//! The exclusions are known only after both histories were walked, so the whole list is computed
//! before its first commit is shown. Git's rule ends the walk: when no interesting commit waits,
//! five more commits are visited, since a clock may have been wrong.

use std::collections::{HashMap, hash_map::Entry};

use archway_repo::Cancel;
use gix::ObjectId;

use super::HistoryError;
use super::steps::{Spot, Step};
use super::walk::Walk;

/// Reached from the excluded commit.
const UNWANTED: u8 = 2;
/// The excluded commit itself.
const EDGE: u8 = 4;

/// Commits visited after the last one that may be interesting. Git's `SLOP`.
const PATIENCE: u32 = 5;

/// The parents of every commit that was read, less those that the walk skipped.
type Read = HashMap<Spot, Vec<Spot>>;

impl Walk<'_> {
    /// All shown commits, the last one first.
    pub(super) fn list_without(
        &mut self,
        without: ObjectId,
        cancel: &Cancel,
    ) -> Result<Vec<Step>, HistoryError> {
        let edge = self.history.spot(without);
        let mut read = Read::new();
        self.frontier.join(edge)?;
        self.frontier.marks.add(edge, UNWANTED | EDGE);
        for spot in self.frontier.waiting().collect::<Vec<_>>() {
            read.insert(spot, self.history.step(spot)?.parents);
        }
        self.condemn_parents(edge, &mut read);
        let mut listed: Vec<Step> = Vec::new();
        let mut last = i64::MAX;
        let mut patience = PATIENCE;
        let mut wanted = None;
        while let Some(step) = self.frontier.take() {
            cancel.check()?;
            wanted = wanted.filter(|&spot| spot != step.spot);
            if self.plan.dates.ends_at(step.time) {
                self.frontier.marks.add(step.spot, UNWANTED);
            }
            let is_shown = self.enter(&step, &mut read, cancel)?;
            if self.frontier.marks.has(step.spot, UNWANTED) {
                self.condemn_parents(step.spot, &mut read);
                patience = self.patience_left(last, patience, &mut wanted);
                if patience == 0 {
                    break;
                }
            } else if self.plan.dates.shows(step.time) {
                last = step.time;
                if is_shown {
                    listed.push(step);
                }
            }
        }
        listed.retain(|step| !self.frontier.marks.has(step.spot, UNWANTED));
        listed.reverse();
        Ok(listed)
    }

    /// Queues a commit's parents. Returns whether the commit is shown, provided it is interesting.
    fn enter(
        &mut self,
        step: &Step,
        read: &mut Read,
        cancel: &Cancel,
    ) -> Result<bool, HistoryError> {
        for &parent in &step.parents {
            if let Entry::Vacant(unread) = read.entry(parent) {
                unread.insert(self.history.step(parent)?.parents);
            }
        }
        if self.frontier.marks.has(step.spot, UNWANTED) {
            for &parent in &step.parents {
                self.frontier.marks.add(parent, UNWANTED);
                self.condemn_parents(parent, read);
                self.frontier.join(parent)?;
            }
            return Ok(false);
        }
        let unwanted: Vec<Spot> = step
            .parents
            .iter()
            .copied()
            .filter(|&parent| self.frontier.marks.of(parent) & (UNWANTED | EDGE) == UNWANTED)
            .collect();
        let (parents, is_shown) =
            self.simplified(step, |parent| !unwanted.contains(&parent), cancel)?;
        for &parent in &parents {
            self.frontier.join(parent)?;
        }
        read.insert(step.spot, parents);
        Ok(is_shown)
    }

    /// Marks everything that `key` reaches, as far as it was read.
    fn condemn_parents(&mut self, spot: Spot, read: &mut Read) {
        let mut pending = read.get(&spot).cloned().unwrap_or_default();
        while let Some(next) = pending.pop() {
            if self.frontier.marks.add(next, UNWANTED)
                && let Some(parents) = read.get(&next)
            {
                pending.extend_from_slice(parents);
            }
        }
    }

    /// The number of commits that may still be visited without result. `interesting` caches a
    /// queued commit that is known to be interesting.
    fn patience_left(&self, last: i64, patience: u32, wanted: &mut Option<Spot>) -> u32 {
        let Some(next) = self.frontier.next_time() else {
            return 0;
        };
        if last <= next {
            return PATIENCE;
        }
        let is_wanted = |spot: &Spot| !self.frontier.marks.has(*spot, UNWANTED);
        *wanted = wanted
            .filter(is_wanted)
            .or_else(|| self.frontier.waiting().find(is_wanted));
        match wanted {
            Some(_) => PATIENCE,
            None => patience - 1,
        }
    }
}
