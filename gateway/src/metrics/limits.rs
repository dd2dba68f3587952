//! Metrics of limits: refusals, and the buckets of this gateway.

use std::sync::Arc;

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};

use super::registered;
use crate::recent::Refusals;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LimitLabels {
    scope: &'static str,
    of: Arc<str>,
}

/// Metrics of limits.
pub(crate) struct LimitMetrics {
    refused: Family<LimitLabels, Counter>,
    buckets: Gauge,
    unbounded: Counter,
    replicas: Gauge,
    quotas_nearly_spent: Gauge,
    lately: Arc<Refusals>,
}

impl LimitMetrics {
    pub(super) fn new(registry: &mut Registry, lately: Arc<Refusals>) -> Self {
        LimitMetrics {
            refused: registered(
                registry,
                "rate_limited",
                "Messages over a limit, by level and tool",
            ),
            buckets: registered(
                registry,
                "limit_buckets_kept",
                "Buckets in memory: those that may not be full",
            ),
            unbounded: registered(
                registry,
                "limit_sessions_unbounded",
                "Calls of sessions that got no buckets of their own",
            ),
            replicas: registered(
                registry,
                "limit_replicas",
                "Number of gateways that limits are divided by when they are not shared",
            ),
            quotas_nearly_spent: registered(
                registry,
                "month_quotas_nearly_spent",
                "Tenants that have spent four fifths of their month's quota and called within ten minutes",
            ),
            lately,
        }
    }

    /// Counts a message over a limit. `scope` is `session`, `key` or `tenant`; `of` is a tool of
    /// the catalog or the total.
    pub(crate) fn refused(&self, scope: &'static str, of: Arc<str>) {
        let limit = format!("{scope} {of}");
        self.lately.count("rate_limited", Some(limit.into()));
        self.refused.get_or_create(&LimitLabels { scope, of }).inc();
    }

    /// The number of buckets in memory.
    pub(crate) fn buckets(&self) -> &Gauge {
        &self.buckets
    }

    /// Calls whose session got no bucket.
    pub(crate) fn unbounded(&self) -> &Counter {
        &self.unbounded
    }

    /// Tenants whose quota of the month is nearly spent.
    pub(crate) fn quotas_nearly_spent(&self) -> &Gauge {
        &self.quotas_nearly_spent
    }

    /// Sets the number of gateways that limits are divided by.
    pub(crate) fn replicas(&self, count: u32) {
        self.replicas.set(i64::from(count));
    }
}
