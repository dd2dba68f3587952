//! Without Postgres a cached index still answers, and other queries fail soon.

use e2e::{Client, Harness, Reply, Tenant};
use serde_json::{Value, json};
use tokio::time::{Duration, Instant};

use super::{indexed, paths, repo, search, until};

/// The default deadline of a call.
const DEADLINE: Duration = Duration::from_secs(10);

async fn soon(client: &Client, arguments: Value) -> Reply {
    let asked = Instant::now();
    let reply = client.call("context_search", arguments).await;
    let took = asked.elapsed();
    assert!(took < DEADLINE, "{took:?}");
    reply
}

#[tokio::test]
async fn code_is_found_while_postgres_is_away_and_notes_again_once_it_is_back() {
    let (stack, client) = indexed(repo()).await;
    let query = json!({ "query": "is the password of this user right" });
    search(&stack, &client, query.clone()).await.structured();
    stack.database().close().await;
    let reply = soon(&client, query).await;
    assert_eq!(paths(&reply)[0], "src/auth/password.rs");
    // A filter by notes needs Postgres, so it cannot be answered.
    let rules = json!({ "query": "passwords", "type": "rule" });
    let refused = soon(&client, rules).await;
    assert_eq!(refused.code(), "unavailable");
    let error = refused.error().to_string();
    assert!(
        !error.contains("postgres") && error.contains("retry_after_seconds"),
        "{error}"
    );

    stack.database().open().await;
    let discovery = json!({ "type": "rule", "content": "thermometers lie" });
    let id = stack
        .eventually(async || {
            let reply = client.call("record_discovery", discovery.clone()).await;
            (!reply.is_error()).then(|| reply.structured()["id"].clone())
        })
        .await;
    let query = json!({ "query": "thermometers lie" });
    until(&stack, &client, query, |found| found["id"] == id).await;
}

#[tokio::test]
async fn a_cut_connection_is_replaced_and_uncached_projects_are_refused() {
    let tenant = Tenant::new("acme").project("site", repo());
    let tenant = tenant.project("shop", repo());
    let stack = Harness::new().tenant(tenant).indexing().start().await;
    let client = stack.client("acme");
    let site = json!({ "query": "weather", "project": "site" });
    search(&stack, &client, site.clone()).await.structured();
    stack.database().cut().await;
    let reply = soon(&client, site.clone()).await;
    assert_eq!(paths(&reply)[0], "src/weather/report.rs");
    stack.database().close().await;
    let shop = json!({ "query": "weather", "project": "shop" });
    let refused = soon(&client, shop.clone()).await;
    assert_eq!(refused.code(), "unavailable");
    assert_eq!(
        paths(&soon(&client, site).await)[0],
        "src/weather/report.rs"
    );
    stack.database().open().await;
    let report = "src/weather/report.rs";
    until(&stack, &client, shop, |found| found["path"] == report).await;
}
