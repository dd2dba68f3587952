//! A circuit that many callers share.
//!
//! Its lock is never held across an await. A [`Permit`] that is dropped unsettled frees its probe's
//! slot and counts nothing.

use std::{fmt, time::Duration};

use parking_lot::Mutex;
use tokio::time::Instant;

use super::{Admission, Circuit, CircuitState, NotAdmitted, OpenRule, Settings};

type OnChange = Box<dyn Fn(CircuitState, Option<Duration>) + Send + Sync>;

/// The circuit of one service.
pub struct Breaker<R: OpenRule> {
    circuit: Mutex<Circuit<R>>,
    on_change: OnChange,
}

/// Held by an admitted call.
#[derive(Debug)]
#[must_use]
pub struct Permit<'a, R: OpenRule> {
    breaker: &'a Breaker<R>,
    /// `None` once it is settled.
    admission: Option<Admission>,
}

impl<R: OpenRule> Breaker<R> {
    /// A closed circuit. Each change calls `on_change` with the new state and, if it opened, with
    /// its open time. That runs under the lock, so a gauge that it sets ends at the present state.
    pub fn new(
        settings: &'static Settings,
        on_change: impl Fn(CircuitState, Option<Duration>) + Send + Sync + 'static,
    ) -> Self {
        Breaker {
            circuit: Mutex::new(Circuit::new(settings, Instant::now())),
            on_change: Box::new(on_change),
        }
    }

    /// Admits a call.
    ///
    /// # Errors
    /// If the circuit is open, or half-open with all its probes in flight.
    pub fn admit(&self) -> Result<Permit<'_, R>, NotAdmitted> {
        let admission = self.update(Circuit::admit)?;
        Ok(Permit {
            breaker: self,
            admission: Some(admission),
        })
    }

    /// Whether [`Breaker::admit`] would refuse a call now.
    pub fn is_refusing(&self) -> bool {
        self.circuit.lock().is_refusing(Instant::now())
    }

    fn update<T>(&self, act: impl FnOnce(&mut Circuit<R>, Instant) -> T) -> T {
        let mut circuit = self.circuit.lock();
        let (before, now) = (circuit.epoch(), Instant::now());
        let result = act(&mut circuit, now);
        if circuit.epoch() != before {
            (self.on_change)(circuit.state(now), circuit.retry_after(now));
        }
        result
    }
}

impl<R: OpenRule> Permit<'_, R> {
    /// Counts how the call ended.
    pub fn settle(mut self, rating: R::Rating) {
        if let Some(admission) = self.admission.take() {
            self.breaker
                .update(|circuit, now| circuit.settle(admission, rating, now));
        }
    }
}

impl<R: OpenRule> Drop for Permit<'_, R> {
    fn drop(&mut self) {
        if let Some(admission) = self.admission.take() {
            self.breaker.circuit.lock().give_back(admission);
        }
    }
}

impl<R: OpenRule> fmt::Debug for Breaker<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Breaker").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    };

    use tokio::time::advance;

    use super::*;
    use crate::{FailuresInARow, Outcome};

    const OPEN_TIME: Duration = Duration::from_secs(2);
    const SETTINGS: Settings = Settings {
        first_open_time: OPEN_TIME,
        longest_open_time: OPEN_TIME,
        probes: 1,
        probe_wait: Duration::from_secs(1),
        longest_probe: None,
    };

    fn opened() -> (Breaker<FailuresInARow<3>>, Arc<AtomicI64>) {
        let gauge = Arc::<AtomicI64>::default();
        let state = gauge.clone();
        let breaker = Breaker::new(&SETTINGS, move |now, open_time| {
            assert_eq!(open_time, (now == CircuitState::Open).then_some(OPEN_TIME));
            state.store(now.number(), Ordering::Relaxed);
        });
        breaker.admit().unwrap().settle(Outcome::Outage);
        (breaker, gauge)
    }

    #[tokio::test(start_paused = true)]
    async fn a_dropped_permit_frees_the_slot_of_its_probe() {
        let (breaker, _) = opened();
        advance(OPEN_TIME).await;
        let probe = breaker.admit().unwrap();
        assert!(breaker.is_refusing() && breaker.admit().is_err());
        drop(probe);
        assert!(!breaker.is_refusing());
        breaker.admit().unwrap().settle(Outcome::Success);
        let _both = [breaker.admit().unwrap(), breaker.admit().unwrap()];
    }

    #[tokio::test(start_paused = true)]
    async fn every_change_of_state_is_reported() {
        let (breaker, gauge) = opened();
        let state = || gauge.load(Ordering::Relaxed);
        assert_eq!(state(), 2);
        advance(OPEN_TIME).await;
        let probe = breaker.admit().unwrap();
        assert_eq!(state(), 1);
        probe.settle(Outcome::Failure);
        assert_eq!(state(), 2);
        advance(OPEN_TIME).await;
        breaker.admit().unwrap().settle(Outcome::Success);
        assert_eq!(state(), 0);
    }
}
