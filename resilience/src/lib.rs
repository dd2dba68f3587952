//! What Archway does about services that fail: circuits that stop calling them.
//!
//! Gateway and workers share this crate. It knows neither of them, and nothing of what is called.

mod breaker;
mod circuit;
mod failures_in_a_row;

pub use breaker::{Breaker, Permit};
pub use circuit::{Admission, Circuit, CircuitState, NotAdmitted, OpenRule, Settings};
pub use failures_in_a_row::{FailuresInARow, Outcome};
