//! Errors in a prompt's file, in words for its author, and what a prompt leaves out.

use e2e::Repo;
use serde_json::json;

use super::{names, prompt, skipped, text};
use crate::serve;

#[tokio::test]
async fn errors_in_a_prompt_file_name_the_line_and_the_fault() {
    let path = |name: &str| format!(".archway/prompts/{name}.json");
    let bad = [
        (
            "a",
            "{\n\"name\": \"a\",\n}",
            "line 3: it is no JSON: trailing comma",
        ),
        (
            "b",
            "{\"name\": \"b\",\n\"description\": \"b\"}",
            "line 1: the file has no `messages`",
        ),
        (
            "c",
            "{\"name\": \"c\", \"description\": \"c\",\n\"messages\": [\n{\"role\": \"user\",\n\
             \"content\": {\"type\": \"image\", \"data\": \"\"}}]}",
            "line 4: `messages[0].content.data` is nothing that is known here: type, text",
        ),
        (
            "d",
            "{\"name\": \"d\", \"description\": \"d\",\n\"messages\": [{\"role\": \"user\", \
             \"content\": {\"text\": \"x\"}}]}",
            "line 2: `messages[0].content` has no `type`",
        ),
    ];
    let repo = bad.iter().fold(Repo::new(), |repo, (name, text, _)| {
        repo.file(&path(name), text)
    });
    let (_stack, client) = serve(repo.commit()).await;
    let skipped = skipped(&client).await;
    for (found, (name, _, why)) in skipped.iter().zip(bad) {
        let said = format!("{} is skipped: it is no prompt: {why}", path(name));
        assert_eq!(*found, said);
    }
    assert_eq!(skipped.len(), bad.len());
}

#[tokio::test]
async fn an_unknown_placeholder_is_reported_and_other_braces_are_text() {
    let path = |name: &str| format!(".archway/prompts/{name}.json");
    let repo = Repo::new()
        .file(&path("a"), prompt("a", "Read {{argument:who}}."))
        .file(
            &path("b"),
            prompt("b", "As in Vue: {{ who: why }} {{#each x}}"),
        );
    let (_stack, client) = serve(repo.commit()).await;
    assert_eq!(names(&client).await, ["b"]);
    let skipped = skipped(&client).await;
    let said =
        ".archway/prompts/a.json (a) is skipped: it names {{argument:who}}, which is nothing";
    assert!(skipped[0].starts_with(said), "{skipped:?}");
    let given = json!({ "who": "Ada" });
    assert_eq!(
        text(&client, "b", given).await,
        "As in Vue: {{ who: why }} {{#each x}}"
    );
}

#[tokio::test]
async fn a_built_in_prompt_omits_lines_of_missing_arguments() {
    let (_stack, client) = serve(Repo::new().commit()).await;
    let name = "guided-pattern-validation";
    let short = text(&client, name, json!({ "code": "f()" })).await;
    assert!(short.contains("patterns.\n\nCode:\n\nf()\n"), "{short}");
    let given = json!({ "code": "f()", "pattern_name": "saga", "language": "go" });
    let long = text(&client, name, given).await;
    let lines = "patterns.\n\nPattern: saga\nLanguage: go\nCode:\n\nf()\n";
    assert!(long.contains(lines), "{long}");
    for (name, given) in [
        ("onboard-to-this-repo", json!({})),
        ("review-a-decision", json!({ "decision": "use it" })),
    ] {
        let text = text(&client, name, given).await;
        assert!(!text.contains(": \n") && !text.contains("\n\n\n"), "{text}");
    }
}
