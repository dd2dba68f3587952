//! Memory: acknowledged entries are stored exactly once and permanently, for their project alone.

mod database;
mod erased;
mod once;
mod outage;
mod readback;
mod bound;
mod search;
mod discoveries;

use e2e::{Client, Reply};
use serde_json::{Value, json};

/// An entry with this event.
fn entry(event: &str) -> Value {
    json!({ "timestamp": "2026-01-07T14:00:00Z", "event": event })
}

/// Appends to the progress log.
async fn append(client: &Client, entry: Value) -> Reply {
    let arguments = json!({ "file": "progress_log.jsonl", "entry": entry });
    client.call("write_memory_entry", arguments).await
}

/// The events of a page, in its order.
fn events(page: &Reply) -> Vec<String> {
    let entries = page.structured()["entries"].as_array().unwrap();
    let event = |found: &Value| found["entry"]["event"].as_str().unwrap().to_owned();
    entries.iter().map(event).collect()
}
