//! What is told of limits: who was over one, and how many buckets this gateway keeps.

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

/// The metrics of limits.
pub(crate) struct LimitMetrics {
    refused: Family<LimitLabels, Counter>,
    buckets: Gauge,
    unbounded: Counter,
    replicas: Gauge,
    lately: Arc<Refusals>,
}

impl LimitMetrics {
    pub(super) fn new(registry: &mut Registry, lately: Arc<Refusals>) -> Self {
        LimitMetrics {
            refused: registered(
                registry,
                "rate_limited",
                "Messages over a limit, by whose it was and of what",
            ),
            buckets: registered(
                registry,
                "limit_buckets_kept",
                "Buckets of limits kept because they may not be full",
            ),
            unbounded: registered(
                registry,
                "limit_sessions_unbounded",
                "Calls of sessions beyond those that get limits of their own",
            ),
            replicas: registered(
                registry,
                "limit_replicas",
                "Gateways among which limits are divided where they are not counted together",
            ),
            lately,
        }
    }

    /// Counts a message over a limit: of a session, key or tenant, for a tool of the catalogue or
    /// for everything.
    pub(crate) fn refused(&self, scope: &'static str, of: Arc<str>) {
        let limit = format!("{scope} {of}");
        self.lately.count("rate_limited", Some(limit.into()));
        self.refused.get_or_create(&LimitLabels { scope, of }).inc();
    }

    /// How many buckets there are.
    pub(crate) fn buckets(&self) -> &Gauge {
        &self.buckets
    }

    /// How many calls found no place for a bucket of their session.
    pub(crate) fn unbounded(&self) -> &Counter {
        &self.unbounded
    }

    /// Says among how many gateways limits are divided.
    pub(crate) fn replicas(&self, count: u32) {
        self.replicas.set(i64::from(count));
    }
}
