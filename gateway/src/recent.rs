//! What happened lately, for who operates the gateway: what was refused within a quarter of an hour,
//! by reason, and the last calls.
//!
//! Metrics say how much since the start; whoever asks why something does not work now wants to know
//! what it was just now. Both are bounded, and neither is kept across a restart.

pub(crate) use calls::{Marks, RecentCall, RecentCalls, Shares};
pub(crate) use refusals::{MINUTES, RefusalRow, Refusals};

mod calls;
mod refusals;
