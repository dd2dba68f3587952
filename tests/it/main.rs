//! Archway's tests through the real path: one binary, so that one cluster serves them all.

mod architecture;
mod big_tree;
mod clients;
mod concurrency;
mod conformance;
mod confinement;
mod context;
mod contracts;
mod credentials;
mod dependencies;
mod embedder;
mod freshness;
mod history;
mod history_differential;
mod homes;
mod hostile;
mod isolation;
mod limits;
mod listening;
mod memory;
mod messages;
mod mounts;
mod outside;
mod paths;
mod progress;
mod revocation;
mod search_differential;
mod sessions;
mod shared_limits;
mod terms;
mod tidy;

use e2e::{Client, Harness, Repo, Stack, Tenant};

/// One tenant `acme` with one project `site`, and its client.
async fn serve(repo: Repo) -> (Stack, Client) {
    let stack = Harness::new()
        .tenant(Tenant::new("acme").project("site", repo))
        .start()
        .await;
    let client = stack.client("acme");
    (stack, client)
}
