//! Metrics of the workers and their connections. Pool labels are the configured pools.

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};

use super::{ReasonLabel, counted_by_reason, registered};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PoolLabel {
    pool: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReplicaLabels {
    pool: String,
    state: &'static str,
}

/// Metrics of workers, connections and retries. Clones share them.
#[derive(Clone)]
pub(crate) struct UpstreamMetrics {
    replicas: Family<ReplicaLabels, Gauge>,
    connections_lost: Family<PoolLabel, Counter>,
    dns_failures: Family<PoolLabel, Counter>,
    retries: Family<ReasonLabel, Counter>,
    budget_exhausted: Counter,
    crashing_call_refused: Counter,
    unknown_pool: Counter,
}

impl UpstreamMetrics {
    pub(super) fn new(own: &mut Registry) -> Self {
        UpstreamMetrics {
            replicas: registered(own, "upstream_replicas", "Workers by pool and state"),
            connections_lost: registered(
                own,
                "upstream_connections_lost",
                "Connections to ready workers that broke, by pool",
            ),
            dns_failures: registered(
                own,
                "upstream_dns_failures",
                "DNS lookups of workers' addresses that failed, by pool",
            ),
            retries: counted_by_reason(
                own,
                (
                    "upstream_retries",
                    "Calls that were sent to another worker, by reason",
                ),
                ["not_begun", "connection_lost", "stream_reset"],
            ),
            budget_exhausted: registered(
                own,
                "upstream_retry_budget_exhausted",
                "Calls that were not repeated because the retry budget was spent",
            ),
            crashing_call_refused: registered(
                own,
                "upstream_deadly_calls_refused",
                "Calls refused because they had crashed two workers",
            ),
            unknown_pool: registered(
                own,
                "upstream_unknown_pool_calls",
                "Calls of tenants whose pool is not configured at this gateway",
            ),
        }
    }

    /// Sets the number of a pool's workers in a state: `starting`, `ready`, `draining` or `away`.
    pub(crate) fn replicas(&self, pool: &str, state: &'static str, count: usize) {
        let pool = pool.to_owned();
        let of_pool = PoolLabel { pool: pool.clone() };
        let gauge = self.replicas.get_or_create(&ReplicaLabels { pool, state });
        gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
        // A counter begins at 0, not with its first event, which an increase would miss.
        drop(self.connections_lost.get_or_create(&of_pool));
        drop(self.dns_failures.get_or_create(&of_pool));
    }

    /// Counts a broken connection to a ready worker.
    pub(crate) fn connection_lost(&self, pool: &str) {
        let pool = pool.to_owned();
        self.connections_lost
            .get_or_create(&PoolLabel { pool })
            .inc();
    }

    /// Counts a name that could not be resolved.
    pub(crate) fn dns_failed(&self, pool: &str) {
        let pool = pool.to_owned();
        self.dns_failures.get_or_create(&PoolLabel { pool }).inc();
    }

    /// Counts a call that was sent to another worker. `reason` is `not_begun`, `connection_lost` or
    /// `stream_reset`.
    pub(crate) fn retried(&self, reason: &'static str) {
        self.retries.get_or_create(&ReasonLabel { reason }).inc();
    }

    /// Counts a call that was not repeated because its pool's retry budget was spent.
    pub(crate) fn budget_exhausted(&self) {
        self.budget_exhausted.inc();
    }

    /// Counts a call that was refused because it had crashed two workers.
    pub(crate) fn crashing_call_refused(&self) {
        self.crashing_call_refused.inc();
    }

    /// Counts a call whose pool is not configured here. The log names the pool; as a label it would
    /// be unbounded, because it comes from tenants' records.
    pub(crate) fn unknown_pool(&self) {
        self.unknown_pool.inc();
    }
}
