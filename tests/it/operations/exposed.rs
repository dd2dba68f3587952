//! The metrics that the roles expose, read from `/metrics` after every kind of work.

use std::collections::{BTreeMap, BTreeSet};

use archway_gateway::terms::Level;
use e2e::{
    ChatModel, Client, Embeddings, Harness, Manner, RedisServer, Repo, Stack, Tenant, http::Request,
};
use serde_json::json;

/// Metrics that appear late, from work in the background.
const LATE: [&str; 5] = [
    "archway_worker_index_run_seconds_count",
    "archway_worker_embedder_requests_total",
    "archway_worker_embedder_query_lookups_total",
    "archway_worker_chat_requests_total",
    "archway_worker_history_build_seconds_count",
];

/// Metrics by name, each with its labels.
pub(super) struct Exposed(BTreeMap<String, BTreeSet<String>>);

impl Exposed {
    /// The metrics of a [`BusyStack`].
    pub(super) async fn by_a_busy_stack() -> Exposed {
        let BusyStack {
            gateway,
            worker,
            sync,
        } = BusyStack::run().await;
        Exposed::parse(&(gateway + &worker + &sync))
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
}

/// What the processes of an installation expose after calls were served, refused and limited, the project was indexed
/// and the limit store was lost.
pub(crate) struct BusyStack {
    pub(crate) gateway: String,
    pub(crate) worker: String,
    pub(crate) sync: String,
}

impl BusyStack {
    /// Starts it, and reads its metrics.
    pub(crate) async fn run() -> BusyStack {
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
            .configure(|config| {
                config.limits.limits_url = Some(redis.url().into());
                config.tenant_metrics = 1;
            });
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
        BusyStack {
            gateway: stack.eventually(gone).await,
            worker: all_of_worker(&stack, worker).await,
            sync: crate::sync::places::metrics(&stack).await,
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
