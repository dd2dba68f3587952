//! Limits as clients meet them: what buys nothing, what multiplies, what is set otherwise, and how a
//! refusal reads. A tool that is called as fast as a test can refills meanwhile: one call of `hello`
//! in 0.6 s. So these tests set limits of a few calls a minute, and count.

use std::{collections::BTreeMap, time::Duration};

use e2e::{
    Client, Harness, Key, Repo, Stack, Tenant,
    http::{Request, Response},
};
use serde_json::{Value, json};
use sqlx::PgPool;
use tokio::time::{Instant, sleep, timeout};

/// In which a change is in force everywhere.
const EVERYWHERE: Duration = Duration::from_secs(1);

fn acme() -> Tenant {
    let repo = Repo::new().file("a.txt", "a").commit();
    Tenant::new("acme").project("site", repo).limited()
}

async fn serve(tenant: Tenant) -> Stack {
    Harness::new().tenant(tenant).start().await
}

/// Sets limits of the tenant `acme`, for all its keys or for that of one client: levels, tools, and
/// how much a minute. All of them come into force at once.
async fn set(stack: &Stack, of: Option<&Client>, limits: &[(&str, &str, i32)]) {
    let owner = PgPool::connect_with(stack.database().owner())
        .await
        .unwrap();
    let key = of.map(|client| client.key().split('_').nth(1).unwrap().to_owned());
    let mut change = owner.begin().await.unwrap();
    for (level, of, per_minute) in limits {
        let written = sqlx::query(
            "insert into limits (tenant_id, lineage, level, of, per_minute) \
             select $1, (select lineage from api_keys where id = $2), $3, $4, $5 \
             on conflict (tenant_id, lineage, level, of) do update set per_minute = $5",
        )
        .bind(stack.tenant_id("acme"))
        .bind(&key)
        .bind(level)
        .bind(of)
        .bind(per_minute)
        .execute(&mut *change);
        assert_eq!(written.await.unwrap().rows_affected(), 1);
    }
    change.commit().await.unwrap();
    owner.close().await;
}

fn hello(client: &Client) -> Request {
    client.request("tools/call", json!({ "name": "hello", "arguments": {} }))
}

fn is_limited(answer: &Response) -> bool {
    assert_eq!(answer.status, 200, "{}", answer.text());
    let error = &answer.json()["result"]["_meta"]["io.archway/error"]["error"];
    assert!(
        error.is_null() || error["code"] == "rate_limited",
        "{error}"
    );
    !error.is_null()
}

async fn passes(request: &Request, client: &Client) -> bool {
    !is_limited(&request.send(client.address()).await)
}

/// Calls `hello` as `request` makes it until it is refused; how often it passed.
async fn passed(client: &Client, mut request: impl AsyncFnMut(usize) -> Request) -> usize {
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

/// Waits until the gateway has read of a limit of `hello` that the answers' headers tell of.
async fn in_force(client: &Client, policy: &str) {
    let waiting = async {
        loop {
            let answer = hello(client).send(client.address()).await;
            if answer.header("ratelimit-policy") == Some(policy) {
                return;
            }
            // What is asked too often is answered late.
            sleep(Duration::from_millis(25)).await;
        }
    };
    let waited = timeout(EVERYWHERE, waiting).await;
    assert!(
        waited.is_ok(),
        "{policy} is not in force within {EVERYWHERE:?}"
    );
}

#[tokio::test]
async fn new_sessions_and_labels_and_keys_rotated_buy_nothing() {
    let stack = serve(acme()).await;
    set(
        &stack,
        None,
        &[("key", "hello", 4), ("session", "hello", 3)],
    )
    .await;
    let client = stack.client("acme");
    in_force(&client, "\"session:hello\";q=3;w=60").await;
    // The call that saw it in force was the session's first of three. Its key has one more.
    assert!(passed(&client, async |_| hello(&client)).await <= 2);
    let initialised = passed(&client, async |_| {
        hello(&client).header("Mcp-Session-Id", &handle(&client).await)
    });
    assert_eq!(initialised.await, 1);
    let newer = client.clone().modern();
    let labelled = async |n: usize| hello(&newer).header("Archway-Session", &n.to_string());
    assert_eq!(passed(&newer, labelled).await, 0);
    let rotated = stack.rotate(&client).await;
    assert_eq!(passed(&rotated, async |_| hello(&rotated)).await, 0);
}

#[tokio::test]
async fn agents_multiply_what_a_key_may_spend_and_no_session_of_it() {
    let stack = serve(acme().key(Key::new("three").agents(3))).await;
    let client = stack.keyed("acme", "three");
    let began = Instant::now();
    let handles = [
        handle(&client).await,
        handle(&client).await,
        handle(&client).await,
    ];
    let own = passed(&client, async |_| hello(&client)).await;
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
        all += passed(&client, async |_| {
            hello(&client).header("Mcp-Session-Id", handle)
        })
        .await;
    }
    // 300 at once and five a second since.
    let most = 300 + usize::try_from(began.elapsed().as_secs() + 1).unwrap() * 5;
    assert!((300..=most).contains(&all), "{all} of at most {most}");
}

#[tokio::test]
async fn the_most_specific_limit_holds_within_a_second_on_every_gateway() {
    let harness = Harness::new()
        .replicas(2)
        .tenant(acme().key(Key::new("other")));
    let stack = harness.start().await;
    let of = |label: &str| [stack.at(0, "acme", label), stack.at(1, "acme", label)];
    let policies = async |label: &str, policy: &str| {
        for client in of(label) {
            in_force(&client, policy).await;
        }
    };
    policies("", "\"key:hello\";q=100;w=60").await;
    let tenants = "\"key:hello\";q=50;w=60";
    set(&stack, None, &[("key", "hello", 50)]).await;
    policies("", tenants).await;
    policies("other", tenants).await;
    set(&stack, Some(&stack.client("acme")), &[("key", "hello", 40)]).await;
    policies("", "\"key:hello\";q=40;w=60").await;
    policies("other", tenants).await;
}

#[tokio::test]
async fn nought_lifts_its_own_level_only() {
    let stack = serve(acme()).await;
    let client = stack.client("acme");
    for (level, of, next) in [
        ("key", "hello", "\"session:hello\";q=100;w=60"),
        ("session", "hello", "\"tenant:hello\";q=1000;w=60"),
        ("tenant", "hello", "\"key\";q=1200;w=60"),
        ("key", "total", "\"tenant\";q=12000;w=60"),
    ] {
        set(&stack, None, &[(level, of, 0)]).await;
        in_force(&client, next).await;
    }
    set(&stack, None, &[("tenant", "total", 0)]).await;
    let free = async || {
        let answer = hello(&client).send(client.address()).await;
        answer.header("ratelimit").is_none().then_some(())
    };
    stack.eventually(free).await;
}

#[tokio::test]
async fn a_refusal_reads_the_same_in_both_eras_and_waiting_as_told_is_enough() {
    let stack = serve(acme()).await;
    let client = stack.client("acme");
    set(
        &stack,
        None,
        &[("key", "hello", 120), ("session", "hello", 0)],
    )
    .await;
    in_force(&client, "\"key:hello\";q=120;w=60").await;
    passed(&client, async |_| hello(&client)).await;
    for client in [client.clone(), client.modern()] {
        let mut told = BTreeMap::new();
        // A refill may come in between.
        let answer = loop {
            let answer = hello(&client).send(client.address()).await;
            if is_limited(&answer) {
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
async fn what_is_no_call_is_refused_by_429_whether_it_can_be_read_or_not() {
    let stack = serve(acme()).await;
    let client = stack.client("acme");
    set(&stack, None, &[("key", "total", 1)]).await;
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
