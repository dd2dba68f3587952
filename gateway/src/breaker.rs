//! Between the catalogue and the workers: a place for the call, and circuits that let it through.
//!
//! A call that is good in itself meets, in this order, its tenant's bulkhead (it may wait there) and
//! two circuits (it never waits there). What it then holds is one [`Permit`], until its answer is
//! written. Dropped unsettled, because the client went away or the gateway ends, it gives back the
//! place and a probe's slot and counts nothing.
//!
//! What a reader would get wrong: circuits never look into a tool's result. A call that was answered
//! went well, whatever it was answered, and may only have been slow.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use archway_proto::{failure::Failure, fault::Fault};
use tokio::time::Instant;

use crate::{caller::Principal, metrics::BreakerMetrics};
use bulkhead::{Bulkhead, Place};
use circuits::{Admitted, Caller, Circuits};
use group::Ended;

pub(crate) use report::{BreakerReport, CircuitRow};

// In the order a call meets them.
mod bulkhead;
mod circuits;
mod group;
mod circuit;
mod window;
mod refusals;
mod report;

/// Tenants' circuits that `/status` lists.
const MOST_LISTED: usize = 100;

/// What one tenant may occupy of a gateway.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct BreakerConfig {
    /// Calls that one tenant may have in flight at this gateway, 1 to 10000; as many more wait for
    /// at most half of their deadline, and above that calls are refused.
    #[arg(
        long,
        env = "ARCHWAY_TENANT_CALLS",
        value_name = "N",
        default_value = "64",
        value_parser = clap::value_parser!(u16).range(1..=10_000)
    )]
    pub tenant_calls: u16,
}

impl Default for BreakerConfig {
    fn default() -> Self {
        BreakerConfig { tenant_calls: 64 }
    }
}

/// Bulkheads and circuits of one gateway. Not shared with others: each sees its own calls.
pub(crate) struct Breaker {
    bulkhead: Arc<Bulkhead>,
    circuits: Circuits,
    metrics: Arc<BreakerMetrics>,
    ending: Arc<AtomicBool>,
}

/// What a call holds while it is made.
pub(crate) struct Permit {
    /// `None` where there was no room for circuits.
    admitted: Option<Admitted>,
    begun: Instant,
    slow_after: Duration,
    ending: Arc<AtomicBool>,
    place: CallPlace,
}

impl Breaker {
    pub(crate) fn new(config: BreakerConfig, metrics: Arc<BreakerMetrics>) -> Self {
        Breaker {
            bulkhead: Arc::new(Bulkhead::new(config.tenant_calls.max(1).into())),
            circuits: Circuits::new(metrics.clone()),
            metrics,
            ending: Arc::default(),
        }
    }

    /// Waits for a place for a call of a tool of `family`, and asks the circuits. The call was
    /// received at `received` and has to be answered by `until`.
    pub(crate) async fn admit(
        &self,
        who: &Principal,
        family: &str,
        received: Instant,
        until: Instant,
    ) -> Result<Permit, Failure> {
        let left = until.saturating_duration_since(Instant::now());
        let place = self.bulkhead.enter(who.tenant_id(), left).await;
        let place = place.map_err(|why| {
            self.metrics.no_place(why.reason());
            refusals::no_place(self.bulkhead.most(), why)
        })?;
        let caller = Caller {
            pool: who.pool(),
            family,
            tenant: who.tenant_id(),
            slug: who.tenant(),
        };
        let now = Instant::now();
        let admitted = self.circuits.admit(caller, now);
        let admitted =
            admitted.map_err(|open| refusals::circuit_open(who.pool(), family, &open))?;
        Ok(Permit {
            admitted,
            begun: now,
            // Who waited for its place has at least that much left.
            slow_after: until.saturating_duration_since(received) / 2,
            ending: self.ending.clone(),
            place: CallPlace(Arc::new(place)),
        })
    }

    /// From now on failures count nothing: the gateway ends, and its calls with it.
    pub(crate) fn end(&self) {
        self.ending.store(true, Ordering::Relaxed);
    }

    /// How things stand.
    pub(crate) fn report(&self) -> BreakerReport {
        let (circuits, tenants, total) = self.circuits.report(MOST_LISTED, Instant::now());
        BreakerReport {
            circuits,
            tenant_circuits_open: tenants,
            tenant_circuits_open_total: total,
            calls: self.bulkhead.calls(),
        }
    }

    /// Brings the gauges up to date, for somebody who is about to read them.
    pub(crate) fn observe(&self) {
        self.circuits.observe(Instant::now());
        let calls = self.bulkhead.calls();
        self.metrics.calls(calls.in_flight, calls.queued);
    }
}

/// The place of a call in its tenant's bulkhead, free again when all clones are dropped.
#[derive(Clone)]
pub(crate) struct CallPlace(#[expect(dead_code, reason = "held until it is dropped")] Arc<Place>);

impl Permit {
    /// The call's place, for what outlives the permit.
    pub(crate) fn place(&self) -> CallPlace {
        self.place.clone()
    }

    /// The call was answered. `partial` says that it ended by itself in time for its deadline, with
    /// what it had found: that is no fault, and not slow.
    pub(crate) fn answered(self, partial: bool) {
        let slow = !partial && self.begun.elapsed() > self.slow_after;
        self.settle(Ended::Answered { slow });
    }

    /// The call failed by `fault`, on its way or at the worker.
    pub(crate) fn failed(self, fault: Fault) {
        if !self.ending.load(Ordering::Relaxed) {
            self.settle(Ended::Failed(fault.blame()));
        }
    }

    fn settle(mut self, ended: Ended) {
        if let Some(admitted) = self.admitted.take() {
            admitted.settle(ended, Instant::now());
        }
    }
}

/// Rounded up, at least 1: what somebody is told to wait.
fn whole_seconds(time: Duration) -> u64 {
    (time.as_secs() + u64::from(time.subsec_nanos() > 0)).max(1)
}
