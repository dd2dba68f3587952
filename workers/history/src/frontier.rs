//! The frontier of a walk: commits that were reached and not yet visited.
//!
//! The youngest comes first; among commits of one second the one that was reached first, as in git.
//! A frontier can be saved and resumed by another worker, without the list of visited commits: as
//! long as no commit is younger than its child, commits older than the last visited one are
//! unvisited. Wrong clocks break that. Then the frontier is not saved or, if it shows only after
//! resuming, [`Frontier::must_restart`] says so and the walk begins again.

use std::{cmp::Ordering, collections::BinaryHeap};

use gix::ObjectId;

use super::place::Stand;
use super::steps::{Marks, Spot, Step};
use super::{History, HistoryError};

/// The commit was queued, and may have been visited.
const SEEN: u8 = 1;

/// Maximum number of commits in a saved frontier: cursors have to stay short.
const MAX_WRITTEN: usize = 40;

/// The commits that were reached and not yet visited.
pub(super) struct Frontier<'a> {
    history: &'a History,
    queue: BinaryHeap<Reached>,
    joined: u64,
    /// Bit 0 is the frontier's, the others are the walk's.
    pub(super) marks: Marks,
    /// The commits that were visited last, all of one second.
    last: Option<(i64, Vec<Spot>)>,
    /// The group of one second before these.
    before_last: Option<(i64, Vec<Spot>)>,
    /// Whether no commit was visited after an older one.
    is_in_order: bool,
    /// The last visited commits at the time the frontier was saved.
    floor: Option<(i64, Vec<Spot>)>,
    is_lost: bool,
}

struct Reached {
    step: Step,
    turn: u64,
}

impl<'a> Frontier<'a> {
    /// The frontier of a walk that begins at `from`.
    pub(super) fn at(history: &'a History, from: &[ObjectId]) -> Result<Self, HistoryError> {
        let mut frontier = Frontier {
            history,
            queue: BinaryHeap::new(),
            joined: 0,
            marks: Marks::new(history),
            last: None,
            before_last: None,
            is_in_order: true,
            floor: None,
            is_lost: false,
        };
        for &id in from {
            frontier.join(history.spot(id))?;
        }
        Ok(frontier)
    }

    /// Resumes a saved frontier.
    pub(super) fn resume(history: &'a History, stand: &Stand) -> Result<Self, HistoryError> {
        let mut frontier = Frontier::at(history, &stand.waiting)?;
        let taken: Vec<Spot> = stand.taken.iter().map(|&id| history.spot(id)).collect();
        frontier.last = Some((stand.time, taken.clone()));
        frontier.floor = Some((stand.time, taken));
        Ok(frontier)
    }

    /// Queues a commit, unless it was queued before.
    pub(super) fn join(&mut self, spot: Spot) -> Result<(), HistoryError> {
        if self.is_seen(spot) {
            return Ok(());
        }
        let step = self.history.step(spot)?;
        self.join_step(step);
        Ok(())
    }

    /// [`Frontier::push`] for a commit that is already read.
    pub(super) fn join_step(&mut self, step: Step) {
        if !self.marks.add(step.spot, SEEN) {
            return;
        }
        if let Some((time, taken)) = &self.floor {
            self.is_lost |= step.time > *time;
            if step.time == *time && taken.contains(&step.spot) {
                return;
            }
        }
        self.joined += 1;
        let turn = self.joined;
        self.queue.push(Reached { step, turn });
    }

    pub(super) fn is_seen(&self, spot: Spot) -> bool {
        self.marks.has(spot, SEEN)
    }

    /// Takes the next commit.
    pub(super) fn take(&mut self) -> Option<Step> {
        let step = self.queue.pop()?.step;
        match &mut self.last {
            Some((time, taken)) if *time == step.time => taken.push(step.spot),
            last => {
                self.is_in_order &= last.as_ref().is_none_or(|(time, _)| *time > step.time);
                self.before_last = last.replace((step.time, vec![step.spot]));
            }
        }
        Some(step)
    }

    /// Returns the commit that was taken last: it becomes the next again.
    pub(super) fn give_back(&mut self, step: Step) {
        if let Some((_, taken)) = &mut self.last {
            taken.pop();
            if taken.is_empty() {
                self.last = self.before_last.take();
            }
        }
        self.queue.push(Reached { step, turn: 0 });
    }

    /// Time of the youngest queued commit.
    pub(super) fn next_time(&self) -> Option<i64> {
        self.queue.peek().map(|reached| reached.step.time)
    }

    /// All queued commits, in no order.
    pub(super) fn waiting(&self) -> impl Iterator<Item = Spot> + '_ {
        self.queue.iter().map(|reached| reached.step.spot)
    }

    /// Whether the walk met a commit that the saved walk may have visited already.
    pub(super) fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// The state to resume from. `None` if it is too long, or clocks were out of order.
    pub(super) fn written(&self) -> Option<Stand> {
        let (time, taken) = self.last.as_ref()?;
        let is_short = self.queue.len() + taken.len() <= MAX_WRITTEN;
        if !is_short || !self.is_in_order || self.is_lost {
            return None;
        }
        let mut waiting: Vec<&Reached> = self.queue.iter().collect();
        waiting.sort_unstable_by(|a, b| b.cmp(a));
        let id = |spot| self.history.id_of(spot);
        Some(Stand {
            time: *time,
            taken: taken.iter().map(|&spot| id(spot)).collect(),
            waiting: waiting
                .into_iter()
                .map(|reached| id(reached.step.spot))
                .collect(),
        })
    }
}

impl Ord for Reached {
    fn cmp(&self, other: &Reached) -> Ordering {
        let time = self.step.time.cmp(&other.step.time);
        time.then_with(|| other.turn.cmp(&self.turn))
    }
}

impl PartialOrd for Reached {
    fn partial_cmp(&self, other: &Reached) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Reached {
    fn eq(&self, other: &Reached) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Reached {}
