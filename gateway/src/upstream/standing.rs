//! How a worker stands, and in which life of its connection: one number, changed by whoever learns
//! something first.
//!
//! Many calls find out at once that their worker is gone, and so does the watch of its health. The
//! epoch tells what is news from what is old: a loss counts only in the life in which the call
//! began, so that none speaks against the connection that was made since, and one of them logs it.

use std::sync::atomic::{AtomicU64, Ordering};

/// Epochs are counted for the process: no two lives of connections have the same.
static EPOCHS: AtomicU64 = AtomicU64::new(1);
const STATE_BITS: u32 = 2;

/// What is known of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It was not heard of yet.
    Starting = 0,
    /// It takes calls.
    Ready = 1,
    /// It is about to end, and said so.
    Draining = 2,
    /// It can't be reached.
    Away = 3,
}

impl State {
    pub(crate) const ALL: [State; 4] =
        [State::Starting, State::Ready, State::Draining, State::Away];

    /// The word in metrics and status.
    pub(crate) fn name(self) -> &'static str {
        match self {
            State::Starting => "starting",
            State::Ready => "ready",
            State::Draining => "draining",
            State::Away => "away",
        }
    }
}

/// A worker's state and epoch.
#[derive(Debug)]
pub(super) struct Standing(AtomicU64);

impl Standing {
    pub(super) fn new() -> Self {
        Standing(AtomicU64::new(packed(next_epoch(), State::Starting)))
    }

    pub(super) fn state(&self) -> State {
        unpacked(self.0.load(Ordering::Acquire)).1
    }

    /// Which life of the connection this is.
    pub(super) fn epoch(&self) -> u64 {
        unpacked(self.0.load(Ordering::Acquire)).0
    }

    /// The connection of this epoch was lost. How the worker stood before, if that is news: then it
    /// is away, and the next epoch began.
    pub(super) fn lose(&self, epoch: u64) -> Option<State> {
        let changed = self
            .0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |held| {
                let (current, state) = unpacked(held);
                let connected = matches!(state, State::Ready | State::Draining);
                (current == epoch && connected).then(|| packed(next_epoch(), State::Away))
            });
        changed.ok().map(|before| unpacked(before).1)
    }

    /// The worker said in this epoch how it stands. How it stood before, if that is news.
    pub(super) fn hear(&self, epoch: u64, said: State) -> Option<State> {
        let changed = self
            .0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |held| {
                let (current, state) = unpacked(held);
                (current == epoch && state != said).then(|| packed(epoch, said))
            });
        changed.ok().map(|before| unpacked(before).1)
    }
}

fn next_epoch() -> u64 {
    EPOCHS.fetch_add(1, Ordering::Relaxed)
}

fn packed(epoch: u64, state: State) -> u64 {
    epoch << STATE_BITS | state as u64
}

fn unpacked(held: u64) -> (u64, State) {
    let state = match held & ((1 << STATE_BITS) - 1) {
        0 => State::Starting,
        1 => State::Ready,
        2 => State::Draining,
        _ => State::Away,
    };
    (held >> STATE_BITS, state)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_is_news_once_and_ends_an_epoch() {
        let standing = Standing::new();
        let first = standing.epoch();
        assert_eq!(standing.lose(first), None, "it was never there");
        assert_eq!(standing.hear(first, State::Ready), Some(State::Starting));
        assert_eq!(standing.hear(first, State::Ready), None);
        assert_eq!(standing.lose(first), Some(State::Ready));
        assert_eq!(standing.lose(first), None, "many calls, one loss");
        assert_eq!(standing.state(), State::Away);

        let second = standing.epoch();
        assert_ne!(first, second);
        assert_eq!(
            standing.hear(first, State::Ready),
            None,
            "said in another life"
        );
        assert_eq!(standing.hear(second, State::Ready), Some(State::Away));
        assert_eq!(
            standing.lose(first),
            None,
            "nothing against the new connection"
        );
        assert_eq!(standing.hear(second, State::Draining), Some(State::Ready));
        assert_eq!(standing.lose(second), Some(State::Draining));
    }

    #[test]
    fn every_state_is_read_as_it_was_written() {
        for state in State::ALL {
            assert_eq!(unpacked(packed(u64::MAX >> STATE_BITS, state)).1, state);
        }
    }
}
