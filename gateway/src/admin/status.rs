//! `/status`: what this gateway knows of itself, for the operator. Lists have bounds: workers that of
//! their pools, circuits that of pools and families, tenants a hundred,
//! tools that of the catalogue.

use std::{collections::BTreeMap, sync::Arc};

use serde::Serialize;

use super::Admin;
use crate::{breaker::BreakerReport, metrics::ToolSums, upstream::ReplicaStatus};

/// The answer. Its JSON is an interface: members are added, not renamed.
#[derive(Serialize)]
pub(super) struct GatewayStatus {
    version: &'static str,
    ready: bool,
    /// Why it is not ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    /// Whether the store of limits answers; absent where none is configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    limits_store: Option<&'static str>,
    workers: Vec<WorkerRow>,
    /// Since it started, by name; those that were called.
    tools: BTreeMap<Arc<str>, ToolSums>,
    #[serde(flatten)]
    breaker: BreakerReport,
}

#[derive(Serialize)]
struct WorkerRow {
    pool: String,
    address: String,
    state: &'static str,
    /// Calls it has of this gateway.
    in_flight: usize,
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
