//! Which files a record names: every file whose text was returned, by any method.

use e2e::{Harness, Key, Repo, Stack, Tenant};
use serde_json::{Value, json};

use super::calls;

const DECISION: &str =
    "# Use Postgres\n\nStatus: accepted\n\n## Decision\n\nWe use Postgres for all that is kept.\n";
const PATTERN: &str = "# Handlers\n\nHandlers MUST NOT call `panic`.\n";

/// A tenant with two projects, of which `site` is the default.
async fn stack() -> Stack {
    let prompt = |name: &str, text: &str| {
        json!({
            "name": name,
            "description": "A prompt",
            "arguments": [],
            "messages": [{ "role": "user", "content": { "type": "text", "text": text } }],
        })
        .to_string()
    };
    let given = "{{resource:repo://site/notes.txt}} {{resource:architecture://adr/0001-use-postgres}} \
                 {{resource:repo://shop/other.txt}}";
    let site = Repo::new()
        .file("notes.txt", "sesame\n")
        .file("app/main.py", "from app import helper\n")
        .file("app/helper.py", "word = 'sesame'\n")
        .file("app/__init__.py", "")
        .file("docs/adr/0001-use-postgres.md", DECISION)
        .file("docs/architecture/patterns/handlers.md", PATTERN)
        .file(".archway/prompts/brief.json", prompt("brief", given))
        .commit();
    let shop = Repo::new().file("other.txt", "nothing\n").commit();
    let acme = Tenant::new("acme")
        .project("site", site)
        .project("shop", shop)
        .key(Key::new("reader").default_project("site"));
    Harness::new().tenant(acme).start().await
}

/// Requests, and the files that each one's record must name.
fn asked() -> Vec<(&'static str, Value, Vec<&'static str>)> {
    const ADR: &str = "docs/adr/0001-use-postgres.md";
    const HANDLERS: &str = "docs/architecture/patterns/handlers.md";
    let tool = |name: &str, arguments: Value| json!({ "name": name, "arguments": arguments });
    let resource = |uri: &str| json!({ "uri": uri });
    let with_imports = json!({ "path": "app/main.py", "include_deps": true });
    let proposal = json!({ "decision_description": "Keep sessions in Postgres" });
    let code = json!({ "pattern_name": "handlers", "code": "fn f() { panic!() }" });
    vec![
        (
            "tools/call",
            tool("read_file", with_imports),
            vec!["app/main.py", "app/helper.py"],
        ),
        (
            "tools/call",
            tool("search_architecture", json!({ "query": "postgres" })),
            vec![ADR],
        ),
        (
            "tools/call",
            tool("check_adr_alignment", proposal),
            vec![ADR],
        ),
        ("tools/call", tool("validate_pattern", code), vec![HANDLERS]),
        (
            "resources/read",
            resource("repo://shop/other.txt"),
            vec!["other.txt"],
        ),
        (
            "resources/read",
            resource("architecture://adr/0001-use-postgres"),
            vec![ADR],
        ),
        (
            "prompts/get",
            json!({ "name": "brief" }),
            vec![
                ".archway/prompts/brief.json",
                "notes.txt",
                ADR,
                "repo://shop/other.txt",
            ],
        ),
    ]
}

#[tokio::test]
async fn a_record_names_each_file_that_tools_resources_or_prompts_returned() {
    let stack = stack().await;
    let client = stack.keyed("acme", "reader");
    let asked = asked();
    for (method, params, _) in &asked {
        let answer = client.rpc(method, params.clone()).await;
        assert!(!answer.text().contains("io.archway/files"));
    }
    let told = calls(&stack, "acme", asked.len()).await;
    for ((method, params, files), told) in asked.iter().zip(told) {
        assert_eq!(told["method"], *method);
        assert_eq!(told["outcome"], "ok", "{method} {params}: {told}");
        assert_eq!(told["files"], json!(files), "{method} {params}");
    }
}
