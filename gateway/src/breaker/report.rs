//! What `/status` says of circuits and calls. For the operator: tenants are named here, and nowhere
//! else.

use serde::Serialize;
use tokio::time::Instant;
use uuid::Uuid;

use super::{
    circuit::{Circuit, State},
    window::Counts,
};
use crate::metrics::CircuitLabels;

/// Circuits and calls at one moment.
#[derive(Debug, Serialize)]
pub(crate) struct BreakerReport {
    /// Of every pool and family that was called within some minutes, in this order.
    pub(crate) circuits: Vec<CircuitRow>,
    /// Tenants' circuits that are not closed: the first hundred of them.
    pub(crate) tenant_circuits_open: Vec<TenantRow>,
    /// How many these are in all.
    pub(crate) tenant_circuits_open_total: usize,
    pub(crate) calls: CallsReport,
}

/// Calls that hold a place at this gateway, and that wait for one.
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
    pub(crate) state: State,
    /// Rounded up; only while it is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) retry_after_seconds: Option<u64>,
    /// Of the last ten seconds.
    #[serde(flatten)]
    pub(crate) counts: Counts,
}

/// One tenant's circuit.
#[derive(Debug, Serialize)]
pub(crate) struct TenantRow {
    /// Its slug.
    pub(crate) tenant: String,
    pub(crate) tenant_id: Uuid,
    #[serde(flatten)]
    pub(crate) circuit: CircuitRow,
}

impl CircuitRow {
    pub(super) fn new(labels: &CircuitLabels, circuit: &Circuit, now: Instant) -> Self {
        CircuitRow {
            pool: labels.pool.as_ref().to_owned(),
            family: labels.family.as_ref().to_owned(),
            state: circuit.state(now),
            retry_after_seconds: circuit.retry_after(now).map(super::whole_seconds),
            counts: circuit.counts(now),
        }
    }
}

impl TenantRow {
    pub(super) fn new(
        tenant_id: Uuid,
        slug: &str,
        labels: &CircuitLabels,
        circuit: &Circuit,
        now: Instant,
    ) -> Self {
        TenantRow {
            tenant: slug.to_owned(),
            tenant_id,
            circuit: CircuitRow::new(labels, circuit, now),
        }
    }
}
