//! The path rule that refused a call: operators read it in the record and on the page, and its caller nowhere.

use std::collections::BTreeSet;

use e2e::{Client, Harness, Repo, Stack, Tenant, http::Request, sample_calls};
use serde_json::json;
use sqlx::PgPool;

use super::calls;

/// Unlike the paths that they close, which answers repeat.
const CLOSE: &str = "v?ult/";
const DENY: &str = "pl?ns/";

async fn closed() -> (Stack, Client) {
    let repo = Repo::new()
        .file(".archway.toml", format!("deny = ['{DENY}']\n"))
        .file("vault/a.md", "sesame\n")
        .file("plans/a.md", "sesame\n")
        .file("docs/a.md", "open\n")
        .link("docs/linked.md", "../vault/a.md")
        .commit();
    let harness = Harness::new().tenant(Tenant::new("acme").project("site", repo));
    let stack = harness
        .configure(|config| config.console.console = true)
        .start()
        .await;
    let owner = PgPool::connect_with(stack.database().owner()).await;
    sqlx::query("update projects set close_globs = array[$1]")
        .bind(CLOSE)
        .execute(&owner.unwrap())
        .await
        .unwrap();
    let client = stack.client("acme");
    (stack, client)
}

/// Nothing of a rule is in this answer.
fn assert_silent(what: &str, answer: &str) {
    let rule = [CLOSE, DENY, "v?ult", "pl?ns", "glob", "built-in", "*.pem"];
    for word in rule {
        assert!(!answer.contains(word), "{what} says {word}: {answer}");
    }
}

/// The rules of so many records, by what was called.
async fn recorded(stack: &Stack, count: usize) -> BTreeSet<(String, String)> {
    let records = calls(stack, "acme", count).await;
    let told = records.iter().map(|record| {
        let text = |name: &str| record[name].as_str().map(str::to_owned);
        let called = text("tool").or_else(|| text("method")).unwrap();
        (called, text("refused_by").unwrap_or_default())
    });
    told.collect()
}

#[tokio::test]
async fn each_tool_that_refuses_a_path_records_the_rule_and_never_says_it() {
    let (stack, client) = closed().await;
    let mut expected = BTreeSet::new();
    for (path, rule) in [
        ("vault/a.md", "close glob v?ult/"),
        ("plans/a.md", "deny glob pl?ns/ of .archway.toml"),
        ("docs/server.pem", "built-in name *.pem"),
    ] {
        for samples in sample_calls::of_listed(&client).await {
            let Some(arguments) = samples.at_path(path) else {
                continue;
            };
            let params = json!({ "name": samples.tool, "arguments": arguments });
            let answer = client.rpc("tools/call", params).await;
            let error = &answer.json()["result"]["_meta"]["io.archway/error"]["error"];
            assert_eq!(error["code"], "access_denied", "{}", samples.tool);
            assert_silent(
                samples.tool,
                &format!("{:?}{}", answer.headers, answer.text()),
            );
            expected.insert((samples.tool.to_owned(), format!("path rule: {rule}")));
        }
        let uri = json!({ "uri": format!("repo://site/{path}") });
        let answer = client.rpc("resources/read", uri).await;
        assert_silent(
            "resources/read",
            &format!("{:?}{}", answer.headers, answer.text()),
        );
        expected.insert(("resources/read".to_owned(), format!("path rule: {rule}")));
    }
    assert!(expected.len() >= 3 * 8, "{expected:#?}");
    let told = recorded(&stack, expected.len()).await;
    let missing: Vec<_> = expected.difference(&told).collect();
    assert!(missing.is_empty(), "{missing:#?} not in {told:#?}");
}

#[tokio::test]
async fn the_page_of_calls_names_the_rule_also_of_a_links_target() {
    let (stack, client) = closed().await;
    let note = json!({ "type": "rule", "content": "c", "paths": ["vault/a.md"] });
    for (tool, arguments) in [
        ("read_file", json!({ "path": "docs/linked.md" })),
        ("read_repo_file", json!({ "path": "src/lib.rs" })),
        ("record_discovery", note),
    ] {
        let reply = client.call(tool, arguments).await;
        assert_eq!(reply.code(), "access_denied", "{tool}: {}", reply.value());
        assert_silent(tool, &reply.value().to_string());
    }
    let open = client
        .call("read_file", json!({ "path": "docs/a.md" }))
        .await;
    open.structured();
    let expected = [
        ("read_file", ""),
        ("read_file", "path rule: close glob v?ult/"),
        ("read_repo_file", "path rule: no allow glob"),
        ("record_discovery", "path rule: close glob v?ult/"),
    ];
    let expected = expected.map(|(tool, rule)| (tool.to_owned(), rule.to_owned()));
    assert_eq!(recorded(&stack, 4).await, BTreeSet::from(expected));
    let page = Request::new("GET", "/console/calls?outcome=access_denied");
    let page = page.send(stack.admin()).await.text();
    for rule in ["path rule: close glob v?ult/", "path rule: no allow glob"] {
        assert!(page.contains(rule), "{rule}: {page}");
    }
}
