//! What the gateway counts. Labels come from closed sets: a tool of the catalogue, an outcome.
//!
//! The registry belongs to one [`Metrics`], not to the process, so that tests can run several
//! gateways side by side.

use std::sync::Arc;

use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::{Metric, Registry},
};

pub(crate) use audit::AuditMetrics;
pub(crate) use bodies::BodyMetrics;
pub(crate) use breaker::{BreakerMetrics, CircuitKind, CircuitLabels};
pub(crate) use limit_store::LimitStore;
pub(crate) use limits::LimitMetrics;
pub(crate) use tools::{Outcome, ToolMetrics, ToolSums};
pub(crate) use unread::UnreadMetrics;
pub(crate) use upstream::UpstreamMetrics;

use crate::recent::{RecentCalls, Refusals};

mod audit;
mod bodies;
mod breaker;
mod limit_store;
mod limits;
mod tools;
mod unread;
mod upstream;

/// The tool label of names that are not in the catalogue.
pub(crate) const UNKNOWN_TOOL: &str = "unknown";

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StatusLabel {
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReasonLabel {
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabel {
    outcome: &'static str,
}

/// The gateway's counters.
pub(crate) struct Metrics {
    registry: Registry,
    /// Of circuits and bulkheads.
    pub(crate) breaker: Arc<BreakerMetrics>,
    audit: AuditMetrics,
    requests: Family<StatusLabel, Counter>,
    tools: ToolMetrics,
    failed_credentials: Family<ReasonLabel, Counter>,
    issuer_reads: Family<OutcomeLabel, Counter>,
    dropped_logs: Family<ReasonLabel, Counter>,
    connections: Gauge,
    admin_connections: Gauge,
    listening: Gauge,
    ready: Gauge,
    sessions_kept: Gauge,
    bodies: BodyMetrics,
    unread: UnreadMetrics,
    limits: LimitMetrics,
    limit_store: LimitStore,
    upstream: UpstreamMetrics,
    refusals: Arc<Refusals>,
    recent_calls: RecentCalls,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("archway_gateway");
        let own = &mut registry;
        own.register_collector(Box::new(archway_proto::trace::Spans));
        let refusals = Arc::<Refusals>::default();
        Metrics {
            breaker: Arc::new(BreakerMetrics::new(own, refusals.clone())),
            audit: AuditMetrics::new(own),
            requests: registered(own, "http_requests", "HTTP requests by status"),
            tools: ToolMetrics::new(own),
            failed_credentials: registered(
                own,
                "failed_credentials",
                "Requests with a credential that is not good, by reason",
            ),
            issuer_reads: registered(
                own,
                "issuer_key_reads",
                "Readings of OIDC issuers' keys, by outcome",
            ),
            dropped_logs: registered(
                own,
                "log_events_dropped",
                "Log events of tools that a client asked for and did not get, by reason",
            ),
            connections: registered(own, "connections", "Open client connections"),
            admin_connections: registered(
                own,
                "admin_connections",
                "Open connections of the admin port",
            ),
            listening: registered(
                own,
                "listening_for_changes",
                "1 while Postgres tells of changes, else 0",
            ),
            ready: registered(own, "ready", "1 while /readyz says so, else 0"),
            sessions_kept: registered(
                own,
                "sessions_kept",
                "Sessions kept because they were ended or have a log level",
            ),
            bodies: BodyMetrics::new(own),
            unread: UnreadMetrics::new(own),
            limits: LimitMetrics::new(own, refusals.clone()),
            limit_store: LimitStore::new(own),
            upstream: UpstreamMetrics::new(own),
            refusals,
            recent_calls: RecentCalls::default(),
            registry,
        }
    }

    /// What is told of the audit trail.
    pub(crate) fn audit(&self) -> &AuditMetrics {
        &self.audit
    }

    /// What is told of large bodies.
    pub(crate) fn bodies(&self) -> &BodyMetrics {
        &self.bodies
    }

    /// What is told of unread answers.
    pub(crate) fn unread(&self) -> &UnreadMetrics {
        &self.unread
    }

    /// The store of limits.
    pub(crate) fn limit_store(&self) -> &LimitStore {
        &self.limit_store
    }

    /// What is counted of tool calls.
    pub(crate) fn tools(&self) -> &ToolMetrics {
        &self.tools
    }

    /// What is told of limits.
    pub(crate) fn limits(&self) -> &LimitMetrics {
        &self.limits
    }

    /// What is counted of the way to the workers.
    pub(crate) fn upstream(&self) -> &UpstreamMetrics {
        &self.upstream
    }

    /// Says whether word of changes is heard.
    pub(crate) fn listening(&self, listening: bool) {
        self.listening.set(i64::from(listening));
    }

    /// Says whether the gateway is ready.
    pub(crate) fn ready(&self, ready: bool) {
        self.ready.set(i64::from(ready));
    }

    /// Says how many sessions are kept.
    pub(crate) fn sessions_kept(&self, count: usize) {
        self.sessions_kept
            .set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// What was refused lately.
    pub(crate) fn refusals(&self) -> &Refusals {
        &self.refusals
    }

    /// The last calls.
    pub(crate) fn recent_calls(&self) -> &RecentCalls {
        &self.recent_calls
    }

    /// Counts a request that was answered.
    pub(crate) fn request(&self, status: http::StatusCode) {
        self.requests
            .get_or_create(&StatusLabel {
                status: status.as_u16(),
            })
            .inc();
    }

    /// Counts a credential that was there and not good. `reason` is the label of a reason of
    /// `auth`'s, or `throttled` instead once its source failed too often.
    pub(crate) fn failed_credential(&self, reason: &'static str) {
        self.refusals.count("bad_credential", Some(reason.into()));
        self.failed_credentials
            .get_or_create(&ReasonLabel { reason })
            .inc();
    }

    /// Counts a reading of an issuer's keys.
    pub(crate) fn issuer_read(&self, read: bool) {
        let outcome = if read { "ok" } else { "failed" };
        self.issuer_reads
            .get_or_create(&OutcomeLabel { outcome })
            .inc();
    }

    /// Counts a log event that was not passed on. `reason` is `malformed`, `oversized` or `excess`.
    pub(crate) fn log_dropped(&self, reason: &'static str) {
        self.dropped_logs
            .get_or_create(&ReasonLabel { reason })
            .inc();
    }

    /// How many client connections are open.
    pub(crate) fn connections(&self) -> &Gauge {
        &self.connections
    }

    /// How many connections of the admin port are open.
    pub(crate) fn admin_connections(&self) -> &Gauge {
        &self.admin_connections
    }

    /// The text that Prometheus scrapes.
    pub(crate) fn text(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

/// One of those that a gauge counts, until it is dropped, be it by a panic.
pub(crate) struct Counted(Gauge);

impl Counted {
    /// Counts one more.
    pub(crate) fn one_of(gauge: &Gauge) -> Self {
        gauge.inc();
        Counted(gauge.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.dec();
    }
}

fn registered<M: Metric + Clone + Default>(
    registry: &mut Registry,
    name: &'static str,
    help: &'static str,
) -> M {
    let metric = M::default();
    registry.register(name, help, metric.clone());
    metric
}
