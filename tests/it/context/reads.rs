//! Recent reads affect ranking: the caller's own reads, their modules, and everybody's reads of past
//! days.

use e2e::{Client, Harness, Key, Reply, Stack, Tenant};
use serde_json::{Value, json};

use super::{repo, results, search};

const PASSWORD: &str = "src/auth/password.rs";
const TOKEN: &str = "src/auth/token.rs";
const REPORT: &str = "src/weather/report.rs";

/// Two keys of one tenant.
async fn two_readers() -> (Stack, Client, Client) {
    let token = "/// Makes a token for the session of a user.\npub fn make_token() {}\n";
    let repo = repo().file(TOKEN, token).commit();
    let tenant = Tenant::new("acme").project("site", repo);
    let tenant = tenant.key(Key::new("other"));
    let stack = Harness::new().tenant(tenant).indexing().start().await;
    let (client, other) = (stack.client("acme"), stack.keyed("acme", "other"));
    search(&stack, &client, all()).await.structured();
    (stack, client, other)
}

/// A search that finds every file.
fn all() -> Value {
    json!({ "query": "a function of the user", "path_glob": "*.rs", "limit": 20 })
}

async fn read(client: &Client, path: &str) {
    let reply = client.call("read_file", json!({ "path": path })).await;
    reply.structured();
}

/// The boosts of a file: recency, module, frequency.
fn boosts(reply: &Reply, path: &str) -> [f64; 3] {
    let mut found = results(reply).iter();
    let ranking = &found.find(|found| found["path"] == path).unwrap()["ranking"];
    ["recency_boost", "module_boost", "frequency_boost"].map(|name| ranking[name].as_f64().unwrap())
}

/// Waits until the boosts of a file are these.
async fn boosted(stack: &Stack, client: &Client, path: &str, expected: [f64; 3]) -> Reply {
    let ask = async || {
        let reply = client.call("context_search", all()).await;
        (boosts(&reply, path) == expected).then_some(reply)
    };
    stack.eventually(ask).await
}

/// Scores fall, from 1 at most, and are what the rankings end with.
fn check_scores(reply: &Reply) {
    let score = |found: &Value| {
        let score = found["score"].as_f64().unwrap();
        assert!(
            found["score"].to_string().len() <= 6,
            "four digits: {score}"
        );
        assert_eq!(found["ranking"]["final"], found["score"]);
        assert!((0.0..=1.0).contains(&score), "{score}");
        score
    };
    let scores: Vec<f64> = results(reply).iter().map(score).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
}

#[tokio::test]
async fn a_callers_reads_rank_the_file_and_module_higher_for_that_caller() {
    let (stack, client, other) = two_readers().await;
    let reply = client.call("context_search", all()).await;
    for path in [PASSWORD, TOKEN, REPORT] {
        assert_eq!(boosts(&reply, path), [1.0; 3], "{path}");
    }
    check_scores(&reply);
    read(&client, PASSWORD).await;
    let reply = boosted(&stack, &client, PASSWORD, [1.5, 1.3, 1.01]).await;
    assert_eq!(boosts(&reply, TOKEN), [1.0, 1.3, 1.0], "of its module");
    assert_eq!(boosts(&reply, REPORT), [1.0; 3], "of another");
    assert_eq!(results(&reply)[0]["path"], PASSWORD);
    check_scores(&reply);
    let text = reply.text();
    for line in [
        "**Last Accessed**: just now (1 times this week)",
        "- Recency Boost: ×1.5 (accessed <24h ago)",
        "- Module Boost: ×1.3 (same module as current work)",
        "- Frequency Boost: ×1.01 (1 accesses this week)",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
    let reply = other.call("context_search", all()).await;
    assert_eq!(boosts(&reply, PASSWORD), [1.0, 1.0, 1.01]);
    assert_eq!(boosts(&reply, TOKEN), [1.0; 3]);
    assert!(!reply.text().contains("Last Accessed"), "{}", reply.text());
}

#[tokio::test]
async fn a_reader_counts_once_a_day_and_twenty_are_as_good_as_more() {
    let (stack, client, other) = two_readers().await;
    read(&client, PASSWORD).await;
    read(&client, PASSWORD).await;
    boosted(&stack, &client, PASSWORD, [1.5, 1.3, 1.01]).await;
    read(&client, PASSWORD).await;
    read(&other, PASSWORD).await;
    boosted(&stack, &client, PASSWORD, [1.5, 1.3, 1.02]).await;
    // Other readers on other days: reads a week ago do not count, earlier ones do.
    let owner = super::owner(&stack).await;
    let reads = "insert into file_accesses \
                     (tenant_id, project_id, principal, path, day, count, last_at) \
                 select tenant_id, id, 'key:' || n, $1, (now() at time zone 'utc')::date - $2, \
                        9, now() - make_interval(days => $2) \
                 from projects, generate_series(1, $3) as n";
    for (days, readers, frequency) in [(7, 10, 1.02), (6, 3, 1.05), (5, 100, 1.2)] {
        sqlx::query(reads)
            .bind(PASSWORD)
            .bind(days)
            .bind(readers)
            .execute(&owner)
            .await
            .unwrap();
        let reply = client.call("context_search", all()).await;
        assert_eq!(boosts(&reply, PASSWORD), [1.5, 1.3, frequency]);
    }
    // The caller's own read of two days ago is no longer recent.
    let older = "update file_accesses set last_at = now() - interval '25 hours' \
                 where path = $1 and last_at > now() - interval '1 hour'";
    sqlx::query(older)
        .bind(PASSWORD)
        .execute(&owner)
        .await
        .unwrap();
    let reply = client.call("context_search", all()).await;
    assert_eq!(boosts(&reply, PASSWORD), [1.0, 1.0, 1.2]);
    assert!(
        reply.text().contains("**Last Accessed**: 1 day ago"),
        "{}",
        reply.text()
    );
    owner.close().await;
}

#[tokio::test]
async fn a_discovery_of_the_module_that_a_caller_works_in_is_lifted() {
    let (stack, client, other) = two_readers().await;
    let discovery = json!({ "type": "rule", "content": "tokens are short", "module": "auth" });
    let id = client.call("record_discovery", discovery).await;
    let id = id.structured()["id"].clone();
    read(&client, PASSWORD).await;
    let query = json!({ "query": "tokens are short" });
    let module_boost = |reply: &Reply| {
        let mut found = results(reply).iter();
        let found = found.find(|found| found["id"] == id)?;
        found["ranking"]["module_boost"].as_f64()
    };
    for (client, boost) in [(&client, 1.3), (&other, 1.0)] {
        stack
            .eventually(async || {
                let reply = client.call("context_search", query.clone()).await;
                (module_boost(&reply) == Some(boost)).then_some(())
            })
            .await;
    }
}
