//! `context_search` with Qdrant as its store: finds chunks, reports outages, and keeps tenants apart.

use std::time::Duration;

use e2e::{Client, Harness, Qdrant, Reply, Repo, Stack, Tenant, http::Request};
use serde_json::{Value, json};
use tokio::time::Instant;

const PASSWORD: &str = "\
/// Checks that the password of a user is the one that was set, in constant time.
pub fn verify_password(user: &User, given: &str) -> bool {
    constant_time_eq(user.hash.as_bytes(), hash(given).as_bytes())
}
";
const WEATHER: &str = "\
/// Reads the temperature from a line of the weather report.
pub fn parse_temperature(line: &str) -> Option<f32> {
    line.split_whitespace().nth(3)?.parse().ok()
}
";

fn acme() -> Tenant {
    let repo = Repo::new()
        .file("src/auth/password.rs", PASSWORD)
        .file("src/weather/report.rs", WEATHER);
    Tenant::new("acme").project("site", repo.commit())
}

async fn ask(client: &Client, query: &str) -> Reply {
    client
        .call("context_search", json!({ "query": query }))
        .await
}

/// The results, best first, once a search answers.
async fn found(stack: &Stack, client: &Client, query: &str) -> Vec<Value> {
    let answered = async || {
        let reply = ask(client, query).await;
        (!reply.is_error()).then(|| reply.structured()["results"].as_array().unwrap().clone())
    };
    stack.eventually(answered).await
}

async fn is_told_to_grep(client: &Client) {
    let reply = ask(client, "is the password right").await;
    assert!(reply.is_error(), "{}", reply.text());
    assert_eq!(reply.code(), "index_not_ready");
    assert!(reply.text().contains("grep_codebase"), "{}", reply.text());
    assert!(!reply.text().contains("127.0.0.1"), "{}", reply.text());
    let grep = json!({ "pattern": "constant_time_eq" });
    let grep = client.call("grep_codebase", grep).await;
    assert_eq!(grep.structured()["totalMatches"], 1);
}

#[tokio::test]
async fn code_is_found_by_what_it_does() {
    let qdrant = Qdrant::start().await;
    let stack = Harness::new().tenant(acme()).qdrant(&qdrant).start().await;
    let client = stack.client("acme");
    let results = found(&stack, &client, "is the password of this user right").await;
    assert_eq!(results[0]["path"], "src/auth/password.rs");
    assert_eq!(results[0]["symbol"], "verify_password");
    let ranking = &results[0]["ranking"];
    for part in ["semantic", "lexical"] {
        assert!(ranking[part].as_f64().unwrap() > 0.0, "{ranking}");
    }
    let reply = ask(&client, "temperature").await;
    assert_eq!(reply.structured()["index"]["mode"], "hybrid");
    assert_eq!(
        reply.structured()["results"][0]["path"],
        "src/weather/report.rs"
    );
}

#[tokio::test]
async fn without_qdrant_errors_suggest_grep_until_it_is_back() {
    let mut qdrant = Qdrant::start().await;
    let stack = Harness::new().tenant(acme()).qdrant(&qdrant).start().await;
    let client = stack.client("acme");
    found(&stack, &client, "is the password right").await;
    qdrant.stop();
    let began = Instant::now();
    is_told_to_grep(&client).await;
    assert!(began.elapsed() < Duration::from_secs(10));
    let metrics = Request::new("GET", "/metrics")
        .send(stack.worker_admins()[0])
        .await
        .text();
    for (operation, outcome) in [("search", "answered"), ("search", "away")] {
        let labels = format!("{{operation=\"{operation}\",outcome=\"{outcome}\"}}");
        let told = format!("archway_worker_index_store_requests_total{labels} ");
        assert!(metrics.contains(&told), "{told} in {metrics}");
    }
    qdrant.start_again().await;
    let results = found(&stack, &client, "is the password right").await;
    assert_eq!(results[0]["path"], "src/auth/password.rs");
}

#[tokio::test]
async fn with_a_silent_qdrant_errors_come_before_the_deadline() {
    let qdrant = Qdrant::start().await;
    let stack = Harness::new().tenant(acme()).qdrant(&qdrant);
    let stack = stack.configure(|config| config.upstream.call_deadline = 12);
    let stack = stack.start().await;
    let client = stack.client("acme");
    found(&stack, &client, "is the password right").await;
    qdrant.fall_silent();
    is_told_to_grep(&client).await;
    qdrant.speak();
    let results = found(&stack, &client, "is the password right").await;
    assert_eq!(results[0]["path"], "src/auth/password.rs");
}

#[tokio::test]
async fn tenants_of_one_qdrant_find_their_own_alone() {
    let qdrant = Qdrant::start().await;
    // Each has a text that the other has too, and one of its own.
    let repo = Repo::new()
        .file("src/weather/report.rs", WEATHER)
        .file("src/sky.rs", "/// Sesame.\npub fn open_sesame() {}\n");
    let zeta = Tenant::new("zeta").project("site", repo.commit());
    let stack = Harness::new().tenant(acme()).tenant(zeta);
    let stack = stack.qdrant(&qdrant).start().await;
    let cases = [
        ("acme", ["src/auth/password.rs", "src/weather/report.rs"]),
        ("zeta", ["src/sky.rs", "src/weather/report.rs"]),
    ];
    for (tenant, own) in cases {
        let client = stack.client(tenant);
        found(&stack, &client, "temperature").await;
        for query in ["open sesame", "password of a user", "temperature"] {
            // With a filter every match is returned, however far.
            let all = json!({ "query": query, "path_glob": "**", "limit": 20 });
            let reply = client.call("context_search", all).await;
            let results = reply.structured()["results"].as_array().unwrap();
            let paths = results.iter().filter_map(|it| it["path"].as_str());
            let mut paths: Vec<_> = paths.collect();
            paths.sort_unstable();
            paths.dedup();
            assert_eq!(paths, own, "{tenant}: {query}");
        }
    }
}
