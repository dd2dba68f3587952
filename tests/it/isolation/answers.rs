//! Each client gets its own answers, though all use the same ids at the same time on one gateway.

use e2e::{Client, Harness, Repo, Stack, Tenant};
use futures::future::join_all;
use serde_json::{Value, json};

/// Rounds of concurrent calls.
const ROUNDS: usize = 25;
const TENANTS: [&str; 4] = ["acme", "beta", "zeta", "eta"];

/// Tenants that differ in one word only.
async fn alike() -> Stack {
    let tenants = TENANTS.map(|slug| {
        let repo = Repo::new().file("who.txt", format!("it is {slug}\n"));
        Tenant::new(slug).project("site", repo.commit())
    });
    let harness = tenants.into_iter().fold(Harness::new(), Harness::tenant);
    harness.replicas(2).workers(2).start().await
}

/// Sends the same request for each tenant at once: same id, session label, progress token and arguments.
async fn asked(stack: &Stack, modern: bool, params: &Value) -> Vec<(&'static str, Value)> {
    let calls = TENANTS
        .into_iter()
        .cycle()
        .take(TENANTS.len() * 4)
        .enumerate();
    let calls = calls.map(async |(number, tenant)| {
        let client = stack.at(number % 2, tenant, "");
        let client = if modern { client.modern() } else { client };
        let request = client.request("tools/call", params.clone());
        let request = request.header("Archway-Session", "agent-1");
        let answer = request.send(client.address()).await.json();
        assert_eq!(answer["id"], 1, "{answer}");
        (tenant, answer["result"].clone())
    });
    join_all(calls).await
}

#[tokio::test]
async fn concurrent_calls_of_one_id_and_label_each_get_their_own_answer() {
    let stack = alike().await;
    let read = json!({
        "name": "read_file", "arguments": { "path": "who.txt" }, "_meta": { "progressToken": 1 },
    });
    let grep = json!({
        "name": "grep_codebase", "arguments": { "pattern": "it is" }, "_meta": { "progressToken": 1 },
    });
    for round in 0..ROUNDS {
        for params in [&read, &grep] {
            for (tenant, result) in asked(&stack, round % 2 == 0, params).await {
                let text = result["structuredContent"].to_string();
                let seen: Vec<_> = TENANTS
                    .iter()
                    .filter(|slug| {
                        text.contains(&format!("it is {slug}\\n"))
                            || text.contains(&format!("it is {slug}\""))
                    })
                    .collect();
                assert_eq!(seen, [&tenant], "{text}");
            }
        }
    }
}

#[tokio::test]
async fn writes_of_one_idempotency_key_are_each_tenants_own() {
    let stack = alike().await;
    let write = json!({
        "name": "write_memory_entry",
        "arguments": {
            "file": "progress_log.jsonl",
            "entry": { "timestamp": "2026-01-07T14:00:00Z", "event": "the same" },
        },
        "_meta": { "io.archway/idempotencyKey": "same-key" },
    });
    for (tenant, result) in asked(&stack, false, &write).await {
        assert_eq!(
            result["structuredContent"]["entry_count"], 1,
            "{tenant}: {result}"
        );
    }
    for tenant in TENANTS {
        let found = stack.client(tenant).call("search_memory", json!({})).await;
        assert_eq!(found.structured()["total"], 1, "{tenant}");
    }
}

/// The prompt and its argument of a client's session, or null.
async fn workflow(client: &Client, label: &str) -> Value {
    let read = client.request("resources/read", json!({ "uri": "workflow://current" }));
    let read = read
        .header("Archway-Session", label)
        .send(client.address())
        .await;
    let text = read.json()["result"]["contents"][0]["text"]
        .as_str()
        .unwrap()
        .to_owned();
    serde_json::from_str(&text).unwrap()
}

#[tokio::test]
async fn sessions_of_one_label_are_each_tenants_own() {
    let stack = alike().await;
    for tenant in TENANTS {
        let client = stack.client(tenant).modern();
        let get = json!({ "name": "review-a-decision", "arguments": { "decision": tenant } });
        let get = client
            .request("prompts/get", get)
            .header("Archway-Session", "agent-1");
        let got = get.send(client.address()).await;
        assert_eq!(got.status, 200, "{}", got.text());
    }
    for tenant in TENANTS {
        let client = stack.client(tenant).modern();
        let own = workflow(&client, "agent-1").await;
        let said = own["arguments"].to_string();
        assert!(said.contains(&format!("\"{tenant}\"")), "{tenant}: {own}");
        assert_eq!(workflow(&client, "agent-2").await, Value::Null);
    }
}
