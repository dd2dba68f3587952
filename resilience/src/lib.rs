//! What Archway does about services that fail: circuits that stop calling them, buckets
//! that bound a rate, and limits on the log lines about them.
//!
//! Gateway and workers share this crate, and it depends on neither.

mod breaker;
mod bucket;
mod circuit;
mod failures_in_a_row;
mod log_limit;
mod outage;

pub use breaker::{Breaker, Permit};
pub use bucket::Bucket;
pub use circuit::{Admission, Circuit, CircuitState, NotAdmitted, OpenRule, Settings};
pub use failures_in_a_row::{FailuresInARow, Outcome};
pub use log_limit::LogLimit;
pub use outage::Outage;
