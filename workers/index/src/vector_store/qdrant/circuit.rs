//! The circuit breaker of Qdrant: an unreachable server would cost each call its deadline.
//!
//! A request without an answer is no proof of an outage, since the request itself may be too
//! expensive. Three in a row are. The circuit then stays open for 1 s, and one probe a second
//! follows until the server answers.

use std::time::Duration;

use archway_resilience::{Breaker, FailuresInARow, Settings};

/// Requests in a row without an answer that open the circuit.
const UNANSWERED_TO_OPEN: u32 = 3;
/// How long the circuit stays open, and how long a probe holds back the next one: requests have
/// deadlines of many seconds.
const OPEN_TIME: Duration = Duration::from_secs(1);

const SETTINGS: Settings = Settings {
    first_open_time: OPEN_TIME,
    longest_open_time: OPEN_TIME,
    probes: 1,
    probe_wait: OPEN_TIME,
    longest_probe: Some(OPEN_TIME),
};

/// The circuit breaker of one server.
pub(super) type CircuitBreaker = Breaker<FailuresInARow<UNANSWERED_TO_OPEN>>;

/// A closed circuit.
pub(super) fn circuit_breaker() -> CircuitBreaker {
    Breaker::new(&SETTINGS, |_state, _open_time| {})
}

#[cfg(test)]
mod tests {
    use archway_resilience::Outcome;
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn three_unanswered_requests_in_a_row_or_one_outage_open_it() {
        let breaker = circuit_breaker();
        let end = |outcome| breaker.admit().unwrap().settle(outcome);
        for _ in 0..4 {
            (0..2).for_each(|_| end(Outcome::Failure));
            end(Outcome::Success);
        }
        (0..3).for_each(|_| end(Outcome::Failure));
        assert!(breaker.is_refusing());
        advance(OPEN_TIME).await;
        end(Outcome::Success);
        end(Outcome::Outage);
        assert!(breaker.is_refusing());
    }

    #[tokio::test(start_paused = true)]
    async fn an_unreachable_server_gets_one_probe_a_second() {
        let breaker = circuit_breaker();
        breaker.admit().unwrap().settle(Outcome::Outage);
        let mut probes = Vec::new();
        for _ in 0..3 {
            assert!(breaker.is_refusing());
            advance(OPEN_TIME).await;
            assert!(!breaker.is_refusing());
            probes.push(breaker.admit().unwrap());
        }
        probes.swap_remove(0).settle(Outcome::Success);
        assert!(!breaker.is_refusing(), "an answer closes it, however late");
    }
}
