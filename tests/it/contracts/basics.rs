//! `hello`, `list_projects`, and what `tools/list` promises of every tool.

use e2e::{Client, Harness, Key, Repo, Stack, Tenant, git, sample_calls};
use serde_json::{Value, json};
use sqlx::PgPool;

use super::{both, column};
use crate::serve;

#[tokio::test]
async fn hello_returns_a_greeting_and_the_time() {
    let (_stack, client) = serve(Repo::new().file("a.txt", "a").commit()).await;
    let reply = client.call("hello", json!({})).await;
    assert_eq!(both(&reply)["message"], "Hello from Archway!");
    let time = reply.structured()["timestamp"].as_str().unwrap();
    assert!(
        time.ends_with('Z') && time.contains('T'),
        "RFC 3339 in UTC: {time}"
    );
    assert!(reply.meta("durationMs").is_number());
    assert!(
        reply.meta("untrusted").is_null(),
        "nothing of a repository is in it"
    );
}

#[tokio::test]
async fn list_projects_returns_slug_name_default_and_commit() {
    let acme = Tenant::new("acme")
        .project("site", Repo::new().file("a.txt", "a").commit())
        .project("plain", Repo::new().file("a.txt", "a"))
        .key(Key::new("with-default").default_project("site"));
    let stack = Harness::new().tenant(acme).start().await;
    let reply = stack
        .keyed("acme", "with-default")
        .call("list_projects", json!({}))
        .await;
    let data = both(&reply);
    assert_eq!(data["total_count"], 2);
    assert_eq!(column(&data["projects"], "slug"), ["plain", "site"]);
    let (plain, site) = (&data["projects"][0], &data["projects"][1]);
    assert_eq!(
        (&plain["default"], &site["default"]),
        (&json!(false), &json!(true))
    );
    assert_eq!(plain["name"], "plain");
    assert_eq!(plain["commit"], Value::Null, "a folder without git");
    let head = git(&stack.folder("acme", "site"), &["rev-parse", "HEAD"]);
    assert_eq!(site["commit"]["id"], head);
    assert_eq!(site["indexed"], Value::Null);

    let found = stack
        .client("acme")
        .call("list_projects", json!({ "query": "SIT" }))
        .await;
    assert_eq!(column(&found.structured()["projects"], "slug"), ["site"]);
}

/// A tenant with projects of these slugs.
async fn with_projects(slugs: &[String]) -> (Stack, Client) {
    let acme = slugs.iter().fold(Tenant::new("acme"), |acme, slug| {
        acme.project(slug, Repo::new())
    });
    let stack = Harness::new().tenant(acme).start().await;
    let client = stack.client("acme");
    (stack, client)
}

/// The slugs of each page of `list_projects`, and the bytes of its text.
async fn pages_of_projects(client: &Client, total: usize) -> Vec<(Vec<String>, usize)> {
    let (mut arguments, mut pages) = (json!({}), Vec::new());
    loop {
        let reply = client.call("list_projects", arguments.clone()).await;
        let data = both(&reply);
        assert_eq!(data["total_count"], total);
        assert!(data.to_string().len() <= 8_000);
        assert!(reply.text().len() <= 8_000);
        let slugs = column(&data["projects"], "slug");
        let slugs = slugs.into_iter().map(str::to_owned).collect();
        pages.push((slugs, reply.text().len()));
        assert_eq!(
            data.get("truncated").is_some(),
            data.get("cursor").is_some()
        );
        let Some(cursor) = data.get("cursor") else {
            return pages;
        };
        arguments["cursor"] = cursor.clone();
    }
}

#[tokio::test]
async fn list_projects_has_pages_of_fifty_and_at_most_8000_bytes() {
    let slugs: Vec<String> = (0..120).map(|at| format!("project-{at:03}")).collect();
    let (stack, client) = with_projects(&slugs).await;
    let pages = pages_of_projects(&client, 120).await;
    let sizes: Vec<usize> = pages.iter().map(|(page, _)| page.len()).collect();
    assert_eq!(sizes, [50, 50, 20]);
    assert!(pages.iter().flat_map(|(page, _)| page).eq(&slugs));

    let owner = PgPool::connect_with(stack.database().owner()).await;
    let named = sqlx::query("update projects set name = $1").bind("n".repeat(150));
    named.execute(&owner.unwrap()).await.unwrap();
    let renamed = async || {
        let reply = client.call("list_projects", json!({})).await;
        let name = &reply.structured()["projects"][0]["name"];
        (name.as_str().unwrap().len() == 150).then_some(())
    };
    stack.eventually(renamed).await;
    let pages = pages_of_projects(&client, 120).await;
    assert!(pages.iter().flat_map(|(page, _)| page).eq(&slugs));
    let (_last, full) = pages.split_last().unwrap();
    for (page, bytes) in full {
        assert!(page.len() < 50 && *bytes > 6_000, "{page:?}: {bytes}");
    }
    assert!(full.len() >= 3, "{} full pages", full.len());
}

#[tokio::test]
async fn a_display_name_shows_what_it_hides() {
    let (stack, client) = serve(Repo::new().file("a.txt", "a").commit()).await;
    let owner = PgPool::connect_with(stack.database().owner()).await;
    let named = sqlx::query("update projects set name = $1").bind("ev\u{202e}il\u{200b}");
    named.execute(&owner.unwrap()).await.unwrap();
    let renamed = async || {
        let reply = client.call("list_projects", json!({})).await;
        (reply.structured()["projects"][0]["name"] != "site").then_some(reply)
    };
    let reply = stack.eventually(renamed).await;
    let name = &both(&reply)["projects"][0]["name"];
    assert_eq!(name, r"ev\u{202e}il\u{200b}");
    assert_eq!(reply.meta("untrusted"), true);
    assert_eq!(reply.meta("escaped"), 2);
}

#[tokio::test]
async fn server_instructions_name_existing_tools_and_every_git_tool() {
    let (_stack, client) = serve(Repo::new().file("a.txt", "a")).await;
    let listed = client.rpc("tools/list", json!({})).await.json();
    let modern = client.modern();
    let discovered = modern.rpc("server/discover", json!({})).await.json();
    let said = discovered["result"]["instructions"].as_str().unwrap();
    let names = column(&listed["result"]["tools"], "name");
    for name in names.iter().filter(|name| name.starts_with("git_")) {
        assert!(said.contains(name), "{name}: {said}");
    }
    let words = said.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let named: Vec<&str> = words
        .filter(|word| word.contains('_') && *word != "_meta")
        .collect();
    assert!(named.len() >= 8, "{said}");
    for name in named {
        assert!(names.contains(&name), "{name} is no tool");
    }
}

#[tokio::test]
async fn instructions_name_only_tools_that_the_caller_may_call() {
    let acme = Tenant::new("acme")
        .project("site", Repo::new().file("a.txt", "a").commit())
        .key(Key::new("memory").families(["memory"]))
        .key(Key::new("nothing").scopes(&[]));
    let stack = Harness::new().tenant(acme).start().await;
    let instructions = async |label: &str| {
        let modern = stack.keyed("acme", label).modern();
        let discovered = modern.rpc("server/discover", json!({})).await.json();
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "c", "version": "1" } });
        let opened = stack.keyed("acme", label).rpc("initialize", params).await;
        let said = discovered["result"]["instructions"].clone();
        assert_eq!(opened.json()["result"]["instructions"], said, "{label}");
        said.as_str().unwrap().to_owned()
    };
    let memory = instructions("memory").await;
    assert!(memory.contains("Start with: list_projects."), "{memory}");
    for hidden in ["git_", "read_file", "resources", "prompts"] {
        assert!(!memory.contains(hidden), "{hidden}: {memory}");
    }
    let nothing = instructions("nothing").await;
    assert!(nothing.contains("ask the operator for access"), "{nothing}");
    let call = json!({ "name": "list_projects", "arguments": {} });
    let listed = stack
        .keyed("acme", "memory")
        .rpc("tools/call", call.clone())
        .await;
    assert_eq!(
        listed.json()["result"]["structuredContent"]["total_count"],
        1
    );
}

#[tokio::test]
async fn a_folder_without_git_is_served_and_has_no_commit() {
    let (_stack, client) = serve(Repo::new().file("a.txt", "sesame\n")).await;
    let reply = client.call("read_file", json!({ "path": "a.txt" })).await;
    assert_eq!(reply.structured()["file"]["content"], "sesame\n");
    assert_eq!(reply.meta("commit"), &Value::Null);
}

#[tokio::test]
async fn every_tool_is_listed_with_schemas_and_hints_and_the_list_is_small() {
    let (_stack, client) = serve(Repo::new().file("a.txt", "a").commit()).await;
    let response = client.rpc("tools/list", json!({})).await;
    assert!(
        response.body.len() < 48 << 10,
        "{} bytes",
        response.body.len()
    );
    let list = response.json();
    let tools = list["result"]["tools"].as_array().unwrap();
    let samples = sample_calls::of_listed(&client).await;
    let mut shown = 0;
    for (tool, samples) in tools.iter().zip(samples) {
        let name = tool["name"].as_str().unwrap();
        assert_eq!(tool["inputSchema"]["type"], "object", "{name}");
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{name}");
        assert_eq!(tool["outputSchema"]["type"], "object", "{name}");
        let hints = &tool["annotations"];
        assert!(hints["title"].is_string(), "{name}");
        let reads = !samples.writes;
        assert_eq!(hints["readOnlyHint"], reads, "{name}");
        assert_eq!(hints["idempotentHint"], reads, "{name}");
        assert_eq!(hints["destructiveHint"], false, "{name}");
        assert_eq!(hints["openWorldHint"], false, "{name}");
        let schema = tool["inputSchema"].to_string();
        for (argument, about) in tool["inputSchema"]["properties"]
            .as_object()
            .into_iter()
            .flatten()
        {
            assert!(
                !argument.contains(char::is_uppercase),
                "{name}.{argument} is no snake case"
            );
            assert!(
                about["description"].is_string(),
                "{name}.{argument} says nothing: {schema}"
            );
        }
        shown += name.len() + tool["description"].as_str().unwrap().len() + schema.len();
    }
    assert!(shown < 20_000, "a model is shown {shown} bytes");
    let again = client.rpc("tools/list", json!({})).await.json();
    assert_eq!(list["result"], again["result"], "in fixed order");
}

#[tokio::test]
async fn every_answer_fits_the_schema_that_was_advertised_for_it() {
    // More files than one page lists.
    let many = (0..600).fold(Repo::new(), |repo, n| {
        repo.file(&format!("f{n:03}.txt"), "lantern lantern\n".repeat(5))
    });
    let acme = Tenant::new("acme").project("site", sample_calls::fixture(many));
    let stack = Harness::new().tenant(acme).indexing().start().await;
    let client = stack.client("acme");
    let is_indexed = async || {
        let query = json!({ "query": "lantern" });
        let reply = client.call("context_search", query).await;
        (!reply.is_error()).then_some(())
    };
    stack.eventually(is_indexed).await;
    let list = client.rpc("tools/list", json!({})).await.json();
    let listed = list["result"]["tools"].as_array().unwrap();
    for (samples, entry) in sample_calls::of_listed(&client).await.iter().zip(listed) {
        let tool = samples.tool;
        assert_eq!(entry["name"], tool);
        let schema = jsonschema::validator_for(&entry["outputSchema"]).unwrap();
        for arguments in &samples.arguments {
            let reply = client.call(tool, arguments.clone()).await;
            let is_of_one = arguments["project"] != "*";
            assert_eq!(
                samples.names_commit && is_of_one,
                reply.meta("commit").is_object(),
                "{tool}: correct `.names_commit()` in tests/src/sample_calls/table.rs"
            );
            let errors: Vec<String> = schema
                .iter_errors(reply.structured())
                .map(|error| error.to_string())
                .collect();
            assert!(errors.is_empty(), "{tool} {arguments}: {errors:?}");
        }
    }
}

#[test]
fn a_tool_without_sample_calls_fails_with_what_to_write_and_where() {
    let schema = json!({ "properties": { "file_path": {} } });
    let new = json!({ "name": "not_in_the_table", "inputSchema": schema });
    let blame = json!({ "name": "git_blame", "inputSchema": { "properties": { "path": {} } } });
    let mistakes = sample_calls::mistakes(&[new, blame]).join("\n");
    for part in [
        r#"Write `SampleCalls::of("not_in_the_table")"#,
        "in tests/src/sample_calls/table.rs",
        r#"`git_blame` takes `path`. Add `.path(PathArgument::Opened("path"))`"#,
        "The gateway lists no `hello`. Delete its entry",
    ] {
        assert!(mistakes.contains(part), "{part}: {mistakes}");
    }
}
