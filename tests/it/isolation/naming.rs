//! The credential alone decides a request's tenant: no header, argument, path or `_meta` names one, and
//! there is no default tenant.

use e2e::{
    Client, Harness, Key, Repo, Stack, Tenant,
    http::{Request, Response},
};
use serde_json::{Value, json};
use sqlx::PgPool;

use super::projects::two_tenants;

/// Headers from which gateways, proxies and frameworks are known to take a tenant, user or pass.
const HEADERS: [&str; 14] = [
    "X-Tenant-Id",
    "X-Tenant",
    "Tenant",
    "X-Organization-Id",
    "X-Org-Id",
    "X-Archway-Tenant",
    "Archway-Tenant",
    "Archway-Pass",
    "X-Forwarded-User",
    "X-Remote-User",
    "X-Original-Url",
    "X-Forwarded-Host",
    "Mcp-Tenant",
    "Cookie",
];

/// The parts of an answer that could depend on the tenant.
fn substance(answer: &Response) -> (u16, Value) {
    let mut message = answer.json();
    if let Some(meta) = message["result"]["_meta"].as_object_mut() {
        meta.remove("io.archway/durationMs");
    }
    // The text repeats the data. Whether a tree is dirty becomes known a moment after the first call.
    message["result"]["content"].take();
    let projects = message["result"]["structuredContent"]["projects"].as_array_mut();
    for project in projects.into_iter().flatten() {
        if let Some(commit) = project["commit"].as_object_mut() {
            commit.remove("dirty");
        }
    }
    (answer.status, message)
}

fn list(client: &Client) -> Request {
    client.request(
        "tools/call",
        json!({ "name": "list_projects", "arguments": {} }),
    )
}

/// Names by which a request may state a tenant.
fn names(stack: &Stack) -> [String; 3] {
    let id = stack.tenant_id("acme").to_string();
    ["acme".to_owned(), format!("tenant={id}"), id]
}

#[tokio::test]
async fn a_tenant_named_in_a_header_is_ignored() {
    let stack = two_tenants().await;
    for client in [stack.client("zeta"), stack.client("zeta").modern()] {
        let own = substance(&list(&client).send(client.address()).await);
        assert_eq!(own.1["result"]["structuredContent"]["total_count"], 2);
        for header in HEADERS {
            for name in names(&stack) {
                let named = list(&client).header(header, &name);
                let answer = named.send(client.address()).await;
                assert_eq!(substance(&answer), own, "{header}: {name}");
            }
        }
    }
}

#[tokio::test]
async fn a_tenant_named_in_meta_is_ignored() {
    let stack = two_tenants().await;
    let client = stack.client("zeta");
    let own = substance(&list(&client).send(client.address()).await);
    for key in [
        "io.archway/tenant",
        "io.archway/principal",
        "io.archway/pass",
        "tenant",
        "tenant_id",
    ] {
        for name in names(&stack) {
            let params =
                json!({ "name": "list_projects", "arguments": {}, "_meta": { key: name } });
            let answer = client.rpc("tools/call", params).await;
            assert_eq!(substance(&answer), own, "{key}: {name}");
        }
    }
}

#[tokio::test]
async fn an_argument_that_names_a_tenant_is_refused_even_if_it_exists() {
    let stack = two_tenants().await;
    let client = stack.client("zeta");
    let listed = client.rpc("tools/list", json!({})).await.json();
    for tool in listed["result"]["tools"].as_array().unwrap() {
        let tool = tool["name"].as_str().unwrap();
        for argument in ["tenant", "tenant_id", "principal"] {
            let refusal = async |name: &str| {
                let reply = client.call(tool, json!({ argument: name })).await;
                assert_eq!(reply.code(), "invalid_arguments", "{tool}");
                reply.error().to_string().replace(name, "…")
            };
            assert_eq!(refusal("acme").await, refusal("acmf").await, "{tool}");
        }
    }
}

#[tokio::test]
async fn a_tenant_in_the_url_is_not_found_or_ignored() {
    let stack = two_tenants().await;
    let client = stack.client("zeta");
    let own = substance(&list(&client).send(client.address()).await);
    let message = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "list_projects", "arguments": {} },
    });
    for (path, status) in [
        ("/mcp?tenant=acme", 200),
        ("/mcp?tenant_id=acme&key=x", 200),
        ("/mcp/acme", 404),
        ("/acme/mcp", 404),
        ("/tenants/acme/mcp", 404),
    ] {
        let request = Request::new("POST", path)
            .header("Authorization", &format!("Bearer {}", client.key()))
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream");
        let answer = request
            .body(message.to_string())
            .send(client.address())
            .await;
        assert_eq!(answer.status, status, "{path}");
        if status == 200 {
            assert_eq!(substance(&answer), own, "{path}");
        }
    }
}

#[tokio::test]
async fn without_a_credential_there_is_no_tenant_not_even_the_only_one() {
    let acme = Tenant::new("acme").project("site", Repo::new().file("a.txt", "sesame").commit());
    let stack = Harness::new().tenant(acme).start().await;
    let stranger = Client::new(stack.client("acme").address(), "");
    for client in [stranger.clone(), stranger.modern()] {
        for (method, params) in [
            ("initialize", json!({ "protocolVersion": "2025-11-25" })),
            ("server/discover", json!({})),
            ("ping", json!({})),
            ("tools/list", json!({})),
            (
                "tools/call",
                json!({ "name": "list_projects", "arguments": {} }),
            ),
            ("resources/read", json!({ "uri": "repo://site/a.txt" })),
            ("prompts/list", json!({})),
        ] {
            let answer = client.rpc(method, params).await;
            assert_eq!(answer.status, 401, "{method}");
            let text = answer.text();
            assert!(
                !text.contains("acme") && !text.contains("jsonrpc"),
                "{method}: {text}"
            );
        }
    }
}

/// Panics if an answer shows anything of a project.
async fn assert_shown_nothing(client: &Client) {
    for (tool, arguments) in [
        ("list_files", json!({})),
        ("read_file", json!({ "path": "a.txt" })),
        ("search_memory", json!({})),
    ] {
        let reply = client.call(tool, arguments).await;
        let known = ["project_required", "project_not_found"];
        assert!(known.contains(&reply.code()), "{tool}: {}", reply.value());
        assert!(
            !reply.value().to_string().contains("site"),
            "{tool}: {}",
            reply.value()
        );
    }
    let everywhere = json!({ "pattern": "sesame", "project": "*" });
    let found = client.call("grep_codebase", everywhere).await;
    assert!(
        !found.value().to_string().contains("a.txt"),
        "{}",
        found.value()
    );
}

#[tokio::test]
async fn a_tenant_or_key_without_projects_gets_none_by_default() {
    let repo = || Repo::new().file("a.txt", "sesame").commit();
    let narrow = Key::new("narrow")
        .projects(["gone"])
        .default_project("gone");
    let acme = Tenant::new("acme")
        .project("site", repo())
        .project("gone", repo());
    let harness = Harness::new().tenant(acme.key(narrow));
    let stack = harness.tenant(Tenant::new("empty")).start().await;
    let owner = PgPool::connect_with(stack.database().owner())
        .await
        .unwrap();
    sqlx::query("update projects set removed_at = now() where slug = 'gone'")
        .execute(&owner)
        .await
        .unwrap();
    for client in [stack.client("empty"), stack.keyed("acme", "narrow")] {
        let emptied = async || {
            let list = client.call("list_projects", json!({})).await;
            (list.structured()["total_count"] == 0).then_some(())
        };
        stack.eventually(emptied).await;
        assert_shown_nothing(&client).await;
    }
}
