//! For tests: counts how often blocking work checks for cancellation, and measures the CPU time in
//! between.
#![expect(clippy::unwrap_used, reason = "for the tests of other crates")]

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::Cancel;

/// The checks of one call and of its clones.
#[derive(Clone, Debug, Default)]
pub(super) struct CheckCounter(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    count: u64,
    /// The check at which the call is cancelled; 0 means never.
    cancel_at: u64,
    /// The check from which on the deadline has passed; 0 means never.
    late_from: u64,
    /// The thread's CPU time at the last check; `None` if not measured.
    cpu_at_last: Option<Duration>,
    longest_gap: Duration,
}

impl CheckCounter {
    /// Counts a check. Returns whether the deadline passed before it.
    pub(super) fn count(&self, token: &CancellationToken) -> bool {
        let mut state = self.0.lock();
        state.count += 1;
        state.measure();
        if state.count == state.cancel_at {
            token.cancel();
        }
        state.late_from > 0 && state.count >= state.late_from
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
    /// Cancels the call at the check with this number, counted from 1.
    pub fn cancel_at_check(self, number: u64) -> Cancel {
        self.checks.0.lock().cancel_at = number;
        self
    }

    /// Lets the deadline pass before the check with this number, counted from 1.
    pub fn late_from_check(self, number: u64) -> Cancel {
        self.checks.0.lock().late_from = number;
        self
    }

    /// Measures the calling thread's CPU time between checks.
    pub fn measured(self) -> Cancel {
        self.checks.0.lock().cpu_at_last = Some(cpu_time());
        self
    }

    /// The number of checks.
    pub fn checks(&self) -> u64 {
        self.checks.0.lock().count
    }

    /// The longest CPU time between two checks, or since the last.
    pub fn longest_gap(&self) -> Duration {
        let mut state = self.checks.0.lock();
        state.measure();
        state.longest_gap
    }
}

/// This thread's CPU time, which other load on the machine does not affect.
fn cpu_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    let nanoseconds = text.split(' ').next().unwrap();
    Duration::from_nanos(nanoseconds.parse().unwrap())
}
