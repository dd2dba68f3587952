//! The architecture of a project: its documents, and the tools that answer questions about them.

mod align;
mod documents;
mod own;
mod refined;
mod search;
mod service;
mod validate;
mod ownership;

use e2e::{Client, Reply, Repo};
use serde_json::{Value, json};

const ORDERS: &str = "# 1. Store orders in Postgres\n\nDate: 2024-01-02\n\n## Status\n\nAccepted\n\n\
    ## Context\n\nOrders must survive a crash. Files were lost twice.\n\n## Decision\n\n\
    We will keep orders in a relational database. It is PostgreSQL, since the team knows it.\n\n\
    ## Consequences\n\nBackups have to be tested.\n";
const EVENTS: &str = "---\nstatus: accepted\ndate: 2024-03-04\n---\n# Publish events with Kafka\n\n\
    ## Context and Problem Statement\n\nHow do services hear of new orders?\n\n\
    ## Considered Options\n\n* Kafka\n* RabbitMQ\n\n## Decision Outcome\n\n\
    Chosen option: \"Kafka\", because consumers read at their own pace.\n";
const LOGS: &str =
    "# Logging\n\nEvery line of a log is one JSON object. It MUST carry the `trace_id`.\n";
const REPOSITORY: &str =
    "# Repository pattern\n\n## Intent\n\nAccess to a database stands behind an interface.\n";

/// A project with documents of each kind.
fn documented() -> Repo {
    Repo::new()
        .file("docs/adr/0001-orders.md", ORDERS)
        .file("docs/adr/0002-events.md", EVENTS)
        .file("docs/adr/README.md", "# Decisions about orders\n")
        .file("docs/architecture/guidelines/logging.md", LOGS)
        .file("docs/architecture/patterns/repository.md", REPOSITORY)
        .file("src/orders.rs", "// Kafka, Postgres\n")
}

async fn search(client: &Client, query: &str) -> Reply {
    ask(client, json!({ "query": query })).await
}

async fn ask(client: &Client, arguments: Value) -> Reply {
    let reply = client.call("search_architecture", arguments).await;
    assert!(!reply.is_error(), "{}", reply.text());
    reply
}

fn results(reply: &Reply) -> &[Value] {
    reply.structured()["results"].as_array().unwrap()
}

fn uris(reply: &Reply) -> Vec<&str> {
    let results = results(reply).iter();
    results
        .map(|result| result["uri"].as_str().unwrap())
        .collect()
}
