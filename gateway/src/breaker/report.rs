//! The part of `/status` about circuits and calls. It is for operators and names tenants, unlike
//! failures and metrics.

use archway_resilience::CircuitState;
use serde::Serialize;
use tokio::time::Instant;
use uuid::Uuid;

use super::{rule::CallCircuit, window::CallCounts};
use crate::metrics::CircuitLabels;

/// Circuits and calls at one moment.
#[derive(Debug, Serialize)]
pub(crate) struct BreakerReport {
    /// One row for each pool and family that was called within the last minutes, sorted by both.
    pub(crate) circuits: Vec<CircuitRow>,
    /// Tenants' circuits that are not closed: the first hundred.
    pub(crate) tenant_circuits_open: Vec<TenantRow>,
    /// The number of tenants' circuits that are not closed.
    pub(crate) tenant_circuits_open_total: usize,
    pub(crate) calls: CallsReport,
}

/// Calls of this gateway that hold a bulkhead permit, and calls that wait for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct CallsReport {
    pub(crate) in_flight: usize,
    pub(crate) queued: usize,
}

/// One circuit.
#[derive(Debug, Serialize)]
pub(crate) struct CircuitRow {
    pub(crate) pool: String,
    pub(crate) family: String,
    pub(crate) state: CircuitState,
    /// Rounded up; present only while the circuit is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) retry_after_seconds: Option<u64>,
    /// Calls of the last ten seconds.
    #[serde(flatten)]
    pub(crate) counts: CallCounts,
}

/// One tenant's circuit.
#[derive(Debug, Serialize)]
pub(crate) struct TenantRow {
    /// The tenant's slug.
    pub(crate) tenant: String,
    pub(crate) tenant_id: Uuid,
    #[serde(flatten)]
    pub(crate) circuit: CircuitRow,
}

impl CircuitRow {
    pub(super) fn new(labels: &CircuitLabels, circuit: &CallCircuit, now: Instant) -> Self {
        CircuitRow {
            pool: labels.pool.as_ref().to_owned(),
            family: labels.family.as_ref().to_owned(),
            state: circuit.state(now),
            retry_after_seconds: circuit.retry_after(now).map(super::whole_seconds),
            counts: circuit.rule().counts(now),
        }
    }
}

impl TenantRow {
    pub(super) fn new(
        tenant_id: Uuid,
        slug: &str,
        labels: &CircuitLabels,
        circuit: &CallCircuit,
        now: Instant,
    ) -> Self {
        TenantRow {
            tenant: slug.to_owned(),
            tenant_id,
            circuit: CircuitRow::new(labels, circuit, now),
        }
    }
}
