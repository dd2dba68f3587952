//! The gateway's metrics. Labels come from closed sets, such as the tools of the catalog and the
//! outcomes.
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
pub(crate) use gauge_guard::GaugeGuard;
pub(crate) use limit_store::LimitStoreMetrics;
pub(crate) use limits::LimitMetrics;
pub(crate) use outcome_class::OutcomeClass;
pub(crate) use tenants::{CallSize, TenantMetrics};
pub(crate) use tools::{Outcome, ToolMetrics, ToolSums};
pub(crate) use unread::UnreadMetrics;
pub(crate) use upstream::UpstreamMetrics;

use crate::recent::{RecentCalls, Refusals};

mod audit;
mod bodies;
mod breaker;
mod gauge_guard;
mod limit_store;
mod limits;
mod outcome_class;
mod tenants;
mod tools;
mod unread;
mod upstream;

/// The tool label for names that are not in the catalog.
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

/// The gateway's metrics.
pub(crate) struct Metrics {
    registry: Registry,
    /// Circuits and bulkheads.
    pub(crate) breaker: Arc<BreakerMetrics>,
    audit: AuditMetrics,
    requests: Family<StatusLabel, Counter>,
    tools: ToolMetrics,
    tenants: Option<TenantMetrics>,
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
    limit_store: LimitStoreMetrics,
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
            tenants: None,
            failed_credentials: registered(
                own,
                "failed_credentials",
                "Requests with an invalid credential, by reason",
            ),
            issuer_reads: registered(
                own,
                "issuer_key_reads",
                "Fetches of OIDC issuers' keys, by outcome",
            ),
            dropped_logs: counted_by_reason(own, DROPPED_LOGS, DROP_REASONS),
            connections: registered(own, "connections", "Open client connections"),
            admin_connections: registered(
                own,
                "admin_connections",
                "Open connections of the admin port",
            ),
            listening: registered(
                own,
                "listening_for_changes",
                "1 while the connection for change notifications is up, else 0",
            ),
            ready: registered(own, "ready", "1 while /readyz answers 200, else 0"),
            sessions_kept: registered(
                own,
                "sessions_kept",
                "Sessions stored because they were ended or have a log level",
            ),
            bodies: BodyMetrics::new(own),
            unread: UnreadMetrics::new(own),
            limits: LimitMetrics::new(own, refusals.clone()),
            limit_store: LimitStoreMetrics::new(own),
            upstream: UpstreamMetrics::new(own),
            refusals,
            recent_calls: RecentCalls::default(),
            registry,
        }
    }

    /// Counts calls by tenant as well, so many of them by name; 0: by none.
    pub(crate) fn by_tenant(mut self, most: u16) -> Self {
        self.tenants = (most > 0).then(|| TenantMetrics::new(&mut self.registry, most));
        self
    }

    /// Metrics by tenant, if the operator asked for them.
    pub(crate) fn tenants(&self) -> Option<&TenantMetrics> {
        self.tenants.as_ref()
    }

    /// Metrics of the audit trail.
    pub(crate) fn audit(&self) -> &AuditMetrics {
        &self.audit
    }

    /// Metrics of large request bodies.
    pub(crate) fn bodies(&self) -> &BodyMetrics {
        &self.bodies
    }

    /// Metrics of unread answers.
    pub(crate) fn unread(&self) -> &UnreadMetrics {
        &self.unread
    }

    /// Metrics of the shared store of limits.
    pub(crate) fn limit_store(&self) -> &LimitStoreMetrics {
        &self.limit_store
    }

    /// Metrics of tool calls.
    pub(crate) fn tools(&self) -> &ToolMetrics {
        &self.tools
    }

    /// Metrics of limits.
    pub(crate) fn limits(&self) -> &LimitMetrics {
        &self.limits
    }

    /// Metrics of the workers and their connections.
    pub(crate) fn upstream(&self) -> &UpstreamMetrics {
        &self.upstream
    }

    /// Sets whether the connection for change notifications is up.
    pub(crate) fn listening(&self, listening: bool) {
        self.listening.set(i64::from(listening));
    }

    /// Sets whether the gateway is ready.
    pub(crate) fn ready(&self, ready: bool) {
        self.ready.set(i64::from(ready));
    }

    /// Sets the number of stored sessions.
    pub(crate) fn sessions_kept(&self, count: usize) {
        self.sessions_kept
            .set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// Recent refusals by reason.
    pub(crate) fn refusals(&self) -> &Refusals {
        &self.refusals
    }

    /// The last calls.
    pub(crate) fn recent_calls(&self) -> &RecentCalls {
        &self.recent_calls
    }

    /// Counts an answered request.
    pub(crate) fn request(&self, status: http::StatusCode) {
        self.requests
            .get_or_create(&StatusLabel {
                status: status.as_u16(),
            })
            .inc();
    }

    /// Counts a credential that was present and invalid. `reason` is a label from `auth`, or
    /// `throttled` once its source failed too often.
    pub(crate) fn failed_credential(&self, reason: &'static str) {
        self.refusals.count("bad_credential", Some(reason.into()));
        self.failed_credentials
            .get_or_create(&ReasonLabel { reason })
            .inc();
    }

    /// Counts a fetch of an issuer's keys.
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

    /// Open client connections.
    pub(crate) fn connections(&self) -> &Gauge {
        &self.connections
    }

    /// Open connections of the admin port.
    pub(crate) fn admin_connections(&self) -> &Gauge {
        &self.admin_connections
    }

    /// The exposition that Prometheus scrapes.
    pub(crate) fn text(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
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

/// Name and help of the log events that a client did not get.
const DROPPED_LOGS: (&str, &str) = (
    "log_events_dropped",
    "Log events of tools that a client asked for and did not get, by reason",
);

const DROP_REASONS: [&str; 3] = ["malformed", "oversized", "excess"];

/// A counter with these values of the label `reason`, each beginning at 0. A counter that begins with its first event
/// hides that event from `increase`.
fn counted_by_reason<const N: usize>(
    registry: &mut Registry,
    (name, help): (&'static str, &'static str),
    reasons: [&'static str; N],
) -> Family<ReasonLabel, Counter> {
    let counters: Family<ReasonLabel, Counter> = registered(registry, name, help);
    for reason in reasons {
        drop(counters.get_or_create(&ReasonLabel { reason }));
    }
    counters
}
