//! What tests see of blocking work: how often it asks whether to go on, and how much it does in
//! between.
#![expect(clippy::unwrap_used, reason = "for the tests of other crates")]

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::Cancel;

/// CheckCounter of one call, and of what it was cloned for.
#[derive(Clone, Debug, Default)]
pub(super) struct CheckCounter(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    count: u64,
    /// At which look the call is cancelled; 0 is none.
    cancel_at: u64,
    /// What the thread had worked at the look before; `None` where that isn't measured.
    cpu_at_last: Option<Duration>,
    longest_gap: Duration,
}

impl CheckCounter {
    pub(super) fn count(&self, token: &CancellationToken) {
        let mut state = self.0.lock();
        state.count += 1;
        state.measure();
        if state.count == state.cancel_at {
            token.cancel();
        }
    }
}

impl State {
    fn measure(&mut self) {
        if let Some(before) = self.cpu_at_last {
            let now = cpu_time();
            self.longest_gap = self.longest_gap.max(now - before);
            self.cpu_at_last = Some(now);
        }
    }
}

impl Cancel {
    /// Cancelled at its look of this number, from 1.
    pub fn cancel_at_check(self, number: u64) -> Cancel {
        self.checks.0.lock().cancel_at = number;
        self
    }

    /// Measures what the calling thread does between two looks.
    pub fn measured(self) -> Cancel {
        self.checks.0.lock().cpu_at_last = Some(cpu_time());
        self
    }

    /// How many looks there were.
    pub fn checks(&self) -> u64 {
        self.checks.0.lock().count
    }

    /// The longest that was worked between two looks, or since the last.
    pub fn longest_gap(&self) -> Duration {
        let mut state = self.checks.0.lock();
        state.measure();
        state.longest_gap
    }
}

/// For how long this thread had a CPU: what others do on the same machine doesn't count.
fn cpu_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    let nanoseconds = text.split(' ').next().unwrap();
    Duration::from_nanos(nanoseconds.parse().unwrap())
}
