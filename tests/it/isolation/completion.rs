//! Completion of what no access rule gives: slugs of its documents and arguments of its prompts are completed as those
//! of a project that does not exist.

use e2e::{Client, Harness, Key, Repo, Tenant};
use serde_json::{Value, json};

use super::access::until_sees;
use crate::result;

const ALL: [&str; 3] = ["site", "vault", "wiki"];
const OPEN: [&str; 2] = ["site", "wiki"];

/// Two documents, and a prompt whose arguments are completed from them.
fn vault() -> Repo {
    let argument = |name: &str| json!({ "name": name, "description": name, "required": false });
    let prompt = json!({
        "name": "greet", "description": "greet",
        "arguments": [argument("adr"), argument("pattern")],
        "messages": [{ "role": "user", "content": { "type": "text", "text": "Text." } }],
    });
    Repo::new()
        .file(".archway/prompts/greet.json", prompt.to_string())
        .file("docs/adr/0001-kraken.md", "# Kraken\n")
        .file("docs/architecture/patterns/kraken.md", "# Kraken\n")
        .commit()
}

/// What is to be completed of a project. Nothing has the last argument.
fn asked(project: &str) -> [Value; 5] {
    let document =
        json!({ "type": "ref/resource", "uri": "architecture://{project}/{kind}/{slug}" });
    let prompt = json!({ "type": "ref/prompt", "name": format!("{project}/greet") });
    [
        (&document, "slug", json!({ "project": project })),
        (
            &document,
            "slug",
            json!({ "project": project, "kind": "adr" }),
        ),
        (&prompt, "adr", json!({})),
        (&prompt, "pattern", json!({})),
        (&prompt, "nothing", json!({})),
    ]
    .map(|(reference, name, known)| {
        json!({
            "ref": reference, "argument": { "name": name, "value": "" },
            "context": { "arguments": known },
        })
    })
}

/// The answer without its duration and the name of the project.
async fn answer(client: &Client, params: Value, project: &str) -> String {
    let mut message = client.rpc("completion/complete", params).await.json();
    if let Some(meta) = message["result"]["_meta"].as_object_mut() {
        meta.remove("io.archway/durationMs");
    }
    message.to_string().replace(project, "…")
}

/// Panics unless the caller gets the answers about `vault` that it gets about a project that does not exist.
async fn assert_completes_nothing_of_vault(client: &Client) {
    for (hidden, unknown) in asked("vault").into_iter().zip(asked("nonesuch")) {
        let said = answer(client, hidden.clone(), "vault").await;
        let expected = answer(client, unknown, "nonesuch").await;
        assert_eq!(said, expected, "{hidden}");
        assert!(!said.contains("kraken"), "{hidden}: {said}");
    }
    let uris = [
        "architecture://{project}/{kind}/{slug}",
        "repo://{project}/{path}",
    ];
    for uri in uris {
        let params = json!({
            "ref": { "type": "ref/resource", "uri": uri },
            "argument": { "name": "project", "value": "va" },
        });
        let found = result(client, "completion/complete", params).await;
        let none = json!({ "values": [], "total": 0, "hasMore": false });
        assert_eq!(found["completion"], none, "{uri}");
    }
}

#[tokio::test]
async fn what_rules_hide_is_completed_as_what_does_not_exist() {
    let acme = Tenant::new("acme")
        .project("vault", vault())
        .project("site", Repo::new().file("a.txt", "a\n").commit())
        .project("wiki", Repo::new().file("b.txt", "b\n").commit())
        .key(Key::new("dev"));
    let stack = Harness::new().tenant(acme).start().await;
    stack.until_listening().await;
    stack.allow("acme", "everyone", &OPEN).await;
    let dev = stack.keyed("acme", "dev");
    let completing = dev.clone().modern();
    until_sees(&stack, &dev, &OPEN).await;
    assert_completes_nothing_of_vault(&completing).await;

    let given = stack.allow("acme", "key:dev", &["vault"]).await;
    until_sees(&stack, &dev, &ALL).await;
    let all = [
        &["0001-kraken", "kraken"][..],
        &["0001-kraken"],
        &["0001-kraken"],
        &["kraken"],
    ];
    for (params, expected) in asked("vault").into_iter().zip(all) {
        let found = result(&completing, "completion/complete", params.clone()).await;
        let values = found["completion"]["values"].clone();
        let mut values = serde_json::from_value::<Vec<String>>(values).unwrap();
        values.sort();
        assert_eq!(values, expected, "{params}");
    }

    stack.remove_rule("acme", given).await;
    until_sees(&stack, &dev, &OPEN).await;
    assert_completes_nothing_of_vault(&completing).await;
}
