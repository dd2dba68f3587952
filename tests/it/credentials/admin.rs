//! The scope `admin`: it grants nothing here, and no other scope.

use archway_proto::catalog::Scope;
use e2e::{Client, Harness, Key, Repo, Stack, Tenant};
use serde_json::{Value, json};

async fn stack() -> Stack {
    let prompt = "---\nname: greet\ndescription: Greets.\n---\n\nHello.\n";
    let repo = Repo::new()
        .file("a.txt", "a")
        .file("docs/prompts/greet.md", prompt)
        .file("docs/adr/0001-a.md", "# A\n");
    let acme = Tenant::new("acme")
        .project("site", repo.commit())
        .key(Key::new("admin").scopes(&[Scope::Admin]));
    Harness::new().tenant(acme).start().await
}

async fn result(client: &Client, method: &str, member: &str) -> Value {
    let answer = client.rpc(method, json!({})).await;
    assert_eq!(answer.status, 200, "{method}: {}", answer.text());
    answer.json()["result"][member].clone()
}

#[tokio::test]
async fn a_key_of_admin_alone_lists_nothing_and_may_do_nothing() {
    let stack = stack().await;
    let (plain, admin) = (stack.client("acme"), stack.keyed("acme", "admin"));
    let tools = result(&plain, "tools/list", "tools").await;
    let tools = tools.as_array().unwrap();
    assert!(tools.len() >= 15, "{} tools", tools.len());
    for (method, member) in [
        ("tools/list", "tools"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
        ("prompts/list", "prompts"),
    ] {
        let there = result(&plain, method, member).await;
        assert_ne!(there, json!([]), "{method}");
        let listed = result(&admin, method, member).await;
        assert_eq!(listed, json!([]), "{method}");
    }
    let calls = tools.iter().map(|tool| {
        let params = json!({ "name": tool["name"], "arguments": {} });
        ("tools/call", params)
    });
    let file = json!({ "type": "ref/resource", "uri": "repo://site/{+path}" });
    let begun = json!({ "name": "path", "value": "a" });
    let others = [
        (
            "completion/complete",
            json!({ "ref": file, "argument": begun }),
        ),
        ("resources/read", json!({ "uri": "repo://site/a.txt" })),
        (
            "resources/read",
            json!({ "uri": "architecture://adr/0001-a" }),
        ),
        ("resources/read", json!({ "uri": "workflow://current" })),
        (
            "prompts/get",
            json!({ "name": "review-a-decision", "arguments": { "decision": "x" } }),
        ),
        ("prompts/get", json!({ "name": "greet" })),
    ];
    for (method, params) in calls.chain(others) {
        let refused = admin.rpc(method, params.clone()).await;
        assert_eq!(refused.status, 403, "{method} {params}: {}", refused.text());
        let challenge = refused.header("www-authenticate").unwrap_or_default();
        assert!(challenge.contains("insufficient_scope"), "{challenge}");
        assert!(!challenge.contains("admin"), "{challenge}");
    }
}
