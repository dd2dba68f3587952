//! The audit trail through the real path: what it records of each call, and that changes to it are
//! detected.

mod agents;
mod files;
mod hidden;
mod month;
mod months;
mod outage;
mod path_rules;
mod tampering;
mod tenant_metrics;
mod usage;

use archway::tenants::TenantsTx;
use archway_gateway::audit::chain::Row;
use archway_gateway::audit::verify::{ChainPosition, Verified, Verifier};
use archway_gateway::terms::Level;
use archway_proto::catalog::Scope;
use e2e::{Client, Harness, Key, Repo, Stack, Tenant};
use serde_json::{Value, json};

async fn stack() -> Stack {
    let repo = Repo::new()
        .file("src/main.rs", "fn main() {}\n")
        .file("notes.txt", "sesame\n")
        .commit();
    let other = Repo::new().file("own.txt", "nothing\n").commit();
    let acme = Tenant::new("acme").project("site", repo);
    let acme = acme.key(Key::new("reader").scopes(&[Scope::ToolsRead]));
    let zeta = Tenant::new("zeta").project("shop", other);
    Harness::new().tenant(acme).tenant(zeta).start().await
}

/// The records of a tenant, chain by chain.
async fn kept(stack: &Stack, tenant: &str) -> Vec<Vec<Row>> {
    let mut tx = stack.tenants().read().await.unwrap();
    let id = stack.tenant_id(tenant);
    let mut kept = Vec::new();
    for chain in tx.audit_chains(id, stack.secret()).await.unwrap() {
        kept.push(rows(&mut tx, stack, tenant, chain.id).await);
    }
    kept
}

async fn rows(tx: &mut TenantsTx, stack: &Stack, tenant: &str, chain: uuid::Uuid) -> Vec<Row> {
    let id = stack.tenant_id(tenant);
    let mut all: Vec<Row> = Vec::new();
    loop {
        let page = tx.audit_rows(id, chain, all.last()).await.unwrap();
        if page.is_empty() {
            return all;
        }
        all.extend(page);
    }
}

/// The findings of a verification of a tenant's chains.
async fn verified(stack: &Stack, tenant: &str, known: Option<ChainPosition>) -> Vec<Verified> {
    let mut tx = stack.tenants().read().await.unwrap();
    let id = stack.tenant_id(tenant);
    let mut verified = Vec::new();
    for chain in tx.audit_chains(id, stack.secret()).await.unwrap() {
        let mut verifier = Verifier::new(id, chain.id, stack.secret(), chain.anchor, known);
        for row in rows(&mut tx, stack, tenant, chain.id).await {
            verifier.check(&row);
        }
        verified.push(verifier.end());
    }
    verified
}

/// Waits for this many records of calls of a tenant, and returns them. Records of gateways about their
/// chains are left out.
async fn calls(stack: &Stack, tenant: &str, count: usize) -> Vec<Value> {
    stack
        .eventually(async || {
            let kept = kept(stack, tenant).await;
            let records = kept.iter().flatten();
            let records = records.map(|row| serde_json::from_str(&row.record).unwrap());
            let told: Vec<Value> = records
                .filter(|record: &Value| record["kind"] != "begin" && record["kind"] != "end")
                .collect();
            (told.len() >= count).then_some(told)
        })
        .await
}

async fn read(client: &Client, path: &str) {
    client.call("read_file", json!({ "path": path })).await;
}

#[tokio::test]
async fn a_record_names_caller_tool_and_files_but_not_the_arguments() {
    let stack = stack().await;
    let client = stack.client("acme");
    let arguments = json!({ "path": "notes.txt", "project": "site" });
    client.call("read_file", arguments).await;
    let told = calls(&stack, "acme", 1).await.remove(0);
    let key = client.key().split('_').nth(1).unwrap();
    assert_eq!(told["kind"], "call");
    assert_eq!(told["credential"], key);
    assert!(told["principal"].as_str().unwrap().starts_with("key:"));
    assert_eq!(told["method"], "tools/call");
    assert_eq!(told["tool"], "read_file");
    assert_eq!(told["project"], "site");
    assert_eq!(told["outcome"], "ok");
    assert_eq!(told["files"], json!(["notes.txt"]));
    assert_eq!(told["commit"].as_str().unwrap().len(), 40);
    assert_eq!(told["arguments"].as_str().unwrap().len(), 64);
    assert_eq!(told["trace"].as_str().unwrap().len(), 32);
    assert!(told["duration_ms"].as_f64().unwrap() > 0.0);
    assert!(!told.to_string().contains("sesame"));
}

#[tokio::test]
async fn equal_arguments_have_equal_digests_and_different_ones_differ() {
    let stack = stack().await;
    let client = stack.client("acme");
    for path in ["notes.txt", "notes.txt", "src/main.rs"] {
        read(&client, path).await;
    }
    let told = calls(&stack, "acme", 3).await;
    let digests: Vec<&Value> = told.iter().map(|one| &one["arguments"]).collect();
    assert_eq!(digests[0], digests[1]);
    assert_ne!(digests[0], digests[2]);
}

#[tokio::test]
async fn searches_name_the_files_they_show_and_resources_are_recorded_as_well() {
    let stack = stack().await;
    let client = stack.client("acme");
    client
        .call("grep_codebase", json!({ "pattern": "sesame|main" }))
        .await;
    let uri = json!({ "uri": "repo://site/notes.txt" });
    client.rpc("resources/read", uri).await;
    let told = calls(&stack, "acme", 2).await;
    assert_eq!(told[0]["files"], json!(["notes.txt", "src/main.rs"]));
    assert_eq!(told[1]["method"], "resources/read");
    assert_eq!(told[1].get("tool"), None);
    assert_eq!(told[1]["project"], "site");
}

#[tokio::test]
async fn a_refused_call_is_recorded_with_its_reason() {
    let stack = stack().await;
    let client = stack.keyed("acme", "reader");
    client.call("read_file", json!({ "path": 7 })).await;
    client.call("read_file", json!({ "path": "absent" })).await;
    client.rpc("tools/call", json!({ "name": "absent" })).await;
    let write = json!({ "name": "record_discovery", "arguments": {} });
    client.rpc("tools/call", write).await;
    let told = calls(&stack, "acme", 4).await;
    let outcomes: Vec<&str> = told
        .iter()
        .map(|one| one["outcome"].as_str().unwrap())
        .collect();
    assert_eq!(
        outcomes,
        ["invalid_arguments", "file_not_found", "refused", "refused"]
    );
}

#[tokio::test]
async fn a_call_refused_by_a_limit_is_recorded_with_its_tool() {
    let repo = Repo::new().file("a.txt", "a").commit();
    let acme = Tenant::new("acme").project("site", repo);
    let acme = acme.limit(Level::Key, "hello", 1);
    let stack = Harness::new().tenant(acme).start().await;
    for _ in 0..2 {
        stack.client("acme").call("hello", json!({})).await;
    }
    let told = calls(&stack, "acme", 2).await;
    assert_eq!(told[0]["outcome"], "ok");
    assert_eq!(told[1]["outcome"], "rate_limited");
    assert_eq!(told[1]["tool"], "hello");
}

#[tokio::test]
async fn each_tenant_has_chains_of_its_own_and_they_are_whole() {
    let stack = stack().await;
    for _ in 0..20 {
        read(&stack.client("acme"), "notes.txt").await;
        read(&stack.client("zeta"), "own.txt").await;
    }
    for (tenant, other) in [("acme", "own.txt"), ("zeta", "notes.txt")] {
        let told = calls(&stack, tenant, 20).await;
        assert_eq!(told.len(), 20);
        assert!(!json!(told).to_string().contains(other));
        let chains = verified(&stack, tenant, None).await;
        assert_eq!(chains.len(), 1);
        assert_eq!(chains[0].findings, []);
    }
}

#[tokio::test]
async fn a_stopping_gateway_writes_its_records_and_closes_its_chains() {
    let mut stack = stack().await;
    read(&stack.client("acme"), "notes.txt").await;
    stack.restart(0).await;
    read(&stack.client("acme"), "notes.txt").await;
    calls(&stack, "acme", 2).await;
    let chains = verified(&stack, "acme", None).await;
    let ended: Vec<bool> = chains.iter().map(|chain| chain.has_ended).collect();
    assert_eq!(ended, [true, false]);
    assert_eq!(chains[0].records, 3, "begin, the call, end");
    assert!(chains.iter().all(|chain| chain.findings.is_empty()));
}
