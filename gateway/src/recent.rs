//! Recent events, for operators: refusals of the last 15 minutes by reason, and the last calls.
//!
//! Metrics count from the start, but whoever asks why something does not work now needs what
//! happened just now. Both lists are bounded and lost at a restart.

pub(crate) use calls::{CallTimings, RecentCall, RecentCalls, TimeShares};
pub(crate) use refusals::{MINUTES, RefusalRow, Refusals};

mod calls;
mod refusals;
