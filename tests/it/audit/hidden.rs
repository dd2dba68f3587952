//! What access rules and a key's families hide is recorded by its name, with what hid it. Its caller reads neither.
//! So is what hides the default project of a call that names none.

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

#[tokio::test]
async fn a_call_without_a_project_is_recorded_with_what_hid_its_default() {
    let repo = || Repo::new().file("a.txt", "a\n").commit();
    let acme = Tenant::new("acme")
        .project("site", repo())
        .project("vault", repo())
        .project("wiki", repo())
        .key(Key::new("lost").default_project("vault"))
        .key(Key::new("none"));
    let stack = Harness::new().tenant(acme).start().await;
    stack.until_listening().await;
    stack.allow("acme", "key:none", &["absent-*"]).await;
    stack.allow("acme", "key:lost", &["*"]).await;
    let rule = stack.deny("acme", "key:lost", &["vault"]).await;
    let denied = format!("access rule {rule} denies it");
    let all = "all projects are hidden from it";
    for (label, project, code, by) in [
        ("lost", json!("vault"), "project_required", &*denied),
        ("none", Value::Null, "project_not_found", all),
    ] {
        let client = stack.keyed("acme", label);
        // Some calls may come before the rules are in force.
        let refused = async || {
            let list = json!({ "name": "list_files", "arguments": {} });
            let answer = client.rpc("tools/call", list).await.json();
            let error = &answer["result"]["_meta"]["io.archway/error"]["error"];
            (error["code"] == code).then(|| answer.to_string())
        };
        let answer = stack.eventually(refused).await;
        for secret in ["vault", "access rule", "hidden"] {
            assert!(!answer.contains(secret), "{secret}: {answer}");
        }
        let recorded = async || {
            let mut records = calls(&stack, "acme", 1).await.into_iter();
            records.find(|it| it["outcome"] == code)
        };
        let record = stack.eventually(recorded).await;
        assert_eq!(record["refused_by"], by, "{record}");
        assert_eq!(record["project"], project, "{record}");
    }
}
