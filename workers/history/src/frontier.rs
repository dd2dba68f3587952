//! How far a walk came: the commits that were reached and not yet taken.
//!
//! The youngest is taken first; of two of one second the one that was reached first, as git does.
//! A frontier can be written down and taken up again by another worker, without all that was taken
//! before: as long as no commit is younger than one that it came from, what is older than the last
//! taken commit was never met. Where clocks were wrong that does not hold. Then nothing is written
//! down, or, if it shows only later, [`Frontier::is_lost`] says so and the walk has to begin anew.

use std::{cmp::Ordering, collections::BinaryHeap};

use gix::ObjectId;

use super::place::Stand;
use super::steps::{Marks, Spot, Step};
use super::{History, HistoryError};

/// It joined the frontier, and may have been taken.
const SEEN: u8 = 1;

/// How many commits a frontier that is written down has at most: a cursor has to stay short.
const MAX_WRITTEN: usize = 40;

/// The commits that were reached and not yet taken.
pub(super) struct Frontier<'a> {
    history: &'a History,
    queue: BinaryHeap<Reached>,
    joined: u64,
    /// Bit 0 is the frontier's, the others are the walk's.
    pub(super) marks: Marks,
    /// The commits that were taken last, all of one second.
    last: Option<(i64, Vec<Spot>)>,
    /// Those that were the last before these.
    before_last: Option<(i64, Vec<Spot>)>,
    /// No commit was taken after an older one.
    is_in_order: bool,
    /// What was taken last before the frontier was written down.
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

    /// The frontier that was written down.
    pub(super) fn resume(history: &'a History, stand: &Stand) -> Result<Self, HistoryError> {
        let mut frontier = Frontier::at(history, &stand.waiting)?;
        let taken: Vec<Spot> = stand.taken.iter().map(|&id| history.spot(id)).collect();
        frontier.last = Some((stand.time, taken.clone()));
        frontier.floor = Some((stand.time, taken));
        Ok(frontier)
    }

    /// Adds a commit, unless it was there before.
    pub(super) fn join(&mut self, spot: Spot) -> Result<(), HistoryError> {
        if self.is_seen(spot) {
            return Ok(());
        }
        let step = self.history.step(spot)?;
        self.join_step(step);
        Ok(())
    }

    /// [`Frontier::join`] of a commit that was read already.
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

    /// Gives back the commit that was taken last: it will be the next again.
    pub(super) fn give_back(&mut self, step: Step) {
        if let Some((_, taken)) = &mut self.last {
            taken.pop();
            if taken.is_empty() {
                self.last = self.before_last.take();
            }
        }
        self.queue.push(Reached { step, turn: 0 });
    }

    /// The youngest commit that waits.
    pub(super) fn next_time(&self) -> Option<i64> {
        self.queue.peek().map(|reached| reached.step.time)
    }

    /// All commits that wait, in no order.
    pub(super) fn waiting(&self) -> impl Iterator<Item = Spot> + '_ {
        self.queue.iter().map(|reached| reached.step.spot)
    }

    /// Whether a commit was met of which it can't be known whether it was taken before.
    pub(super) fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// What a later walk goes on from, if it can.
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
