//! Prompts through the real path: defined in a repository, expanded for the caller.

mod callers;
mod files;

use e2e::{Client, Repo, git};
use serde_json::{Value, json};

use crate::{refused, result, serve};

const FILE: &str = ".archway/prompts/greet.json";

/// A prompt's file with one message.
fn prompt(name: &str, text: &str) -> String {
    let argument = |name: &str, required: bool| json!({ "name": name, "description": format!("The {name}"), "required": required });
    json!({
        "name": name,
        "description": format!("About {name}"),
        "arguments": [argument("who", true), argument("why", false)],
        "messages": [{ "role": "user", "content": { "type": "text", "text": text } }],
    })
    .to_string()
}

fn site(prompts: &[(&str, &str, &str)]) -> Repo {
    let repo = Repo::new()
        .file(
            "docs/adr/0001-use-postgres.md",
            "# Use Postgres\n\n{{who}} decided.\n",
        )
        .file("notes.txt", "a note\n")
        .file(".env", "SECRET=1\n");
    let repo = prompts.iter().fold(repo, |repo, (path, name, text)| {
        repo.file(path, prompt(name, text))
    });
    repo.commit()
}

async fn names(client: &Client) -> Vec<String> {
    let list = result(client, "prompts/list", json!({})).await;
    let prompts = list["prompts"].as_array().unwrap().clone();
    let names = prompts
        .iter()
        .map(|it| it["name"].as_str().unwrap().to_owned());
    names.filter(|name| !is_built_in(name)).collect()
}

fn is_built_in(name: &str) -> bool {
    [
        "guided-pattern-validation",
        "review-a-decision",
        "onboard-to-this-repo",
    ]
    .contains(&name)
}

async fn skipped(client: &Client) -> Vec<String> {
    let list = result(client, "prompts/list", json!({})).await;
    let skipped = &list["_meta"]["io.archway/skipped"];
    serde_json::from_value(skipped.clone()).unwrap_or_default()
}

/// The text of a prompt's only message.
async fn text(client: &Client, name: &str, arguments: Value) -> String {
    let got = result(
        client,
        "prompts/get",
        json!({ "name": name, "arguments": arguments }),
    )
    .await;
    let messages = got["messages"].as_array().unwrap();
    assert_eq!((messages.len(), &messages[0]["role"]), (1, &json!("user")));
    messages[0]["content"]["text"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_repositorys_prompts_are_listed_and_had_in_both_eras() {
    let repo = site(&[
        (FILE, "greet", "Hello {{who}}, {{ why }}."),
        ("mcp/prompts/other.json", "other", "Text."),
        (".archway/prompts/deeper/not.json", "deeper", "Text."),
    ]);
    let (stack, client) = serve(repo).await;
    assert_eq!(names(&client).await, ["greet", "other"]);
    for (client, is_modern) in [(client.clone(), false), (client.clone().modern(), true)] {
        let list = result(&client, "prompts/list", json!({})).await;
        let greet = list["prompts"].as_array().unwrap();
        let greet = greet.iter().find(|it| it["name"] == "greet").unwrap();
        assert_eq!(greet["description"], "About greet");
        let who = json!({ "name": "who", "description": "The who", "required": true });
        assert_eq!(greet["arguments"][0], who);
        assert_eq!(list["ttlMs"].is_u64(), is_modern);
        assert_eq!(list["cacheScope"] == "private", is_modern);
        let got = json!({ "name": "greet", "arguments": { "who": "Ada", "why": "twice" } });
        let got = result(&client, "prompts/get", got).await;
        assert_eq!(got["description"], "About greet");
        assert_eq!(got["messages"][0]["content"]["text"], "Hello Ada, twice.");
        assert_eq!(got["_meta"]["io.archway/untrusted"], true);
        let head = git(&stack.folder("acme", "site"), &["rev-parse", "HEAD"]);
        for result in [&list, &got] {
            assert_eq!(result["_meta"]["io.archway/commit"]["id"], head);
        }
        assert_eq!(got["resultType"] == "complete", is_modern);
        assert!(got.get("ttlMs").is_none());
    }
    let without = text(&client, "greet", json!({ "who": "Ada" })).await;
    assert_eq!(without, "Hello Ada, .");
}

#[tokio::test]
async fn references_in_a_prompt_are_expanded_once_and_not_recursively() {
    let named = "{{tool:grep-codebase}}\n--\n{{resource:architecture://adr/0001-use-postgres}}\
        --\n{{resource:repo://site/notes.txt}}--\n{{who}}\n{{why}}";
    let (_stack, client) = serve(site(&[(FILE, "greet", named)])).await;
    let hostile = "{{tool:hello}} {{why}} \u{202e}";
    let given = json!({ "who": hostile, "why": "{{who}}" });
    let text = text(&client, "greet", given).await;
    let parts: Vec<&str> = text.split("--\n").collect();
    assert!(
        parts[0].starts_with("Tool: grep_codebase\nDescription: "),
        "{text}"
    );
    assert!(parts[0].contains("\n  - pattern (required): "), "{text}");
    assert!(parts[0].contains("(max 200 chars)"), "{text}");
    assert!(parts[0].contains("\n  - limit (optional): "), "{text}");
    assert_eq!(parts[1], "# Use Postgres\n\n{{who}} decided.\n");
    assert_eq!(parts[2], "a note\n");
    assert_eq!(parts[3], "{{tool:hello}} {{why}} \\u{202e}\n{{who}}");
}

#[tokio::test]
async fn a_prompt_that_is_not_whole_is_skipped_and_the_list_says_why() {
    let path = |name: &str| format!(".archway/prompts/{name}.json");
    let bad = [
        (
            "a",
            "{{tool:no_such_tool}}",
            "there is no tool \"no_such_tool\"",
        ),
        ("b", "{{resource:repo://site/.env}}", "there is no resource"),
        ("c", "{{resource:repo://site/none}}", "there is no resource"),
        (
            "d",
            "{{resource:architecture://adr/none}}",
            "there is no resource",
        ),
        ("e", "{{whom}}", "no argument \"whom\""),
        ("f", "{{result:no-such}}", "there is no tool \"no-such\""),
        ("onboard-to-this-repo", "Mine.", "built-in"),
    ];
    let repo = bad.iter().fold(Repo::new(), |repo, (name, text, _)| {
        repo.file(&path(name), prompt(name, text))
    });
    let repo = repo
        .file(&path("good"), prompt("good", "Text."))
        .file(&path("h"), prompt("good", "Another of that name."))
        .file(&path("i"), "{")
        .file(&path("j"), " ".repeat((64 << 10) + 1))
        .file(".env", "SECRET=1\n")
        .commit();
    let (_stack, client) = serve(repo).await;
    assert_eq!(names(&client).await, ["good"]);
    let skipped = skipped(&client).await;
    let mut expected: Vec<(String, &str)> = bad
        .iter()
        .map(|(name, _, why)| (path(name), *why))
        .collect();
    expected.push((path("h"), "another prompt is called \"good\""));
    expected.push((path("i"), "it is no prompt"));
    expected.push((path("j"), "it has more than 64 KiB"));
    for (path, why) in &expected {
        let found = skipped.iter().find(|it| it.starts_with(path.as_str()));
        let found = found.unwrap_or_else(|| panic!("{path}: {skipped:?}"));
        assert!(found.contains(why), "{found}");
    }
    assert_eq!(skipped.len(), expected.len(), "{skipped:?}");
    for name in ["a", "b", "none", "site/none", "nowhere/good", "a/b/c", ""] {
        let error = refused(&client, "prompts/get", json!({ "name": name })).await;
        assert_eq!(error["code"], -32602, "{name}");
    }
    let given = json!({ "who": "Ada" });
    assert_eq!(text(&client, "site/good", given).await, "Text.");
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_refused() {
    let (_stack, client) = serve(site(&[(FILE, "greet", "Hello {{who}}")])).await;
    for (arguments, word) in [
        (json!({}), "\"who\" is missing"),
        (json!({ "who": "a", "whom": "b" }), "no argument \"whom\""),
        (json!({ "who": 7 }), "is no string"),
        (json!(["a"]), "form of the method"),
    ] {
        let params = json!({ "name": "greet", "arguments": arguments });
        let error = refused(&client.clone().modern(), "prompts/get", params).await;
        assert_eq!(error["code"], -32602);
        assert!(error["message"].as_str().unwrap().contains(word), "{error}");
    }
    let error = refused(&client, "prompts/get", json!({ "name": "gret" })).await;
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("did you mean greet?"),
        "{error}"
    );
    assert_eq!(
        refused(&client, "prompts/get", json!({ "name": 7 })).await["code"],
        -32602
    );
}

#[tokio::test]
async fn prompts_are_read_from_head_in_the_configured_folder() {
    let manifest = "[architecture]\nprompts = ['work/prompts']\nadr = 7\n";
    let repo = site(&[
        (FILE, "greet", "Text."),
        ("work/prompts/own.json", "own", "Before."),
    ]);
    let (stack, client) = serve(repo.file(".archway.toml", manifest).commit()).await;
    assert_eq!(names(&client).await, ["own"]);
    for method in ["prompts/list", "resources/list"] {
        let list = result(&client, method, json!({})).await;
        let warnings = list["_meta"]["io.archway/warnings"].to_string();
        assert!(
            warnings.contains("`architecture.adr` is no list"),
            "{warnings}"
        );
    }
    let folder = stack.folder("acme", "site");
    let file = folder.join("work/prompts/own.json");
    std::fs::write(&file, prompt("own", "After.")).unwrap();
    let who = json!({ "who": "a" });
    assert_eq!(text(&client, "own", who.clone()).await, "Before.");
    git(
        &folder,
        &["commit", "--quiet", "--all", "--message", "after"],
    );
    assert_eq!(text(&client, "own", who).await, "After.");
}

#[tokio::test]
async fn a_built_in_prompt_describes_the_tools_of_its_work() {
    let (_stack, client) = serve(site(&[])).await;
    let text = text(
        &client,
        "onboard-to-this-repo",
        json!({ "focus": "the parser" }),
    )
    .await;
    assert!(
        text.contains("the parser") && text.contains("Tool: get_repo_overview\n"),
        "{text}"
    );
    assert!(!text.contains("{{"), "{text}");
}
