//! Limits as clients meet them: what does not widen them, what does, how they are set, and how a refusal
//! reads. A test that calls as fast as it can would see refills: a call of `hello` each 0.6 s. So these
//! tests set limits of a few calls per minute, and count.

use std::{collections::BTreeMap, slice, time::Duration};

use e2e::{
    Client, Harness, Key, Repo, Stack, Tenant, http::Request, until_limit_enforced, was_admitted,
};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

fn acme() -> Tenant {
    let repo = Repo::new().file("a.txt", "a").commit();
    Tenant::new("acme").project("site", repo).limited()
}

async fn serve(tenant: Tenant) -> Stack {
    let stack = Harness::new().tenant(tenant).start().await;
    stack.until_listening().await;
    stack
}

fn hello(client: &Client) -> Request {
    client.request("tools/call", json!({ "name": "hello", "arguments": {} }))
}

async fn passes(request: &Request, client: &Client) -> bool {
    was_admitted(&request.send(client.address()).await)
}

/// Calls `hello` as `request` makes it until it is refused. Returns how often it passed.
async fn admitted(client: &Client, mut request: impl AsyncFnMut(usize) -> Request) -> usize {
    for calls in 0..2_000 {
        if !passes(&request(calls).await, client).await {
            return calls;
        }
    }
    panic!("nothing was refused")
}

async fn handle(client: &Client) -> String {
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "e2e", "version": "1" },
    });
    let answer = client.rpc("initialize", params).await;
    answer.header("mcp-session-id").unwrap().to_owned()
}

#[tokio::test]
async fn new_sessions_and_labels_and_keys_rotated_buy_nothing() {
    let stack = serve(acme()).await;
    stack
        .set_limits(
            "acme",
            None,
            &[("key", "hello", 4), ("session", "hello", 3)],
        )
        .await;
    let client = stack.client("acme");
    until_limit_enforced(slice::from_ref(&client), "\"session:hello\";q=3;w=60").await;
    // The call that saw the limit enforced was the session's first of three. Its key has one more.
    assert!(admitted(&client, async |_| hello(&client)).await <= 2);
    let initialised = admitted(&client, async |_| {
        hello(&client).header("Mcp-Session-Id", &handle(&client).await)
    });
    assert_eq!(initialised.await, 1);
    let newer = client.clone().modern();
    let labelled = async |n: usize| hello(&newer).header("Archway-Session", &n.to_string());
    assert_eq!(admitted(&newer, labelled).await, 0);
    let rotated = stack.rotate(&client).await;
    assert_eq!(admitted(&rotated, async |_| hello(&rotated)).await, 0);
}

#[tokio::test]
async fn the_number_of_agents_multiplies_a_keys_limit_but_no_sessions() {
    let stack = serve(acme().key(Key::new("three").agents(3))).await;
    let client = stack.keyed("acme", "three");
    let began = Instant::now();
    let handles = [
        handle(&client).await,
        handle(&client).await,
        handle(&client).await,
    ];
    let own = admitted(&client, async |_| hello(&client)).await;
    assert!(
        (100..150).contains(&own),
        "{own} by a session of 100 a minute"
    );
    let refused = hello(&client).send(client.address()).await.json();
    let details = &refused["result"]["_meta"]["io.archway/error"]["error"]["details"];
    assert_eq!(
        (&details["scope"], &details["limit"]),
        (&json!("session"), &json!(100))
    );
    let mut all = own;
    for handle in &handles {
        all += admitted(&client, async |_| {
            hello(&client).header("Mcp-Session-Id", handle)
        })
        .await;
    }
    // 300 at once, and five per second since.
    let most = 300 + usize::try_from(began.elapsed().as_secs() + 1).unwrap() * 5;
    assert!((300..=most).contains(&all), "{all} of at most {most}");
}

#[tokio::test]
async fn the_most_specific_limit_holds_on_every_gateway_once_notified() {
    let harness = Harness::new()
        .replicas(2)
        .tenant(acme().key(Key::new("other")));
    let stack = harness.start().await;
    stack.until_listening().await;
    let of = |label: &str| [stack.at(0, "acme", label), stack.at(1, "acme", label)];
    let policies = async |label: &str, policy: &str| {
        until_limit_enforced(&of(label), policy).await;
    };
    policies("", "\"key:hello\";q=100;w=60").await;
    let tenants = "\"key:hello\";q=50;w=60";
    stack
        .set_limits("acme", None, &[("key", "hello", 50)])
        .await;
    policies("", tenants).await;
    policies("other", tenants).await;
    stack
        .set_limits("acme", Some(&stack.client("acme")), &[("key", "hello", 40)])
        .await;
    policies("", "\"key:hello\";q=40;w=60").await;
    policies("other", tenants).await;
}

#[tokio::test]
async fn a_limit_of_zero_lifts_its_own_level_only() {
    let stack = serve(acme()).await;
    let client = stack.client("acme");
    for (level, of, next) in [
        ("key", "hello", "\"session:hello\";q=100;w=60"),
        ("session", "hello", "\"tenant:hello\";q=1000;w=60"),
        ("tenant", "hello", "\"key\";q=1200;w=60"),
        ("key", "total", "\"tenant\";q=12000;w=60"),
    ] {
        stack.set_limits("acme", None, &[(level, of, 0)]).await;
        until_limit_enforced(slice::from_ref(&client), next).await;
    }
    stack
        .set_limits("acme", None, &[("tenant", "total", 0)])
        .await;
    let free = async || {
        let answer = hello(&client).send(client.address()).await;
        answer.header("ratelimit").is_none().then_some(())
    };
    stack.eventually(free).await;
}

#[tokio::test]
async fn a_refusal_is_the_same_in_both_eras_and_its_wait_suffices() {
    let stack = serve(acme()).await;
    let client = stack.client("acme");
    stack
        .set_limits(
            "acme",
            None,
            &[("key", "hello", 120), ("session", "hello", 0)],
        )
        .await;
    until_limit_enforced(slice::from_ref(&client), "\"key:hello\";q=120;w=60").await;
    admitted(&client, async |_| hello(&client)).await;
    for client in [client.clone(), client.modern()] {
        let mut told = BTreeMap::new();
        // A refill may come in between.
        let answer = loop {
            let answer = hello(&client).send(client.address()).await;
            if !was_admitted(&answer) {
                break answer;
            }
        };
        let result = &answer.json()["result"];
        let error = &result["_meta"]["io.archway/error"]["error"];
        for name in ["scope", "of", "limit", "remaining"] {
            told.insert(name, error["details"][name].clone());
        }
        let expected = BTreeMap::from([
            ("scope", json!("key")),
            ("of", json!("hello")),
            ("limit", json!(120)),
            ("remaining", json!(0)),
        ]);
        assert_eq!(told, expected);
        assert_eq!(result["isError"], true);
        assert_eq!(answer.header("retry-after"), Some("1"));
        let text: Value =
            serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(&text["error"], error);
        let seconds = error["details"]["retry_after_seconds"].as_f64().unwrap();
        assert!((0.0..=0.5).contains(&seconds), "{seconds}");
        sleep(Duration::from_secs_f64(seconds)).await;
        assert!(passes(&hello(&client), &client).await);
    }
}

#[tokio::test]
async fn other_methods_over_a_limit_get_429_even_if_unreadable() {
    let stack = serve(acme()).await;
    let client = stack.client("acme");
    stack.set_limits("acme", None, &[("key", "total", 1)]).await;
    let refused = async || {
        let answer = client.rpc("tools/list", json!({})).await;
        (answer.status == 429).then_some(answer)
    };
    let answer = stack.eventually(refused).await;
    let error = &answer.json()["error"];
    assert_eq!(error["code"], 42900);
    assert_eq!(error["data"]["scope"], "key");
    let seconds = error["data"]["retry_after_seconds"].as_f64().unwrap();
    let header: f64 = answer.header("retry-after").unwrap().parse().unwrap();
    assert!(
        seconds > 50.0 && header == seconds.ceil(),
        "{seconds} {header}"
    );
    let unread = client.request("tools/list", json!({})).body("{");
    let answer = unread.send(client.address()).await;
    assert_eq!(
        (answer.status, &answer.json()["error"]["code"]),
        (429, &json!(42900))
    );
    assert!(answer.json().get("id").is_none());
    let end = Request::new("DELETE", "/mcp");
    let end = end.header("Authorization", &format!("Bearer {}", client.key()));
    assert_eq!(end.send(client.address()).await.status, 429);
}
