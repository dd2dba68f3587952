//! Which program called, and from where; and the sums that name programs, refusals and missing records.

use std::time::{Duration, SystemTime};

use archway::tenants::{UsageQuery, UsageRow};
use e2e::{Harness, Repo, Stack, Tenant, http::Request};
use serde_json::{Value, json};
use sqlx::PgPool;

use super::{calls, stack};

async fn rows(stack: &Stack, tenant: &str, by: &str) -> Vec<UsageRow> {
    let query = UsageQuery {
        tenant: Some(stack.tenant_id(tenant)),
        by,
        since: SystemTime::now() - Duration::from_secs(3600),
    };
    let mut tx = stack.tenants().read().await.unwrap();
    tx.usage(&query).await.unwrap()
}

/// Appends records to a chain of acme's as a gateway does.
async fn append(stack: &Stack, records: &[Value]) {
    let role = stack.database().url("archway_gateway");
    let gateway = PgPool::connect(&role).await.unwrap();
    let mut tx = gateway.begin().await.unwrap();
    let acme = stack.tenant_id("acme");
    sqlx::query("select set_config('archway.tenant_id', $1, true)")
        .bind(acme.to_string())
        .execute(&mut *tx)
        .await
        .unwrap();
    let texts: Vec<String> = records.iter().map(Value::to_string).collect();
    let append = "insert into audit_records (tenant_id, chain, number, at, record, mac) \
                  select $1, gen_random_uuid(), number, now(), record, sha256('x') \
                  from unnest($2::text[]) with ordinality as row (record, number)";
    sqlx::query("select make_audit_month((extract(epoch from now()) * 1000000)::bigint)")
        .execute(&mut *tx)
        .await
        .unwrap();
    let append = sqlx::query(append).bind(acme).bind(texts);
    append.execute(&mut *tx).await.unwrap();
    tx.commit().await.unwrap();
}

#[tokio::test]
async fn two_hundred_agents_an_hour_have_a_name_and_the_rest_are_other() {
    let stack = stack().await;
    let record = |number: usize| {
        json!({ "kind": "call", "principal": "key:1", "method": "tools/call", "outcome": "ok",
                "agent": format!("agent-{number:03}") })
    };
    append(&stack, &(0..150).map(record).collect::<Vec<_>>()).await;
    append(&stack, &(100..300).map(record).collect::<Vec<_>>()).await;
    append(&stack, &(0..300).map(record).collect::<Vec<_>>()).await;
    let agents = rows(&stack, "acme", "agent").await;
    assert_eq!(agents.len(), 201);
    assert_eq!(agents.iter().map(|row| row.calls).sum::<i64>(), 650);
    // Twice, all of the last hundred.
    assert_eq!((agents[0].of.as_str(), agents[0].calls), ("other", 200));
}

#[tokio::test]
async fn counted_refusals_are_calls_and_missing_records_are_named_as_such() {
    let stack = stack().await;
    let refusals = json!({ "kind": "refusals", "principal": "key:1", "method": "tools/call",
                           "tool": "hello", "outcome": "rate_limited", "count": 7 });
    append(&stack, &[refusals, json!({ "kind": "gap", "missing": 3 })]).await;
    let tools = rows(&stack, "acme", "tool").await;
    let told: Vec<_> = tools
        .iter()
        .map(|row| (row.of.as_str(), row.calls, row.ok, row.missing))
        .collect();
    assert_eq!(told, [("hello", 7, 0, 0), ("", 0, 0, 3)]);
}

/// A stack of two gateways, behind a proxy that they trust.
async fn proxied() -> Stack {
    let repo = Repo::new().file("a.txt", "a").commit();
    let harness = Harness::new().replicas(2);
    let harness = harness.tenant(Tenant::new("acme").project("site", repo));
    let trust = |config: &mut archway_gateway::GatewayConfig| {
        config.auth.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
    };
    harness.configure(trust).start().await
}

#[tokio::test]
async fn a_record_names_the_program_and_the_address_of_its_client() {
    let stack = proxied().await;
    let (one, two) = (stack.client("acme"), stack.at(1, "acme", ""));
    let info = json!({ "name": "cur\u{202e}sor", "version": "1.7" });
    let begin = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info });
    let handle = one.rpc("initialize", begin).await;
    let handle = handle.header("mcp-session-id").unwrap().to_owned();
    let hello = json!({ "name": "hello", "arguments": {} });
    let from = |request: Request| {
        let request = request.header("User-Agent", "curl/8.5 (x)");
        request.header("X-Forwarded-For", "203.0.113.9, 198.51.100.7")
    };
    let sent = [
        (
            from(two.request("tools/call", hello.clone())).header("Mcp-Session-Id", &handle),
            "cursor/1.7",
        ),
        (from(two.request("tools/call", hello.clone())), "curl/8.5 x"),
        (
            from(two.clone().modern().request("tools/call", hello)),
            "e2e/1",
        ),
    ];
    for (count, (request, agent)) in (1..).zip(sent) {
        assert_eq!(request.send(two.address()).await.status, 200);
        let told = calls(&stack, "acme", count).await;
        let told = told.last().unwrap();
        assert_eq!(
            (&told["agent"], &told["client"]),
            (&json!(agent), &json!("198.51.100.7"))
        );
    }
}
