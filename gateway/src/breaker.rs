//! Between the catalog and the workers: a bulkhead permit for the call, and two circuits that admit
//! it.
//!
//! A valid call passes its tenant's bulkhead first, where it may wait, and then two circuits, where
//! it never waits. It then holds one [`Permit`] until its answer is written. A permit that is
//! dropped unsettled, because the client disconnected or the gateway shuts down, returns the
//! bulkhead permit and the probe slot and counts nothing.
//!
//! What a reader would get wrong: circuits never look into a tool's result. A call that got an
//! answer succeeded, whatever the answer says; at most it was slow.

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
use bulkhead::{Bulkhead, BulkheadPermit};
use circuits::{CallTarget, CircuitPermit, Circuits};
use family::CallEnd;

pub(crate) use report::{BreakerReport, CircuitRow};

// In the order a call meets them.
mod bulkhead;
mod circuits;
mod family;
mod rule;
mod window;
mod refusals;
mod report;

/// Tenants' circuits that `/status` lists.
const MOST_LISTED: usize = 100;

/// How much of a gateway one tenant may occupy.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct BreakerConfig {
    /// Calls that one tenant may have in flight at this gateway, 1 to 10000. As many more wait for
    /// at most half of their deadline; calls beyond that are refused.
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

/// The bulkheads and circuits of one gateway. Gateways do not share them: each judges by its own
/// calls.
pub(crate) struct Breaker {
    bulkhead: Arc<Bulkhead>,
    circuits: Circuits,
    metrics: Arc<BreakerMetrics>,
    shutting_down: Arc<AtomicBool>,
}

/// What a call holds while it runs.
pub(crate) struct Permit {
    /// `None` if the table of circuits was full.
    circuits: Option<CircuitPermit>,
    begun: Instant,
    slow_after: Duration,
    shutting_down: Arc<AtomicBool>,
    bulkhead: CallPermit,
}

impl Breaker {
    pub(crate) fn new(config: BreakerConfig, metrics: Arc<BreakerMetrics>) -> Self {
        Breaker {
            bulkhead: Arc::new(Bulkhead::new(config.tenant_calls.max(1).into())),
            circuits: Circuits::new(metrics.clone()),
            metrics,
            shutting_down: Arc::default(),
        }
    }

    /// Waits for a bulkhead permit for a call of a tool of `family`, then asks both circuits. The
    /// call was received at `received` and must be answered by `until`.
    pub(crate) async fn admit(
        &self,
        who: &Principal,
        family: &str,
        received: Instant,
        until: Instant,
    ) -> Result<Permit, Failure> {
        let left = until.saturating_duration_since(Instant::now());
        let permit = self.bulkhead.enter(who.tenant_id(), left).await;
        let permit = permit.map_err(|why| {
            self.metrics.bulkhead_refused(why.reason());
            refusals::bulkhead_full(self.bulkhead.most(), why)
        })?;
        let caller = CallTarget {
            pool: who.pool(),
            family,
            tenant: who.tenant_id(),
            slug: who.tenant(),
        };
        let now = Instant::now();
        let circuits = self.circuits.admit(caller, now);
        let circuits =
            circuits.map_err(|open| refusals::circuit_open(who.pool(), family, &open))?;
        Ok(Permit {
            circuits,
            begun: now,
            // A call that waited for its permit still has at least this much time.
            slow_after: until.saturating_duration_since(received) / 2,
            shutting_down: self.shutting_down.clone(),
            bulkhead: CallPermit(Arc::new(permit)),
        })
    }

    /// From now on failures are not counted: the gateway shuts down and ends its calls.
    pub(crate) fn shut_down(&self) {
        self.shutting_down.store(true, Ordering::Relaxed);
    }

    /// The state of all circuits and bulkheads.
    pub(crate) fn report(&self) -> BreakerReport {
        let (circuits, tenants, total) = self.circuits.report(MOST_LISTED, Instant::now());
        BreakerReport {
            circuits,
            tenant_circuits_open: tenants,
            tenant_circuits_open_total: total,
            calls: self.bulkhead.calls(),
        }
    }

    /// Updates the gauges; call it before they are read.
    pub(crate) fn observe(&self) {
        self.circuits.observe(Instant::now());
        let calls = self.bulkhead.calls();
        self.metrics.calls(calls.in_flight, calls.queued);
    }
}

/// A call's bulkhead permit, returned when all clones are dropped.
#[derive(Clone)]
pub(crate) struct CallPermit(
    #[expect(dead_code, reason = "held until it is dropped")] Arc<BulkheadPermit>,
);

impl Permit {
    /// The call's bulkhead permit, for streams that outlive this permit.
    pub(crate) fn bulkhead(&self) -> CallPermit {
        self.bulkhead.clone()
    }

    /// The call was answered. `partial` means that the tool stopped by itself before its deadline
    /// and returned what it had found: neither a fault nor slow.
    pub(crate) fn answered(self, partial: bool) {
        let slow = !partial && self.begun.elapsed() > self.slow_after;
        self.settle(CallEnd::Answered { slow });
    }

    /// The call failed with `fault`, on its way or at the worker.
    pub(crate) fn failed(self, fault: Fault) {
        if !self.shutting_down.load(Ordering::Relaxed) {
            self.settle(CallEnd::Failed(fault.blame()));
        }
    }

    fn settle(mut self, ended: CallEnd) {
        if let Some(circuits) = self.circuits.take() {
            circuits.settle(ended, Instant::now());
        }
    }
}

/// Whole seconds for a caller to wait: rounded up, at least 1.
fn whole_seconds(time: Duration) -> u64 {
    (time.as_secs() + u64::from(time.subsec_nanos() > 0)).max(1)
}
