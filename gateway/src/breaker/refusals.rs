//! What an agent is told when a call is not made: who is resting, why, and for how long.
//!
//! A tenant is never named here, and nothing says which other tenant's calls a circuit saw.

use archway_proto::{failure::Failure, fault::Fault};

use super::{bulkhead::NoPlace, circuits::CircuitOpen, whole_seconds};
use crate::metrics::Kind;

/// What a call without a place is told to wait: calls end every moment.
const RETRY_AFTER_SECONDS: u64 = 2;

/// A circuit is open.
pub(super) fn circuit_open(pool: &str, family: &str, open: &CircuitOpen) -> Failure {
    let (circuit, why) = match open.kind {
        Kind::Shared => (
            format!("{pool}/{family}"),
            "too many calls of them failed in the last seconds, for reasons that are in no call's \
             arguments",
        ),
        Kind::Tenant => (
            "tenant".to_owned(),
            "too many of your organisation's calls of them took too long",
        ),
    };
    let seconds = whole_seconds(open.refused.retry_after);
    let advice = match open.kind {
        Kind::Shared => "or use a tool of another family meanwhile",
        Kind::Tenant => "then ask for less at a time; tools of other families answer meanwhile",
    };
    Failure::new(
        Fault::CircuitOpen,
        format!("the tools of the family {family} are resting: {why}"),
        format!("wait {}, {advice}", in_words(seconds)),
    )
    .detail("retry_after_seconds", seconds)
    .detail("circuit", circuit)
    .detail("state", open.refused.state.name())
}

/// There is no place for the call.
pub(super) fn no_place(most: usize, why: NoPlace) -> Failure {
    let then = match why {
        NoPlace::Full => "and as many wait",
        NoPlace::Stalled => "and none of those that wait was begun for too long",
        NoPlace::Waited => "and none ended in time to begin this one",
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
