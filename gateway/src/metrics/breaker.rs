//! Metrics of circuits and bulkheads. Labels are pools, families and kinds, never tenants.
//!
//! Counters are updated by events. Gauges are set just before they are read, because a circuit also
//! changes by time alone.

use std::sync::Arc;

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};

use super::{ReasonLabel, counted_by_reason, registered};
use crate::recent::Refusals;

/// Labels of the circuits of one family in one pool.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, EncodeLabelSet)]
pub(crate) struct CircuitLabels {
    pub(crate) pool: Arc<str>,
    pub(crate) family: Arc<str>,
}

impl CircuitLabels {
    pub(crate) fn new(pool: &str, family: &str) -> Self {
        CircuitLabels {
            pool: Arc::from(pool),
            family: Arc::from(family),
        }
    }
}

/// Whose calls a circuit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CircuitKind {
    /// The calls of everyone who uses the pool.
    Shared,
    /// One tenant's calls.
    Tenant,
}

impl CircuitKind {
    /// The label in metrics and logs.
    pub(crate) fn name(self) -> &'static str {
        match self {
            CircuitKind::Shared => "shared",
            CircuitKind::Tenant => "tenant",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CircuitKindLabels {
    pool: Arc<str>,
    family: Arc<str>,
    circuit: &'static str,
}

impl CircuitKindLabels {
    fn new(labels: &CircuitLabels, kind: CircuitKind) -> Self {
        CircuitKindLabels {
            pool: labels.pool.clone(),
            family: labels.family.clone(),
            circuit: kind.name(),
        }
    }
}

/// Metrics of circuits and bulkheads.
pub(crate) struct BreakerMetrics {
    states: Family<CircuitLabels, Gauge>,
    tenants_open: Family<CircuitLabels, Gauge>,
    opened: Family<CircuitKindLabels, Counter>,
    refused: Family<CircuitKindLabels, Counter>,
    in_flight: Gauge,
    queued: Gauge,
    bulkhead_refused: Family<ReasonLabel, Counter>,
    lately: Arc<Refusals>,
}

impl BreakerMetrics {
    pub(super) fn new(registry: &mut Registry, lately: Arc<Refusals>) -> Self {
        BreakerMetrics {
            states: registered(
                registry,
                "circuit_state",
                "Circuit of a pool and family of tools: 0 closed, 1 half-open, 2 open",
            ),
            tenants_open: registered(
                registry,
                "tenant_circuits_not_closed",
                "Tenants whose own circuit of a pool and family is open or half-open",
            ),
            opened: registered(
                registry,
                "circuit_openings",
                "Circuits that opened, by kind",
            ),
            refused: registered(
                registry,
                "circuit_refusals",
                "Calls refused by an open circuit, by kind",
            ),
            in_flight: registered(
                registry,
                "calls_in_flight",
                "Calls that hold a bulkhead permit of their tenant",
            ),
            queued: registered(
                registry,
                "calls_queued",
                "Calls that wait for a bulkhead permit of their tenant",
            ),
            bulkhead_refused: counted_by_reason(
                registry,
                (
                    "bulkhead_refusals",
                    "Calls that got no bulkhead permit, by reason",
                ),
                ["full", "stalled", "waited"],
            ),
            lately,
        }
    }

    /// Sets the gauges of one family: the number of the shared circuit's `state`, and how many
    /// tenants' circuits are not closed.
    pub(crate) fn circuit(&self, labels: &CircuitLabels, state: i64, tenants_open: usize) {
        self.states.get_or_create(labels).set(state);
        let gauge = self.tenants_open.get_or_create(labels);
        gauge.set(i64::try_from(tenants_open).unwrap_or(i64::MAX));
        for kind in [CircuitKind::Shared, CircuitKind::Tenant] {
            let labels = CircuitKindLabels::new(labels, kind);
            // A counter begins at 0, not with its first event, which an increase would miss.
            drop(self.opened.get_or_create(&labels));
            drop(self.refused.get_or_create(&labels));
        }
    }

    /// Removes the gauges of one family. Its counters stay.
    pub(crate) fn forget_circuit(&self, labels: &CircuitLabels) {
        self.states.remove(labels);
        self.tenants_open.remove(labels);
    }

    /// Counts a circuit that opened.
    pub(crate) fn circuit_opened(&self, labels: &CircuitLabels, kind: CircuitKind) {
        let labels = CircuitKindLabels::new(labels, kind);
        self.opened.get_or_create(&labels).inc();
    }

    /// Counts a call that a circuit refused.
    pub(crate) fn circuit_refused(&self, labels: &CircuitLabels, kind: CircuitKind) {
        let circuit = format!("{} {}/{}", kind.name(), labels.pool, labels.family);
        self.lately.count("circuit_open", Some(circuit.into()));
        let labels = CircuitKindLabels::new(labels, kind);
        self.refused.get_or_create(&labels).inc();
    }

    /// Sets the number of calls that hold a permit and of calls that wait for one.
    pub(crate) fn calls(&self, in_flight: usize, queued: usize) {
        let number = |count| i64::try_from(count).unwrap_or(i64::MAX);
        self.in_flight.set(number(in_flight));
        self.queued.set(number(queued));
    }

    /// Counts a call that got no permit. `reason` is `full`, `stalled` or `waited`.
    pub(crate) fn bulkhead_refused(&self, reason: &'static str) {
        self.lately.count("no_place", Some(reason.into()));
        self.bulkhead_refused
            .get_or_create(&ReasonLabel { reason })
            .inc();
    }
}
