//! What access rules and a key's families hide is recorded by its name, with what hid it. Its caller reads neither.

use e2e::{Client, Harness, Key, Repo, Stack, Tenant};
use serde_json::{Value, json};

use super::calls;

/// `dev` may use `site` for files, and the key `reader` is for files.
async fn stack() -> Stack {
    let repo = || Repo::new().file("a.txt", "a\n").commit();
    let acme = Tenant::new("acme")
        .project("site", repo())
        .project("vault", repo())
        .key(Key::new("dev"))
        .key(Key::new("reader").families(["files"]));
    let stack = Harness::new().tenant(acme).start().await;
    stack.until_listening().await;
    stack.allow("acme", "key:reader", &["*"]).await;
    stack
        .allow_families("acme", "key:dev", &["site"], &["files"])
        .await;
    stack
}

fn log(project: &str) -> Value {
    json!({ "name": "git_log", "arguments": { "project": project } })
}

async fn refusal(client: &Client, method: &str, params: Value) -> Option<String> {
    let answer = client.rpc(method, params).await.json();
    (answer["error"] != Value::Null).then(|| answer["error"].to_string())
}

#[tokio::test]
async fn what_hid_a_tool_or_a_project_is_recorded() {
    let stack = stack().await;
    let (dev, reader) = (stack.keyed("acme", "dev"), stack.keyed("acme", "reader"));
    // The rules are in force with the first refusal.
    let first = async || refusal(&dev, "tools/call", log("site")).await;
    let first = stack.eventually(first).await;
    assert!(
        !first.contains("rule") && !first.contains("famil"),
        "{first}"
    );
    for (client, method, params) in [
        (&reader, "tools/call", log("vault")),
        (&dev, "tools/call", json!({ "name": "nonesuch" })),
        (
            &dev,
            "resources/read",
            json!({ "uri": "repo://vault/a.txt" }),
        ),
        (&dev, "prompts/get", json!({ "name": "vault/greet" })),
    ] {
        assert!(refusal(client, method, params).await.is_some(), "{method}");
    }
    let refused = async || {
        let mut records = calls(&stack, "acme", 5).await;
        records.retain(|record| record["outcome"] != "ok");
        (records.len() == 5).then_some(records)
    };
    let records = stack.eventually(refused).await;
    let column = |name: &str| {
        let text = |record: &Value| record[name].as_str().unwrap_or("-").to_owned();
        records.iter().map(text).collect::<Vec<_>>()
    };
    assert_eq!(column("tool"), ["git_log", "git_log", "-", "-", "-"]);
    assert_eq!(column("project"), ["site", "vault", "-", "vault", "vault"]);
    let (none, families) = ("no access rule gives it", "families of the key or issuer");
    let by = [none, families, "unknown tool", none, none];
    assert_eq!(column("refused_by"), by);
    let (refused, absent) = ("refused", "project_not_found");
    assert_eq!(
        column("outcome"),
        [refused, refused, refused, absent, absent]
    );
}
