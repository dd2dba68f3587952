//! What tests see of blocking work: how often it asks whether to go on, and how much it does in
//! between.
#![expect(clippy::unwrap_used, reason = "for the tests of other crates")]

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::Cancel;

/// Looks of one call, and of what it was cloned for.
#[derive(Clone, Debug, Default)]
pub(super) struct Looks(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    count: u64,
    /// At which look the call is cancelled; 0 is none.
    last: u64,
    /// What the thread had worked at the look before; `None` where that isn't measured.
    worked: Option<Duration>,
    longest: Duration,
}

impl Looks {
    pub(super) fn count(&self, token: &CancellationToken) {
        let mut state = self.0.lock();
        state.count += 1;
        state.measure();
        if state.count == state.last {
            token.cancel();
        }
    }
}

impl State {
    fn measure(&mut self) {
        if let Some(before) = self.worked {
            let now = worked();
            self.longest = self.longest.max(now - before);
            self.worked = Some(now);
        }
    }
}

impl Cancel {
    /// Cancelled at its look of this number, from 1.
    pub fn at_look(self, number: u64) -> Cancel {
        self.looks.0.lock().last = number;
        self
    }

    /// Measures what the calling thread does between two looks.
    pub fn measured(self) -> Cancel {
        self.looks.0.lock().worked = Some(worked());
        self
    }

    /// How many looks there were.
    pub fn looks(&self) -> u64 {
        self.looks.0.lock().count
    }

    /// The longest that was worked between two looks, or since the last.
    pub fn longest_work(&self) -> Duration {
        let mut state = self.looks.0.lock();
        state.measure();
        state.longest
    }
}

/// For how long this thread had a CPU: what others do on the same machine doesn't count.
fn worked() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    let nanoseconds = text.split(' ').next().unwrap();
    Duration::from_nanos(nanoseconds.parse().unwrap())
}
