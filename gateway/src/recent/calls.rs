//! The last calls and where their time went. Recorded only if an operator's page shows them.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, SystemTime},
};

use parking_lot::Mutex;

use crate::caller::Principal;

/// Calls in the list.
const MOST: usize = 200;

/// The last calls of all tenants.
#[derive(Debug, Default)]
pub(crate) struct RecentCalls {
    kept: AtomicBool,
    calls: Mutex<VecDeque<RecentCall>>,
}

/// A call that ended.
#[derive(Clone, Debug)]
pub(crate) struct RecentCall {
    pub(crate) ended: SystemTime,
    /// Its caller; names the tenant.
    pub(crate) who: Principal,
    /// The tool, or the method of a message that is no tool call.
    pub(crate) what: Arc<str>,
    /// As the caller named it.
    pub(crate) project: Option<Box<str>>,
    /// The label in metrics.
    pub(crate) outcome: &'static str,
    pub(crate) took: Duration,
    pub(crate) timings: CallTimings,
    /// 32 hexadecimal digits.
    pub(crate) trace: String,
}

/// When a call reached each stage, measured from when it was received; `None` for stages that it
/// did not reach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CallTimings {
    /// Limits were charged, arguments validated, and the audit slot taken.
    pub(crate) checked: Option<Duration>,
    /// The bulkhead and the circuits admitted it.
    pub(crate) admitted: Option<Duration>,
    /// The worker had answered.
    pub(crate) answered: Option<Duration>,
}

/// A call's time by stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimeShares {
    /// Limits, audit slot, arguments.
    pub(crate) checks: Duration,
    /// Waiting for a permit.
    pub(crate) queue: Duration,
    /// At the worker, including the way there and all attempts.
    pub(crate) worker: Duration,
    /// Building the answer from the worker's result.
    pub(crate) answer: Duration,
}

impl RecentCalls {
    /// Starts recording.
    pub(crate) fn keep(&self) {
        self.kept.store(true, Relaxed);
    }

    /// Whether calls are recorded; otherwise [`RecentCalls::add`] is pointless.
    pub(crate) fn are_kept(&self) -> bool {
        self.kept.load(Relaxed)
    }

    /// Adds a call and drops the oldest if the list is full.
    pub(crate) fn add(&self, call: RecentCall) {
        let mut calls = self.calls.lock();
        if calls.len() >= MOST {
            calls.pop_front();
        }
        calls.push_back(call);
    }

    /// The last calls, newest first.
    pub(crate) fn all(&self) -> Vec<RecentCall> {
        self.calls.lock().iter().rev().cloned().collect()
    }
}

impl CallTimings {
    /// Divides the duration `took`. Stages that the call did not reach took no time; the rest
    /// belongs to the last stage that it reached.
    pub(crate) fn shares(self, took: Duration) -> TimeShares {
        let checked = self.checked.unwrap_or(took).min(took);
        let admitted = self.admitted.map_or(took, |at| at.clamp(checked, took));
        let answered = self.answered.map_or(took, |at| at.clamp(admitted, took));
        TimeShares {
            checks: checked,
            queue: admitted - checked,
            worker: answered - admitted,
            answer: took - answered,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn call(what: &str) -> RecentCall {
        RecentCall {
            ended: SystemTime::UNIX_EPOCH,
            who: Principal::for_tests(&[], None),
            what: what.into(),
            project: None,
            outcome: "ok",
            took: Duration::ZERO,
            timings: CallTimings::default(),
            trace: String::new(),
        }
    }

    #[test]
    fn the_newest_calls_are_kept_and_listed_first() {
        let calls = RecentCalls::default();
        for number in 0..MOST + 5 {
            calls.add(call(&number.to_string()));
        }
        let all = calls.all();
        assert_eq!(all.len(), MOST);
        assert_eq!(&*all[0].what, (MOST + 4).to_string());
        assert_eq!(&*all[MOST - 1].what, "5");
    }

    #[test]
    fn a_call_without_a_permit_spent_its_time_in_the_queue() {
        let ms = Duration::from_millis;
        let timings = CallTimings {
            checked: Some(ms(2)),
            ..CallTimings::default()
        };
        let shares = TimeShares {
            checks: ms(2),
            queue: ms(8),
            worker: ms(0),
            answer: ms(0),
        };
        assert_eq!(timings.shares(ms(10)), shares);
    }

    proptest! {
        #[test]
        fn shares_add_up_whatever_the_marks(took: u32, timings: [Option<u32>; 3]) {
            let [checked, admitted, answered] =
                timings.map(|mark| mark.map(|micros| Duration::from_micros(micros.into())));
            let took = Duration::from_micros(took.into());
            let shares = CallTimings { checked, admitted, answered }.shares(took);
            prop_assert_eq!(shares.checks + shares.queue + shares.worker + shares.answer, took);
        }
    }
}
