//! A worker's state and connection epoch in one atomic number, updated by whoever learns of a
//! change first.
//!
//! Many calls notice at once that their worker is gone, and so does its health watch. The epoch
//! tells new information from old: a loss counts only in the epoch in which the call began. It
//! never counts against a newer connection, and only one of the calls logs it.

use std::sync::atomic::{AtomicU64, Ordering};

/// Epochs are unique within the process.
static EPOCHS: AtomicU64 = AtomicU64::new(1);
const STATE_BITS: u32 = 2;

/// What is known of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorkerState {
    /// It has not reported yet.
    Starting = 0,
    /// It takes calls.
    Ready = 1,
    /// It announced its shutdown.
    Draining = 2,
    /// It is unreachable.
    Away = 3,
}

impl WorkerState {
    pub(crate) const ALL: [WorkerState; 4] = [
        WorkerState::Starting,
        WorkerState::Ready,
        WorkerState::Draining,
        WorkerState::Away,
    ];

    /// The label in metrics and status.
    pub(crate) fn name(self) -> &'static str {
        match self {
            WorkerState::Starting => "starting",
            WorkerState::Ready => "ready",
            WorkerState::Draining => "draining",
            WorkerState::Away => "away",
        }
    }
}

/// A worker's state and epoch.
#[derive(Debug)]
pub(super) struct StateCell(AtomicU64);

impl StateCell {
    pub(super) fn new() -> Self {
        StateCell(AtomicU64::new(packed(next_epoch(), WorkerState::Starting)))
    }

    pub(super) fn state(&self) -> WorkerState {
        unpacked(self.0.load(Ordering::Acquire)).1
    }

    /// The number of the current connection.
    pub(super) fn epoch(&self) -> u64 {
        unpacked(self.0.load(Ordering::Acquire)).0
    }

    /// Records the loss of this epoch's connection: the worker is unreachable, and the next epoch
    /// begins. Returns the previous state if that is a change.
    pub(super) fn record_loss(&self, epoch: u64) -> Option<WorkerState> {
        let changed = self
            .0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |held| {
                let (current, state) = unpacked(held);
                let connected = matches!(state, WorkerState::Ready | WorkerState::Draining);
                (current == epoch && connected).then(|| packed(next_epoch(), WorkerState::Away))
            });
        changed.ok().map(|before| unpacked(before).1)
    }

    /// Records the state that the worker reported in this epoch. Returns the previous state if it
    /// changed.
    pub(super) fn report(&self, epoch: u64, reported: WorkerState) -> Option<WorkerState> {
        let changed = self
            .0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |held| {
                let (current, state) = unpacked(held);
                (current == epoch && state != reported).then(|| packed(epoch, reported))
            });
        changed.ok().map(|before| unpacked(before).1)
    }
}

fn next_epoch() -> u64 {
    EPOCHS.fetch_add(1, Ordering::Relaxed)
}

fn packed(epoch: u64, state: WorkerState) -> u64 {
    epoch << STATE_BITS | state as u64
}

fn unpacked(held: u64) -> (u64, WorkerState) {
    let state = match held & ((1 << STATE_BITS) - 1) {
        0 => WorkerState::Starting,
        1 => WorkerState::Ready,
        2 => WorkerState::Draining,
        _ => WorkerState::Away,
    };
    (held >> STATE_BITS, state)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_is_a_change_once_and_ends_the_epoch() {
        let state_cell = StateCell::new();
        let first = state_cell.epoch();
        assert_eq!(state_cell.record_loss(first), None, "it never connected");
        assert_eq!(
            state_cell.report(first, WorkerState::Ready),
            Some(WorkerState::Starting)
        );
        assert_eq!(state_cell.report(first, WorkerState::Ready), None);
        assert_eq!(state_cell.record_loss(first), Some(WorkerState::Ready));
        assert_eq!(state_cell.record_loss(first), None, "many calls, one loss");
        assert_eq!(state_cell.state(), WorkerState::Away);

        let second = state_cell.epoch();
        assert_ne!(first, second);
        assert_eq!(
            state_cell.report(first, WorkerState::Ready),
            None,
            "reported in an earlier epoch"
        );
        assert_eq!(
            state_cell.report(second, WorkerState::Ready),
            Some(WorkerState::Away)
        );
        assert_eq!(
            state_cell.record_loss(first),
            None,
            "it does not count against the new connection"
        );
        assert_eq!(
            state_cell.report(second, WorkerState::Draining),
            Some(WorkerState::Ready)
        );
        assert_eq!(state_cell.record_loss(second), Some(WorkerState::Draining));
    }

    #[test]
    fn every_state_survives_packing() {
        for state in WorkerState::ALL {
            assert_eq!(unpacked(packed(u64::MAX >> STATE_BITS, state)).1, state);
        }
    }
}
