//! `/status`: the gateway's state, for operators. Every list is bounded: workers by the bound of
//! their pools, circuits by that of pools and families, tenants at 100, tools by the catalog,
//! refusals by their reasons.

use std::{collections::BTreeMap, sync::Arc};

use serde::Serialize;

use super::Admin;
use crate::{
    breaker::BreakerReport, metrics::ToolSums, recent::RefusalRow, upstream::ReplicaStatus,
};

/// The answer. Its JSON is an interface: members are added, never renamed.
#[derive(Serialize)]
pub(super) struct GatewayStatus {
    pub(super) version: &'static str,
    pub(super) ready: bool,
    /// Why it is not ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<&'static str>,
    /// Whether the store of limits answers; absent if none is configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) limits_store: Option<&'static str>,
    pub(super) workers: Vec<WorkerRow>,
    /// Totals since the start by tool, of tools that were called.
    pub(super) tools: BTreeMap<Arc<str>, ToolSums>,
    /// Of the last 15 minutes, most frequent first.
    pub(super) refusals: Vec<RefusalRow>,
    #[serde(flatten)]
    pub(super) breaker: BreakerReport,
}

#[derive(Serialize)]
pub(super) struct WorkerRow {
    pub(super) pool: String,
    pub(super) address: String,
    pub(super) state: &'static str,
    /// Calls of this gateway that it runs.
    pub(super) in_flight: usize,
}

impl GatewayStatus {
    /// The current state.
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
