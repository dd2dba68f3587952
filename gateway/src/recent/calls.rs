//! The last calls, and where their time went. Kept only where an operator's page shows them.

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

/// How many calls are kept.
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
    /// Whose; names its tenant.
    pub(crate) who: Principal,
    /// The tool, or the method of what is no call.
    pub(crate) what: Arc<str>,
    /// As its caller named it.
    pub(crate) project: Option<Box<str>>,
    /// As in metrics.
    pub(crate) outcome: &'static str,
    pub(crate) took: Duration,
    pub(crate) marks: Marks,
    /// 32 hexadecimal digits.
    pub(crate) trace: String,
}

/// How long after it was received a call got how far, as far as it got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    /// Its limits were spent, its arguments checked, its record has a place.
    pub(crate) checked: Option<Duration>,
    /// It had a place among its tenant's calls.
    pub(crate) admitted: Option<Duration>,
    /// The worker had answered.
    pub(crate) answered: Option<Duration>,
}

/// How the time of a call is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shares {
    /// Limits, the record's place, arguments.
    pub(crate) checks: Duration,
    /// Waiting for a place.
    pub(crate) queue: Duration,
    /// At the worker, the way there and all tries included.
    pub(crate) worker: Duration,
    /// Making the answer of what the worker said.
    pub(crate) answer: Duration,
}

impl RecentCalls {
    /// Keeps calls from now on.
    pub(crate) fn keep(&self) {
        self.kept.store(true, Relaxed);
    }

    /// Whether calls are kept: otherwise what is told of one is told for nothing.
    pub(crate) fn are_kept(&self) -> bool {
        self.kept.load(Relaxed)
    }

    /// Keeps one, and forgets the oldest for it.
    pub(crate) fn add(&self, call: RecentCall) {
        let mut calls = self.calls.lock();
        if calls.len() >= MOST {
            calls.pop_front();
        }
        calls.push_back(call);
    }

    /// The last calls, the youngest first.
    pub(crate) fn all(&self) -> Vec<RecentCall> {
        self.calls.lock().iter().rev().cloned().collect()
    }
}

impl Marks {
    /// Divides the time of a call that took so long. What it did not get to took no time; all of it
    /// belongs to the last stop that it got to.
    pub(crate) fn shares(self, took: Duration) -> Shares {
        let checked = self.checked.unwrap_or(took).min(took);
        let admitted = self.admitted.map_or(took, |at| at.clamp(checked, took));
        let answered = self.answered.map_or(took, |at| at.clamp(admitted, took));
        Shares {
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
            marks: Marks::default(),
            trace: String::new(),
        }
    }

    #[test]
    fn the_youngest_are_kept_and_told_first() {
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
    fn a_call_that_waited_in_vain_spent_its_time_in_the_queue() {
        let ms = Duration::from_millis;
        let marks = Marks {
            checked: Some(ms(2)),
            ..Marks::default()
        };
        let shares = Shares {
            checks: ms(2),
            queue: ms(8),
            worker: ms(0),
            answer: ms(0),
        };
        assert_eq!(marks.shares(ms(10)), shares);
    }

    proptest! {
        #[test]
        fn shares_add_up_whatever_the_marks(took: u32, marks: [Option<u32>; 3]) {
            let [checked, admitted, answered] =
                marks.map(|mark| mark.map(|micros| Duration::from_micros(micros.into())));
            let took = Duration::from_micros(took.into());
            let shares = Marks { checked, admitted, answered }.shares(took);
            prop_assert_eq!(shares.checks + shares.queue + shares.worker + shares.answer, took);
        }
    }
}
