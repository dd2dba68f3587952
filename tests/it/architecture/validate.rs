//! `validate_pattern`: the contract's cases, hostile rules, and which patterns a caller sees.

mod bounds;
mod unchecked;
mod ownership;

use e2e::{Client, Reply, Repo, git};
use serde_json::{Value, json};

use crate::serve;

const FOLDER: &str = "docs/architecture/patterns";

/// The contract's example, with rules of both kinds.
const REPOSITORY: &str = r#"# Repository pattern

Services reach data through repositories only.

- A repository MUST implement `findById` and `save`.
- It MUST NOT use `eval`.
- It SHOULD NOT use `any`.
- It MAY use `cache`.

```ast-grep
id: no-raw-sql
language: TypeScript
severity: error
message: $DB is asked directly
note: Build queries in the repository's query builder.
rule:
  pattern: $DB.query($$$)
---
id: no-console
language: TypeScript
severity: warning
message: log through the logger
rule:
  pattern: console.log($$$)
```

```typescript
class UserRepository { findById() {} save() {} }
```
"#;

const GOOD: &str = "class Users {\n  findById(id: string) { return this.rows.get(id); }\n  \
                    save(user: User) { this.rows.set(user.id, user); }\n}\n";

fn pattern(name: &str, text: &str) -> Repo {
    Repo::new().file(&format!("{FOLDER}/{name}.md"), text)
}

async fn validate(client: &Client, name: &str, code: &str) -> Reply {
    let arguments = json!({ "code": code, "pattern_name": name, "language": "typescript" });
    client.call("validate_pattern", arguments).await
}

/// Each violation as `rule:line`.
fn places(reply: &Reply) -> Vec<String> {
    let violations = reply.structured()["violations"].as_array().unwrap();
    let place = |violation: &Value| {
        let rule = violation["rule"].as_str().unwrap();
        format!("{rule}:{}", violation["line"])
    };
    violations.iter().map(place).collect()
}

fn suggestions(reply: &Reply) -> String {
    reply.structured()["suggestions"].to_string()
}

#[tokio::test]
async fn code_that_keeps_to_the_pattern_is_compliant() {
    let (stack, client) = serve(pattern("repository-pattern", REPOSITORY).commit()).await;
    let reply = validate(&client, "repository-pattern", GOOD).await;
    let expected = json!({
        "compliant": true,
        "pattern": "repository-pattern",
        "violations": [],
        "total_violations": 0,
        "suggestions": [],
        "rules_checked": 5,
        "language": "typescript",
    });
    assert_eq!(reply.structured(), &expected);
    let text: Value = serde_json::from_str(reply.text()).unwrap();
    assert_eq!(text, expected);
    assert_eq!(reply.meta("untrusted"), true);
    let head = git(&stack.folder("acme", "site"), &["rev-parse", "HEAD"]);
    assert_eq!(reply.meta("commit")["id"], head);
}

#[tokio::test]
async fn violations_say_rule_severity_and_line_and_notes_are_suggested() {
    let (_stack, client) = serve(pattern("repository-pattern", REPOSITORY).commit()).await;
    let code = "class Users {\n  findById(id: any) {\n    console.log(id); // eval\n    \
                return db.query('select eval');\n  }\n}\n";
    let reply = validate(&client, "Repository-Pattern", code).await;
    assert_eq!(
        reply.structured()["violations"],
        json!([
            { "rule": "SHOULD NOT `any`", "severity": "warning", "line": 2, "heuristic": true,
              "description": "`any` stands here: It SHOULD NOT use `any`." },
            { "rule": "no-console", "severity": "warning", "line": 3,
              "description": "log through the logger" },
            { "rule": "no-raw-sql", "severity": "error", "line": 4,
              "description": "db is asked directly" },
            { "rule": "MUST `save`", "severity": "error", "heuristic": true,
              "description": "`save` is missing: A repository MUST implement `findById` and `save`." },
        ])
    );
    assert_eq!(reply.structured()["compliant"], false);
    assert_eq!(reply.structured()["pattern"], "repository-pattern");
    assert!(suggestions(&reply).contains("Build queries in the repository's query builder."));
    let warned = validate(
        &client,
        "repository-pattern",
        &format!("{GOOD}console.log(1);\n"),
    )
    .await;
    assert_eq!(
        warned.structured()["compliant"],
        true,
        "warnings alone are compliant"
    );
    assert_eq!(places(&warned), ["no-console:5"]);
}

#[tokio::test]
async fn a_missing_pattern_is_not_found_and_the_nearest_are_named() {
    let repo = pattern("repository-pattern", REPOSITORY)
        .file(&format!("{FOLDER}/saga.md"), "# Saga\n")
        .file(
            "docs/adr/0001-use-sagas.md",
            "# 1. Use sagas\n\n## Status\n\nAccepted\n",
        )
        .commit();
    let (_stack, client) = serve(repo).await;
    let reply = validate(&client, "repositry-pattern", GOOD).await;
    assert_eq!(reply.code(), "pattern_not_found");
    assert_eq!(
        reply.error()["details"]["nearest"],
        json!(["repository-pattern", "saga"]),
        "decisions are no patterns"
    );
    assert!(
        reply.error()["suggestion"]
            .as_str()
            .unwrap()
            .contains("repository-pattern")
    );
    let decision = validate(&client, "0001-use-sagas", GOOD).await;
    assert_eq!(decision.code(), "pattern_not_found");
    for path in [
        "../secrets",
        "docs/architecture/patterns/saga",
        "saga.md",
        "\u{202e}x\n",
    ] {
        let reply = validate(&client, path, GOOD).await;
        assert_eq!(reply.code(), "pattern_not_found", "{path}");
        assert!(!reply.value().to_string().contains('\u{202e}'), "{path}");
    }
}

#[tokio::test]
async fn a_pattern_without_rules_says_so_instead_of_claiming_compliance() {
    let (_stack, client) =
        serve(pattern("prose", "# Prose\n\nBe kind. Use `care`.\n").commit()).await;
    let reply = validate(&client, "prose", "let a = 1;").await;
    assert_eq!(reply.structured()["compliant"], false);
    assert_eq!(reply.structured()["rules_checked"], 0);
    assert_eq!(reply.structured()["violations"], json!([]));
    assert!(
        suggestions(&reply).contains("nothing could be checked"),
        "{}",
        suggestions(&reply)
    );
}

#[tokio::test]
async fn failing_rules_are_reported_and_the_rest_run() {
    let bad = "```yaml\nid: broken\nrule: [\n---\nid: unknown-kind\nlanguage: ts\nrule: {kind: \
               nothing}\n---\nid: unknown-language\nlanguage: cobol\nrule: {kind: x}\n```\n";
    let text = format!("{REPOSITORY}\n{bad}");
    let (_stack, client) = serve(pattern("mixed", &text).commit()).await;
    let reply = validate(&client, "mixed", &format!("{GOOD}db.query(1);\n")).await;
    assert_eq!(places(&reply), ["no-raw-sql:5"]);
    assert_eq!(reply.structured()["rules_checked"], 5);
    let skipped = reply.structured()["skipped"].as_array().unwrap();
    let ids: Vec<&Value> = skipped.iter().map(|skipped| &skipped["rule"]).collect();
    assert_eq!(ids, ["broken", "unknown-language", "unknown-kind"]);
    assert!(
        skipped
            .iter()
            .all(|skipped| skipped["reason"].as_str().unwrap().len() < 300)
    );
}

#[tokio::test]
async fn a_missing_language_is_guessed_and_an_unknown_one_skips_code_rules() {
    let (_stack, client) = serve(pattern("repository-pattern", REPOSITORY).commit()).await;
    let ask = async |language: Value| {
        let code = "db.query(1); // eval\n";
        let arguments =
            json!({ "code": code, "patternName": "repository-pattern", "language": language });
        client.call("validate_pattern", arguments).await
    };
    let guessed = ask(Value::Null).await;
    assert_eq!(guessed.structured()["language"], "typescript");
    assert!(places(&guessed).contains(&"no-raw-sql:1".to_owned()));
    assert!(suggestions(&guessed).contains("read as typescript"));
    for (named, read) in [
        ("ts", "typescript"),
        ("TypeScript", "typescript"),
        ("py", "python"),
    ] {
        assert_eq!(
            ask(json!(named)).await.structured()["language"],
            read,
            "{named}"
        );
    }
    let python = ask(json!("python")).await;
    assert!(suggestions(&python).contains("2 of the pattern's rules are for typescript"));
    let unknown = ask(json!("cobol\u{202e}")).await;
    assert!(unknown.structured().get("language").is_none());
    assert!(
        places(&unknown).contains(&"MUST NOT `eval`:1".to_owned()),
        "in a comment, too"
    );
    assert!(suggestions(&unknown).contains("no grammar for the language"));
    assert!(!unknown.value().to_string().contains('\u{202e}'));
}
