//! The metrics that the roles expose, read from `/metrics` after every kind of work.
//!
//! prometheus-client omits a family without series. Families that only failures create are listed in
//! [`RARE`], each checked against the sources and against the metrics: one that a busy, healthy stack
//! exposes does not belong there.

use std::collections::{BTreeMap, BTreeSet};

use archway_gateway::terms::Level;
use e2e::{
    ChatModel, Client, Embeddings, Harness, Manner, RedisServer, Repo, Stack, Tenant, http::Request,
};
use serde_json::json;

use crate::tidy::sources;

/// Families without series while all is well.
const RARE: [&str; 7] = [
    "archway_gateway_bulkhead_refusals_total",
    "archway_gateway_circuit_openings_total",
    "archway_gateway_circuit_refusals_total",
    "archway_gateway_log_events_dropped_total",
    "archway_gateway_upstream_connections_lost_total",
    "archway_gateway_upstream_dns_failures_total",
    "archway_gateway_upstream_retries_total",
];
/// Metrics that appear late, from work in the background.
const LATE: [&str; 5] = [
    "archway_worker_index_run_seconds_count",
    "archway_worker_embedder_requests_total",
    "archway_worker_embedder_query_lookups_total",
    "archway_worker_chat_requests_total",
    "archway_worker_history_build_seconds_count",
];

/// Whether a healthy stack does not expose the metric.
pub(super) fn rarely_exposed(metric: &str) -> bool {
    RARE.contains(&metric)
}

/// Metrics by name, each with its labels.
pub(super) struct Exposed(BTreeMap<String, BTreeSet<String>>);

impl Exposed {
    /// The metrics after calls were served, refused and limited, the project was indexed and the limit
    /// store was lost.
    pub(super) async fn by_a_busy_stack() -> Exposed {
        let mut redis = RedisServer::start().await;
        let embedder = Embeddings::start(24).await;
        let model = ChatModel::start(Manner::Says("{}".to_owned())).await;
        let decision = "# 1. Use PostgreSQL\n\n## Status\n\nAccepted\n\n## Decision\n\nData MUST be \
                        kept in PostgreSQL.\n";
        let repo = Repo::new().file("docs/adr/0001-postgresql.md", decision);
        let acme = Tenant::new("acme").project("site", repo.commit());
        let harness = Harness::new()
            .tenant(acme.limit(Level::Key, "hello", 1))
            .embedder(&embedder)
            .chat(&model, "sk-sesame")
            .indexing()
            .configure(|config| config.limits.limits_url = Some(redis.url().into()));
        let stack = harness.start().await;
        let worker = stack.worker_admins()[0];
        let counts = async || {
            let text = metrics(stack.admin()).await;
            text.contains("limit_store_up{mode=\"shares\"} 1\n")
                .then_some(())
        };
        stack.eventually(counts).await;
        work(&stack.client("acme")).await;
        redis.kill();
        let gone = async || {
            stack.client("acme").call("hello", json!({})).await;
            let text = metrics(stack.admin()).await;
            let is_told = |name: &&str| text.contains(&format!("archway_gateway_{name}{{"));
            let told = ["limit_fallbacks_total", "limit_store_failures_total"];
            told.iter().all(is_told).then_some(text)
        };
        let mut text = stack.eventually(gone).await;
        text += &all_of_worker(&stack, worker).await;
        text += &crate::sync::places::metrics(&stack).await;
        Exposed::parse(&text)
    }

    fn parse(text: &str) -> Exposed {
        let mut metrics: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (series, _value) = line.rsplit_once(' ').expect("a value");
            let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
            let labels = labels.trim_end_matches('}').split(',');
            let names = labels.filter_map(|label| label.split_once('='));
            let names = names.map(|(name, _value)| name.to_owned());
            metrics.entry(name.to_owned()).or_default().extend(names);
        }
        Exposed(metrics)
    }

    /// The labels of a metric, if it is exposed.
    pub(super) fn labels(&self, metric: &str) -> Option<&BTreeSet<String>> {
        self.0.get(metric)
    }

    /// Asserts that each rare family is registered somewhere and not exposed by this stack.
    pub(super) fn assert_that_the_rare_are_rare(&self) {
        let sources = sources("gateway/src").into_iter();
        let sources: String = sources.map(|source| source.text).collect();
        for metric in RARE {
            let name = metric.strip_prefix("archway_gateway_").unwrap();
            let name = name.strip_suffix("_total").unwrap();
            assert!(sources.contains(&format!("\"{name}\"")), "{metric}");
            assert!(self.labels(metric).is_none(), "{metric} is not rare");
        }
    }
}

/// Calls of several kinds, and a request without a valid key.
async fn work(client: &Client) {
    for _ in 0..3 {
        client.call("hello", json!({})).await;
    }
    let path = "docs/adr/0001-postgresql.md";
    let file = json!({ "file_path": path });
    for (tool, arguments) in [
        ("read_file", json!({ "path": path })),
        ("grep_codebase", json!({ "pattern": "PostgreSQL" })),
        ("git_log", json!({})),
        ("git_blame", file),
        (
            "check_adr_alignment",
            json!({ "decision_description": "Data is kept in PostgreSQL." }),
        ),
    ] {
        client.call(tool, arguments).await;
    }
    let stranger = Client::new(client.address(), "awy_nobody");
    stranger.rpc("tools/list", json!({})).await;
}

async fn metrics(admin: std::net::SocketAddr) -> String {
    Request::new("GET", "/metrics").send(admin).await.text()
}

/// A worker's metrics, once its background work is done.
async fn all_of_worker(stack: &Stack, admin: std::net::SocketAddr) -> String {
    let client = stack.client("acme");
    let question = json!({ "query": "where data is kept" });
    let all = async || {
        // A query is embedded once there is an index.
        client.call("context_search", question.clone()).await;
        let text = metrics(admin).await;
        let is_told = |name: &&str| text.contains(&format!("{name}{{"));
        LATE.iter().all(is_told).then_some(text)
    };
    stack.eventually(all).await
}
