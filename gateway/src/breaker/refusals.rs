//! What agents read when a call is refused before it runs: what is unavailable, why, and for how
//! long.
//!
//! No tenant is named here, and nothing reveals whose calls a circuit counted.

use archway_proto::{failure::Failure, fault::Fault};

use super::{bulkhead::BulkheadRefusal, circuits::CircuitOpen, whole_seconds};
use crate::metrics::CircuitKind;

/// The wait stated to a call without a permit: calls end all the time.
const RETRY_AFTER_SECONDS: u64 = 2;

/// A circuit refused the call.
pub(super) fn circuit_open(pool: &str, family: &str, open: &CircuitOpen) -> Failure {
    let (circuit, why) = match open.kind {
        CircuitKind::Shared => (
            format!("{pool}/{family}"),
            "too many of their calls failed in the last seconds, for reasons that are not in the \
             calls' arguments",
        ),
        CircuitKind::Tenant => (
            "tenant".to_owned(),
            "too many of your organisation's calls of them took too long",
        ),
    };
    let seconds = whole_seconds(open.refused.retry_after);
    let advice = match open.kind {
        CircuitKind::Shared => "or use a tool of another family meanwhile",
        CircuitKind::Tenant => "then ask for less at a time; tools of other families still answer",
    };
    Failure::new(
        Fault::CircuitOpen,
        format!("the tools of the family {family} are paused: {why}"),
        format!("wait {}, {advice}", in_words(seconds)),
    )
    .detail("retry_after_seconds", seconds)
    .detail("circuit", circuit)
    .detail("state", open.refused.state.name())
}

/// The bulkhead refused the call.
pub(super) fn bulkhead_full(most: usize, why: BulkheadRefusal) -> Failure {
    let then = match why {
        BulkheadRefusal::Full => "and as many wait",
        BulkheadRefusal::Stalled => "and the queue has not moved for too long",
        BulkheadRefusal::Waited => "and none ended in time to start this one",
    };
    Failure::new(
        Fault::Unavailable,
        format!("{most} calls of your organisation are running here, {then}"),
        format!(
            "wait {} and try again, with fewer calls at a time",
            in_words(RETRY_AFTER_SECONDS)
        ),
    )
    .detail("retry_after_seconds", RETRY_AFTER_SECONDS)
    .detail("calls_at_a_time", most)
}

fn in_words(seconds: u64) -> String {
    match seconds {
        1 => "1 second".to_owned(),
        more => format!("{more} seconds"),
    }
}
