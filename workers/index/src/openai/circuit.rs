//! The circuit before the service: closed (requests pass), open (they are refused), half-open (one
//! passes, to see).
//!
//! A plain state machine behind a lock that is never held while somebody waits. Who is admitted
//! holds a [`Permit`]; dropped unsettled, it gives the place of a probe back and says nothing.
//! What a reader would get wrong: a request may end long after the circuit that admitted it opened
//! or closed. Its permit is of an older epoch then, and says nothing about the new one.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::Unasked;
use super::metrics::ServiceMetrics;

/// Failures in a row that open it: more than one request has attempts, so that one unlucky request
/// does not.
const MOST_FAILURES: u32 = 5;
/// How long it rests when it opens.
const FIRST_REST: Duration = Duration::from_secs(2);
/// The rest doubles while probes fail, up to this.
const LONGEST_REST: Duration = Duration::from_secs(60);
/// What those are told to wait who come while a probe is under way.
const PROBING: Duration = Duration::from_secs(1);

/// The circuit, for all who ask.
pub(super) struct Breaker {
    circuit: Mutex<Circuit>,
    metrics: ServiceMetrics,
    /// What the log says where it opens.
    meanwhile: &'static str,
}

/// One request's.
#[must_use]
pub(super) struct Permit<'a> {
    breaker: &'a Breaker,
    epoch: u64,
}

struct Circuit {
    phase: Phase,
    /// Counts the phases.
    epoch: u64,
    /// The next rest.
    rest: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Closed { failures: u32 },
    Open { until: Instant },
    HalfOpen { probed: bool },
}

impl Breaker {
    /// A closed one.
    pub(super) fn new(metrics: ServiceMetrics, meanwhile: &'static str) -> Self {
        Breaker {
            circuit: Mutex::new(Circuit {
                phase: Phase::Closed { failures: 0 },
                epoch: 0,
                rest: FIRST_REST,
            }),
            metrics,
            meanwhile,
        }
    }

    /// Lets a request through, or says after how long to come again.
    pub(super) fn admit(&self) -> Result<Permit<'_>, Unasked> {
        let admitted = self.change(|circuit| circuit.admit(Instant::now()));
        let epoch = admitted.map_err(|retry_after| Unasked::Resting { retry_after })?;
        Ok(Permit {
            breaker: self,
            epoch,
        })
    }

    /// Whether it would let nobody through now.
    pub(super) fn is_resting(&self) -> bool {
        match self.circuit.lock().phase {
            Phase::Closed { .. } | Phase::HalfOpen { probed: false } => false,
            Phase::HalfOpen { probed: true } => true,
            Phase::Open { until } => until > Instant::now(),
        }
    }

    fn change<T>(&self, change: impl FnOnce(&mut Circuit) -> T) -> T {
        let mut circuit = self.circuit.lock();
        let before = circuit.state();
        let changed = change(&mut circuit);
        let after = circuit.state();
        if before != after {
            // Under the lock, so that the last word is the present state.
            self.metrics.circuit(after);
        }
        changed
    }
}

impl Permit<'_> {
    /// The service did its part.
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
            tracing::warn!(rest_s = rest.as_secs(), "{}", self.breaker.meanwhile);
        }
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let epoch = self.epoch;
        self.breaker.change(|circuit| circuit.give_back(epoch));
    }
}

impl Circuit {
    fn admit(&mut self, now: Instant) -> Result<u64, Duration> {
        match self.phase {
            Phase::Open { until } if until > now => return Err(until - now),
            Phase::Open { .. } => self.enter(Phase::HalfOpen { probed: true }),
            Phase::HalfOpen { probed: true } => return Err(PROBING),
            Phase::HalfOpen { probed: false } => self.phase = Phase::HalfOpen { probed: true },
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
                self.rest = FIRST_REST;
                self.enter(Phase::Closed { failures: 0 });
            }
            // All permits are older.
            Phase::Open { .. } => {}
        }
    }

    /// Returns how long it rests, if this opened it.
    fn failed(&mut self, epoch: u64, now: Instant) -> Option<Duration> {
        if epoch != self.epoch {
            return None;
        }
        if let Phase::Closed { failures } = self.phase
            && failures + 1 < MOST_FAILURES
        {
            let failures = failures + 1;
            self.phase = Phase::Closed { failures };
            return None;
        }
        let rest = self.rest;
        self.rest = (rest * 2).min(LONGEST_REST);
        self.enter(Phase::Open { until: now + rest });
        Some(rest)
    }

    fn give_back(&mut self, epoch: u64) {
        if epoch == self.epoch && self.phase == (Phase::HalfOpen { probed: true }) {
            self.phase = Phase::HalfOpen { probed: false };
        }
    }

    fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        self.epoch += 1;
    }

    /// As the metrics have it.
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

    fn closed() -> Breaker {
        Breaker::new(ServiceMetrics::default(), "the service fails")
    }

    fn opened() -> Breaker {
        let breaker = closed();
        for _ in 0..MOST_FAILURES {
            breaker.admit().unwrap().failed();
        }
        breaker
    }

    fn state(breaker: &Breaker) -> i64 {
        breaker.circuit.lock().state()
    }

    fn wait(breaker: &Breaker) -> Duration {
        match breaker.admit().err() {
            Some(Unasked::Resting { retry_after }) => retry_after,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn failures_in_a_row_open_it_and_one_success_between_them_does_not_let_it() {
        let breaker = closed();
        for _ in 0..3 {
            for _ in 1..MOST_FAILURES {
                breaker.admit().unwrap().failed();
            }
            breaker.admit().unwrap().passed();
        }
        assert_eq!(state(&breaker), 0);
        let breaker = opened();
        assert_eq!((state(&breaker), wait(&breaker)), (2, FIRST_REST));
    }

    #[tokio::test(start_paused = true)]
    async fn after_its_rest_one_request_passes_and_its_success_closes_it() {
        let breaker = opened();
        advance(FIRST_REST).await;
        let probe = breaker.admit().unwrap();
        assert_eq!((state(&breaker), wait(&breaker)), (1, PROBING));
        probe.passed();
        assert_eq!(state(&breaker), 0);
        assert!(breaker.admit().is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn it_rests_longer_each_time_that_a_probe_fails_and_not_without_end() {
        let breaker = opened();
        let mut rest = FIRST_REST;
        for _ in 0..10 {
            assert_eq!(wait(&breaker), rest);
            advance(rest).await;
            breaker.admit().unwrap().failed();
            rest = (rest * 2).min(LONGEST_REST);
        }
        assert_eq!(rest, LONGEST_REST);
        advance(rest).await;
        breaker.admit().unwrap().passed();
        for _ in 0..MOST_FAILURES {
            breaker.admit().unwrap().failed();
        }
        assert_eq!(wait(&breaker), FIRST_REST);
    }

    #[tokio::test(start_paused = true)]
    async fn a_probe_that_is_dropped_lets_the_next_one_try() {
        let breaker = opened();
        advance(FIRST_REST).await;
        drop(breaker.admit().unwrap());
        breaker.admit().unwrap().passed();
        assert_eq!(state(&breaker), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_ends_late_says_nothing_about_the_new_state() {
        let breaker = closed();
        let (slow, slower) = (breaker.admit().unwrap(), breaker.admit().unwrap());
        for _ in 0..MOST_FAILURES {
            breaker.admit().unwrap().failed();
        }
        slow.passed();
        assert_eq!(state(&breaker), 2, "an old success does not close it");
        advance(FIRST_REST).await;
        let probe = breaker.admit().unwrap();
        slower.failed();
        assert_eq!(state(&breaker), 1, "an old failure does not open it");
        probe.passed();
        assert_eq!(state(&breaker), 0);
    }
}
