//! `/status`: what this gateway knows of itself, for the operator. Lists have bounds: workers that of
//! their pools, circuits that of pools and families, tenants a hundred, tools that of the catalogue,
//! refusals that of their reasons.

use std::{collections::BTreeMap, sync::Arc};

use serde::Serialize;

use super::Admin;
use crate::{
    breaker::BreakerReport, metrics::ToolSums, recent::RefusalRow, upstream::ReplicaStatus,
};

/// The answer. Its JSON is an interface: members are added, not renamed.
#[derive(Serialize)]
pub(super) struct GatewayStatus {
    pub(super) version: &'static str,
    pub(super) ready: bool,
    /// Why it is not ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<&'static str>,
    /// Whether the store of limits answers; absent where none is configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) limits_store: Option<&'static str>,
    pub(super) workers: Vec<WorkerRow>,
    /// Since it started, by name; those that were called.
    pub(super) tools: BTreeMap<Arc<str>, ToolSums>,
    /// Of the last quarter of an hour, the most frequent first.
    pub(super) refusals: Vec<RefusalRow>,
    #[serde(flatten)]
    pub(super) breaker: BreakerReport,
}

#[derive(Serialize)]
pub(super) struct WorkerRow {
    pub(super) pool: String,
    pub(super) address: String,
    pub(super) state: &'static str,
    /// Calls it has of this gateway.
    pub(super) in_flight: usize,
}

impl GatewayStatus {
    /// How things stand now.
    pub(super) fn of(admin: &Admin) -> Self {
        let reason = admin.refusal();
        let answers = |answers| if answers { "up" } else { "away" };
        let workers = admin.upstream.replicas().into_iter();
        GatewayStatus {
            version: env!("CARGO_PKG_VERSION"),
            ready: reason.is_none(),
            reason,
            limits_store: admin.limits.store_answers().map(answers),
            workers: workers.map(WorkerRow::from).collect(),
            tools: admin.metrics.tools().sums(),
            refusals: admin.metrics.refusals().rows(),
            breaker: admin.breaker.report(),
        }
    }
}

impl From<ReplicaStatus> for WorkerRow {
    fn from(replica: ReplicaStatus) -> Self {
        WorkerRow {
            pool: replica.pool,
            address: replica.address,
            state: replica.state.name(),
            in_flight: replica.in_flight,
        }
    }
}
