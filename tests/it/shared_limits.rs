//! Limits that gateways share through a real redis-server: each call is counted once, and calls are
//! answered whatever happens to the server.
//!
//! The tenants have only the limits that a test sets. A refill may come at any time, so counts are
//! compared with the limit plus the refill meanwhile.

use std::time::Duration;

use e2e::{
    Client, Harness, RedisServer, Repo, Stack, Tenant,
    http::{Request, Response},
    was_admitted,
};
use futures::future::join_all;
use serde_json::json;
use tokio::time::Instant;

mod outages;

/// A timeout in milliseconds that a running server never reaches, even on a busy machine.
const PATIENT: u64 = 5_000;

fn acme() -> Tenant {
    Tenant::new("acme").project("site", Repo::new().file("a.txt", "a").commit())
}

/// Gateways that share this store.
fn gateways(count: usize, url: &str) -> Harness {
    let harness = Harness::new().tenant(acme()).replicas(count);
    harness.configure(|config| {
        config.limits.limits_url = Some(url.into());
        config.limits.limits_timeout = PATIENT;
    })
}

/// Waits until each gateway reports the store as up (1) or down (0).
async fn until_up(stack: &Stack, up: u8) {
    let up = format!("}} {up}");
    let all = async || {
        let texts = join_all(stack.admins().into_iter().map(metrics)).await;
        let is_it = |line: &str| {
            line.starts_with("archway_gateway_limit_store_up{mode=") && line.ends_with(&up)
        };
        let said = |text: &String| text.lines().any(is_it);
        texts.iter().all(said).then_some(())
    };
    stack.eventually(all).await;
}

async fn metrics(admin: std::net::SocketAddr) -> String {
    Request::new("GET", "/metrics").send(admin).await.text()
}

/// The sum of a metric over all gateways and labels.
async fn sum(stack: &Stack, name: &str) -> f64 {
    let texts = join_all(stack.admins().into_iter().map(metrics)).await;
    let lines = texts.iter().flat_map(|text| text.lines());
    let values = lines.filter(|line| line.starts_with(&format!("archway_gateway_{name}")));
    values
        .map(|line| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap())
        .sum()
}

/// Sets a limit of the tenant, before its key is first used or with a second to wait.
async fn set(stack: &Stack, level: &str, of: &str, per_minute: u32) {
    let limit = (level, of, per_minute);
    stack.set_limits("acme", None, &[limit]).await;
}

fn clients(stack: &Stack) -> Vec<Client> {
    let count = stack.gateways().len();
    (0..count)
        .map(|gateway| stack.at(gateway, "acme", ""))
        .collect()
}

async fn call(client: &Client, tool: &str) -> Response {
    let arguments = match tool {
        "grep_codebase" => json!({ "pattern": "a" }),
        _ => json!({}),
    };
    let params = json!({ "name": tool, "arguments": arguments });
    client.rpc("tools/call", params).await
}

/// Calls `hello` on all clients at once, by several callers each, until each caller was refused twice.
/// Returns how often it was admitted, and how long that took.
async fn admitted(clients: &[Client], callers: usize) -> (usize, Duration) {
    let began = Instant::now();
    let caller = |client: Client| async move {
        let (mut passes, mut refusals) = (0, 0);
        while refusals < 2 {
            match was_admitted(&call(&client, "hello").await) {
                true => passes += 1,
                false => refusals += 1,
            }
        }
        passes
    };
    let all = clients.iter().cycle().take(clients.len() * callers);
    let counts: Vec<usize> = join_all(all.map(|client| caller(client.clone()))).await;
    (counts.iter().sum(), began.elapsed())
}

/// Asserts that this many passed of a limit per minute: all of it at once, plus the refill since.
fn assert_once(limit: f64, (passes, took): (usize, Duration)) {
    let most = limit * 1.02 + limit / 60.0 * took.as_secs_f64() + 1.0;
    let passes = f64::from(u32::try_from(passes).unwrap());
    assert!(
        (limit..=most).contains(&passes),
        "{passes} passed of {limit} a minute in {took:?}, at most {most}"
    );
}

#[tokio::test]
async fn three_gateways_on_one_store_admit_a_limit_once() {
    let redis = RedisServer::start().await;
    let stack = gateways(3, &redis.url()).start().await;
    set(&stack, "key", "hello", 600).await;
    until_up(&stack, 1).await;
    assert_once(600.0, admitted(&clients(&stack), 4).await);
    assert_eq!(sum(&stack, "limit_fallbacks").await, 0.0);
    assert!(sum(&stack, "limit_store_duration_seconds_count").await >= 600.0);
}

#[tokio::test]
async fn a_refusal_at_one_gateway_costs_nothing_at_any_other() {
    let redis = RedisServer::start().await;
    let stack = gateways(3, &redis.url()).start().await;
    set(&stack, "tenant", "total", 6).await;
    set(&stack, "key", "grep_codebase", 3).await;
    until_up(&stack, 1).await;
    let clients = clients(&stack);
    // One search takes five units of six. The sixth is too few for another search, and enough for hello.
    assert!(was_admitted(&call(&clients[0], "grep_codebase").await));
    for client in clients.iter().cycle().take(5) {
        let answer = call(client, "grep_codebase").await;
        assert!(!was_admitted(&answer));
        let policy = answer.header("ratelimit-policy");
        assert_eq!(policy, Some("\"tenant\";q=6;w=60"));
    }
    assert!(was_admitted(&call(&clients[1], "hello").await));
    set(&stack, "tenant", "total", 0).await;
    let lifted = async || was_admitted(&call(&clients[2], "grep_codebase").await).then_some(());
    stack.eventually(lifted).await;
    assert!(
        was_admitted(&call(&clients[0], "grep_codebase").await),
        "the third of three"
    );
    assert!(!was_admitted(&call(&clients[1], "grep_codebase").await));
}

#[tokio::test]
async fn calls_of_a_refused_caller_do_not_reach_the_store() {
    let redis = RedisServer::start().await;
    let stack = gateways(1, &redis.url()).start().await;
    set(&stack, "key", "hello", 1).await;
    until_up(&stack, 1).await;
    let client = stack.client("acme");
    assert!(was_admitted(&call(&client, "hello").await));
    assert!(!was_admitted(&call(&client, "hello").await));
    let before = redis.scripts_run().await;
    let flood = (0..50).map(|_| call(&client, "hello"));
    for answer in join_all(flood).await {
        assert!(!was_admitted(&answer));
        assert_eq!(
            answer.header("ratelimit-policy"),
            Some("\"key:hello\";q=1;w=60")
        );
    }
    // The gateway checks the store once a second.
    let asked = redis.scripts_run().await - before;
    assert!(asked < 10, "{asked} of 50");
}

#[tokio::test]
async fn foreign_values_under_our_store_keys_are_overwritten() {
    let redis = RedisServer::start().await;
    let stack = gateways(1, &redis.url()).start().await;
    set(&stack, "key", "hello", 2).await;
    until_up(&stack, 1).await;
    let client = stack.client("acme");
    assert!(was_admitted(&call(&client, "hello").await));
    let poison = r#"EVAL "for i,k in ipairs(redis.call('KEYS','archway:*')) do redis.call('DEL',k) redis.call('HSET',k,'a',1) end return redis.call('DBSIZE')" 0"#;
    assert_ne!(redis.ask(poison).await, ":0", "there was a bucket");
    assert!(
        was_admitted(&call(&client, "hello").await),
        "an empty bucket"
    );
    assert!(was_admitted(&call(&client, "hello").await));
    assert!(!was_admitted(&call(&client, "hello").await));
    assert_eq!(sum(&stack, "limit_fallbacks").await, 0.0);
}
