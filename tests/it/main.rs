//! Archway's tests through the real path: one binary, so that one database cluster serves them all.

mod alerts;
mod architecture;
mod audit;
mod big_tree;
mod chart;
mod clients;
mod compose;
mod concurrency;
mod conformance;
mod confinement;
mod console;
mod context;
mod contracts;
mod credentials;
mod dependencies;
mod embedder;
mod freshness;
mod history;
mod history_differential;
mod vector_stores;
mod hostile;
mod isolation;
mod issuers;
mod limits;
mod listening;
mod memory;
mod messages;
mod mounts;
mod operations;
mod programs;
mod paths;
mod progress;
mod prompts;
mod resources;
mod revocation;
mod search_differential;
mod sessions;
mod shared_limits;
mod sync;
mod terms;
mod tidy;
mod traces;
mod workflow;

use std::{env, str::FromStr};

use e2e::{Client, Harness, Repo, Stack, Tenant};
use serde_json::Value;

/// A number from the environment, for the long form of a test or a run to repeat, or the default.
fn number_from<N: FromStr>(variable: &str, default: N) -> N {
    env::var_os(variable).map_or(default, |text| {
        let number = text.to_str().and_then(|text| text.parse().ok());
        number.unwrap_or_else(|| panic!("{variable} is not a number"))
    })
}

/// A stack with one tenant `acme` and one project `site`, and its client.
async fn serve(repo: Repo) -> (Stack, Client) {
    let stack = Harness::new()
        .tenant(Tenant::new("acme").project("site", repo))
        .start()
        .await;
    let client = stack.client("acme");
    (stack, client)
}

/// The result of a method other than `tools/call`.
async fn result(client: &Client, method: &str, params: Value) -> Value {
    let message = client.rpc(method, params.clone()).await.json();
    let result = message.get("result");
    result
        .unwrap_or_else(|| panic!("{method} {params} → {message}"))
        .clone()
}

/// The error of a refused method, under HTTP 200.
async fn refused(client: &Client, method: &str, params: Value) -> Value {
    let response = client.rpc(method, params.clone()).await;
    let message = response.json();
    let error = message.get("error");
    assert_eq!(response.status, 200, "{message}");
    error
        .unwrap_or_else(|| panic!("{method} {params} → {message}"))
        .clone()
}
