//! Which patterns a caller sees, where they are read from, and how their content is escaped.

use std::fs;

use e2e::{Harness, Repo, Tenant, git};
use serde_json::{Value, json};

use super::{FOLDER, pattern, places, serve, validate};

#[tokio::test]
async fn a_pattern_is_read_as_head_has_it_and_where_the_project_says() {
    let manifest = "[architecture]\npatterns = ['handbook']\n";
    let repo = Repo::new()
        .file(".archway.toml", manifest)
        .file("handbook/naming.md", "Code MUST NOT use `foo`.\n")
        .file(&format!("{FOLDER}/old.md"), "Code MUST NOT use `bar`.\n")
        .commit();
    let (stack, client) = serve(repo).await;
    assert_eq!(
        places(&validate(&client, "naming", "foo(bar)").await),
        ["MUST NOT `foo`:1"]
    );
    let replaced = validate(&client, "old", "bar").await;
    assert_eq!(
        replaced.code(),
        "pattern_not_found",
        "its folders replace the defaults"
    );
    let folder = stack.folder("acme", "site");
    fs::write(
        folder.join("handbook/naming.md"),
        "Code MUST NOT use `bar`.\n",
    )
    .unwrap();
    git(&folder, &["commit", "--all", "--message", "bar"]);
    assert_eq!(
        places(&validate(&client, "naming", "foo(bar)").await),
        ["MUST NOT `bar`:1"]
    );
}

#[tokio::test]
async fn a_closed_pattern_does_not_exist_and_no_error_names_it() {
    let repo = pattern("open", "Code MUST NOT use `foo`.\n")
        .file(&format!("{FOLDER}/openly.md"), "Code MUST NOT use `foo`.\n")
        .file(
            &format!("{FOLDER}/secrets-of-open.md"),
            "Code MUST NOT use `foo`.\n",
        )
        .file(".archway.toml", "deny = ['openly.md']\n")
        .commit();
    let (_stack, client) = serve(repo).await;
    for name in ["openly", "secrets-of-open", "opens"] {
        let reply = validate(&client, name, "foo").await;
        assert_eq!(reply.code(), "pattern_not_found", "{name}");
        assert_eq!(
            reply.error()["details"]["nearest"],
            json!(["open"]),
            "{name}"
        );
    }
}

#[tokio::test]
async fn patterns_are_a_projects_own() {
    let acme = Tenant::new("acme")
        .project(
            "site",
            pattern("mine", "Code MUST NOT use `foo`.\n").commit(),
        )
        .project(
            "shop",
            pattern("other", "Code MUST NOT use `foo`.\n").commit(),
        );
    let zeta = Tenant::new("zeta").project("site", pattern("hidden", "x\n").commit());
    let stack = Harness::new().tenant(acme).tenant(zeta).start().await;
    let ask = async |tenant: &str, project: Value, name: &str| {
        let arguments = json!({ "code": "foo", "pattern_name": name, "project": project });
        stack
            .client(tenant)
            .call("validate_pattern", arguments)
            .await
    };
    assert_eq!(
        ask("acme", json!("site"), "mine").await.structured()["compliant"],
        false
    );
    let unnamed = ask("acme", Value::Null, "mine").await;
    assert_eq!(unnamed.code(), "project_required");
    for (tenant, project, name) in [
        ("acme", "shop", "mine"),
        ("acme", "site", "hidden"),
        ("zeta", "site", "mine"),
    ] {
        let reply = ask(tenant, json!(project), name).await;
        assert_eq!(
            reply.code(),
            "pattern_not_found",
            "{tenant} {project} {name}"
        );
        let near = reply.error()["details"]["nearest"].to_string();
        assert!(!near.contains(name), "{near}");
    }
}

#[tokio::test]
async fn untrusted_text_is_escaped_in_violations_and_suggestions() {
    let text = "```ast-grep\nid: \"a\u{202e}b\"\nlanguage: ts\nmessage: \"no \u{200b}$A\"\nnote: \
                \"\u{2066}note\"\nrule:\n  pattern: f($A)\n```\n\nMUST NOT use `foo`\u{202e} here.\n";
    let (_stack, client) = serve(pattern("escapes", text).commit()).await;
    let reply = validate(&client, "escapes", "f('\u{202d}')\nfoo()\n").await;
    let answer = reply.value().to_string();
    for hidden in ['\u{202e}', '\u{200b}', '\u{2066}', '\u{202d}'] {
        assert!(!answer.contains(hidden), "{hidden:?} {answer}");
    }
    assert_eq!(
        reply.structured()["violations"][0]["description"],
        "no \\u{200b}'\\u{202d}'"
    );
    assert!(reply.meta("escaped").as_u64().unwrap() >= 4);
}

#[tokio::test]
async fn a_folder_without_git_has_its_patterns_too() {
    let (_stack, client) = serve(pattern("plain", "Code MUST NOT use `foo`.\n")).await;
    assert_eq!(
        places(&validate(&client, "plain", "foo()").await),
        ["MUST NOT `foo`:1"]
    );
}
