//! The circuit breaker of a service: five failures in a row open it, one probe closes it.

use std::time::Duration;

use archway_resilience::{Breaker, FailuresInARow, Settings};

use super::metrics::ServiceMetrics;

/// Consecutive failures that open the circuit. More than the attempts of one request, so that one
/// unlucky request cannot open it.
const FAILURES_TO_OPEN: u32 = 5;

const SETTINGS: Settings = Settings {
    first_open_time: Duration::from_secs(2),
    longest_open_time: Duration::from_secs(60),
    probes: 1,
    probe_wait: Duration::from_secs(1),
    // Each request has the service's timeout.
    longest_probe: None,
};

/// The circuit breaker of one service, shared by all its callers.
pub(super) type CircuitBreaker = Breaker<FailuresInARow<FAILURES_TO_OPEN>>;

/// A closed circuit. `open_message` is logged when it opens.
pub(super) fn circuit_breaker(
    metrics: ServiceMetrics,
    open_message: &'static str,
) -> CircuitBreaker {
    Breaker::new(&SETTINGS, move |state, open_time| {
        metrics.set_circuit_state(state.number());
        if let Some(open_time) = open_time {
            tracing::warn!(open_s = open_time.as_secs(), "{open_message}");
        }
    })
}

#[cfg(test)]
mod tests {
    use archway_resilience::Outcome;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn five_failures_in_a_row_open_the_circuit_for_two_seconds() {
        let breaker = circuit_breaker(ServiceMetrics::default(), "the service fails");
        let fail = || breaker.admit().unwrap().settle(Outcome::Failure);
        (0..4).for_each(|_| fail());
        breaker.admit().unwrap().settle(Outcome::Success);
        (0..4).for_each(|_| fail());
        assert!(!breaker.is_refusing());
        fail();
        let refused = breaker.admit().unwrap_err();
        assert_eq!(refused.retry_after, Duration::from_secs(2));
    }
}
