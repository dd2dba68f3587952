//! The circuit breaker of a service: closed (requests pass), open (requests are rejected),
//! half-open (one probe passes).
//!
//! A plain state machine behind a lock that is never held across an await. An admitted request
//! holds a [`Permit`]; dropping it without an outcome releases the probe and changes nothing else.
//! A request may end long after the circuit that admitted it opened or closed. Its permit then
//! carries an older epoch, and its outcome is ignored.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::Unavailable;
use super::metrics::ServiceMetrics;

/// Consecutive failures that open the circuit. More than the attempts of one request, so that one
/// unlucky request cannot open it.
const FAILURES_TO_OPEN: u32 = 5;
/// How long the circuit stays open the first time.
const MIN_OPEN: Duration = Duration::from_secs(2);
/// The open time doubles with each failed probe, up to this.
const MAX_OPEN: Duration = Duration::from_secs(60);
/// The `retry_after` of requests that arrive while a probe is in flight.
const PROBE_WAIT: Duration = Duration::from_secs(1);

/// The circuit breaker of one service, shared by all its callers.
pub(super) struct CircuitBreaker {
    circuit: Mutex<Circuit>,
    metrics: ServiceMetrics,
    /// Logged when the circuit opens.
    open_message: &'static str,
}

/// Admission of one request.
#[must_use]
pub(super) struct Permit<'a> {
    breaker: &'a CircuitBreaker,
    epoch: u64,
}

struct Circuit {
    phase: Phase,
    /// Incremented with each change of phase.
    epoch: u64,
    /// How long the circuit stays open next time.
    rest: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Closed { failures: u32 },
    Open { until: Instant },
    HalfOpen { probing: bool },
}

impl CircuitBreaker {
    /// A closed circuit.
    pub(super) fn new(metrics: ServiceMetrics, open_message: &'static str) -> Self {
        CircuitBreaker {
            circuit: Mutex::new(Circuit {
                phase: Phase::Closed { failures: 0 },
                epoch: 0,
                rest: MIN_OPEN,
            }),
            metrics,
            open_message,
        }
    }

    /// Admits a request, or returns when to retry.
    pub(super) fn admit(&self) -> Result<Permit<'_>, Unavailable> {
        let admitted = self.change(|circuit| circuit.admit(Instant::now()));
        let epoch = admitted.map_err(|retry_after| Unavailable::CircuitOpen { retry_after })?;
        Ok(Permit {
            breaker: self,
            epoch,
        })
    }

    /// Whether `admit` would reject a request now.
    pub(super) fn is_rejecting(&self) -> bool {
        match self.circuit.lock().phase {
            Phase::Closed { .. } | Phase::HalfOpen { probing: false } => false,
            Phase::HalfOpen { probing: true } => true,
            Phase::Open { until } => until > Instant::now(),
        }
    }

    fn change<T>(&self, change: impl FnOnce(&mut Circuit) -> T) -> T {
        let mut circuit = self.circuit.lock();
        let before = circuit.state();
        let changed = change(&mut circuit);
        let after = circuit.state();
        if before != after {
            // Under the lock, so that the gauge ends at the present state.
            self.metrics.set_circuit_state(after);
        }
        changed
    }
}

impl Permit<'_> {
    /// The request succeeded, or failed for reasons of its own.
    pub(super) fn passed(self) {
        let epoch = self.epoch;
        self.breaker.change(|circuit| circuit.passed(epoch));
    }

    /// The service failed.
    pub(super) fn failed(self) {
        let epoch = self.epoch;
        let now = Instant::now();
        let rest = self.breaker.change(|circuit| circuit.failed(epoch, now));
        if let Some(rest) = rest {
            tracing::warn!(rest_s = rest.as_secs(), "{}", self.breaker.open_message);
        }
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let epoch = self.epoch;
        self.breaker.change(|circuit| circuit.release_probe(epoch));
    }
}

impl Circuit {
    fn admit(&mut self, now: Instant) -> Result<u64, Duration> {
        match self.phase {
            Phase::Open { until } if until > now => return Err(until - now),
            Phase::Open { .. } => self.enter(Phase::HalfOpen { probing: true }),
            Phase::HalfOpen { probing: true } => return Err(PROBE_WAIT),
            Phase::HalfOpen { probing: false } => self.phase = Phase::HalfOpen { probing: true },
            Phase::Closed { .. } => {}
        }
        Ok(self.epoch)
    }

    fn passed(&mut self, epoch: u64) {
        if epoch != self.epoch {
            return;
        }
        match self.phase {
            Phase::Closed { .. } => self.phase = Phase::Closed { failures: 0 },
            Phase::HalfOpen { .. } => {
                self.rest = MIN_OPEN;
                self.enter(Phase::Closed { failures: 0 });
            }
            // Every valid permit is of an older epoch.
            Phase::Open { .. } => {}
        }
    }

    /// Returns how long the circuit stays open, if this failure opened it.
    fn failed(&mut self, epoch: u64, now: Instant) -> Option<Duration> {
        if epoch != self.epoch {
            return None;
        }
        if let Phase::Closed { failures } = self.phase
            && failures + 1 < FAILURES_TO_OPEN
        {
            let failures = failures + 1;
            self.phase = Phase::Closed { failures };
            return None;
        }
        let rest = self.rest;
        self.rest = (rest * 2).min(MAX_OPEN);
        self.enter(Phase::Open { until: now + rest });
        Some(rest)
    }

    fn release_probe(&mut self, epoch: u64) {
        if epoch == self.epoch && self.phase == (Phase::HalfOpen { probing: true }) {
            self.phase = Phase::HalfOpen { probing: false };
        }
    }

    fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        self.epoch += 1;
    }

    /// The value of the `circuit_state` metric.
    fn state(&self) -> i64 {
        match self.phase {
            Phase::Closed { .. } => 0,
            Phase::HalfOpen { .. } => 1,
            Phase::Open { .. } => 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    fn closed() -> CircuitBreaker {
        CircuitBreaker::new(ServiceMetrics::default(), "the service fails")
    }

    fn opened() -> CircuitBreaker {
        let breaker = closed();
        for _ in 0..FAILURES_TO_OPEN {
            breaker.admit().unwrap().failed();
        }
        breaker
    }

    fn state(breaker: &CircuitBreaker) -> i64 {
        breaker.circuit.lock().state()
    }

    fn wait(breaker: &CircuitBreaker) -> Duration {
        match breaker.admit().err() {
            Some(Unavailable::CircuitOpen { retry_after }) => retry_after,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn failures_in_a_row_open_it_and_one_success_between_them_does_not_let_it() {
        let breaker = closed();
        for _ in 0..3 {
            for _ in 1..FAILURES_TO_OPEN {
                breaker.admit().unwrap().failed();
            }
            breaker.admit().unwrap().passed();
        }
        assert_eq!(state(&breaker), 0);
        let breaker = opened();
        assert_eq!((state(&breaker), wait(&breaker)), (2, MIN_OPEN));
    }

    #[tokio::test(start_paused = true)]
    async fn after_its_rest_one_request_passes_and_its_success_closes_it() {
        let breaker = opened();
        advance(MIN_OPEN).await;
        let probe = breaker.admit().unwrap();
        assert_eq!((state(&breaker), wait(&breaker)), (1, PROBE_WAIT));
        probe.passed();
        assert_eq!(state(&breaker), 0);
        assert!(breaker.admit().is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn it_rests_longer_each_time_that_a_probe_fails_and_not_without_end() {
        let breaker = opened();
        let mut rest = MIN_OPEN;
        for _ in 0..10 {
            assert_eq!(wait(&breaker), rest);
            advance(rest).await;
            breaker.admit().unwrap().failed();
            rest = (rest * 2).min(MAX_OPEN);
        }
        assert_eq!(rest, MAX_OPEN);
        advance(rest).await;
        breaker.admit().unwrap().passed();
        for _ in 0..FAILURES_TO_OPEN {
            breaker.admit().unwrap().failed();
        }
        assert_eq!(wait(&breaker), MIN_OPEN);
    }

    #[tokio::test(start_paused = true)]
    async fn a_probe_that_is_dropped_lets_the_next_one_try() {
        let breaker = opened();
        advance(MIN_OPEN).await;
        drop(breaker.admit().unwrap());
        breaker.admit().unwrap().passed();
        assert_eq!(state(&breaker), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_ends_late_says_nothing_about_the_new_state() {
        let breaker = closed();
        let (slow, slower) = (breaker.admit().unwrap(), breaker.admit().unwrap());
        for _ in 0..FAILURES_TO_OPEN {
            breaker.admit().unwrap().failed();
        }
        slow.passed();
        assert_eq!(state(&breaker), 2, "an old success does not close it");
        advance(MIN_OPEN).await;
        let probe = breaker.admit().unwrap();
        slower.failed();
        assert_eq!(state(&breaker), 1, "an old failure does not open it");
        probe.passed();
        assert_eq!(state(&breaker), 0);
    }
}
