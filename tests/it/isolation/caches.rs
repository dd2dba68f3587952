//! A worker's caches belong to one tenant and project. Two projects with the same slug, paths and commit
//! differ in uncommitted files and in path rules.

use archway::tenants::{ProjectSettings, Tenants};
use e2e::{Client, Embeddings, Harness, Repo, Stack, Tenant, git};
use serde_json::{Value, json};
use sqlx::PgPool;

const TENANTS: [&str; 2] = ["acme", "zeta"];
/// In the commit of both; closed to acme by its operator.
const CLOSED: &str = "sesame";

/// The same repository to the byte, so that commit ids are equal.
fn same() -> Repo {
    let decision = format!(
        "# Use PostgreSQL for orders\n\n## Status\n\nAccepted\n\n## Decision\n\n\
         We will use PostgreSQL to store orders, says {CLOSED} at the gate.\n"
    );
    let pattern = format!("# Gate\n\nIt MUST NOT use `{CLOSED}`.\n");
    let prompt = json!({ "name": "greet", "description": CLOSED, "messages": [
        { "role": "user", "content": { "type": "text", "text": CLOSED } },
    ]});
    Repo::new()
        .file("who.txt", "it is nobody\n")
        .file("shut/gate.rs", "/// Opens it.\npub fn open_gate() {}\n")
        .commit()
        .file(
            "shut/gate.rs",
            format!("/// Opens {CLOSED}.\npub fn open_{CLOSED}() {{}}\n"),
        )
        .file("docs/adr/0001-gate.md", decision)
        .file("docs/architecture/patterns/gate.md", pattern)
        .file(".archway/prompts/greet.json", prompt.to_string())
        .commit()
}

/// Two tenants with the same repository. Requests to `embedder` are counted.
async fn alike(embedder: Option<&Embeddings>) -> Stack {
    let harness = embedder.map_or_else(Harness::new, |service| Harness::new().embedder(service));
    let tenants = TENANTS.map(|slug| Tenant::new(slug).project("site", same()));
    let harness = tenants.into_iter().fold(harness, Harness::tenant);
    let stack = harness.indexing().start().await;
    let heads = TENANTS.map(|slug| git(&stack.folder(slug, "site"), &["rev-parse", "HEAD"]));
    assert_eq!(heads[0], heads[1], "the same commit");
    for slug in TENANTS {
        let file = stack.folder(slug, "site").join("who.txt");
        std::fs::write(file, format!("it is {slug}\n")).unwrap();
    }
    stack
}

/// Closes every path with the word to acme.
async fn close(stack: &Stack) {
    let tenants = Tenants::new(
        PgPool::connect_with(stack.database().owner())
            .await
            .unwrap(),
    );
    let tenant = stack.tenant_id("acme");
    let close = ["shut/", "docs/", ".archway/"].map(str::to_owned).to_vec();
    let settings = ProjectSettings {
        close,
        ..ProjectSettings::default()
    };
    let closing = tenants.change(async |tx| {
        let project = tx.find_project(tenant, "site").await?;
        tx.set_project(project.id, &settings).await
    });
    closing.await.unwrap();
    let acme = stack.client("acme");
    let closed = async || {
        let reply = acme
            .call("read_file", json!({ "path": "shut/gate.rs" }))
            .await;
        reply.is_error().then_some(())
    };
    stack.eventually(closed).await;
}

/// Requests that fill some cache: lists, contents, histories, comparisons, documents, the index.
fn questions() -> Vec<(&'static str, Value)> {
    let call = |tool: &str, arguments: Value| {
        (
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        )
    };
    let read = |uri: &str| ("resources/read", json!({ "uri": uri }));
    vec![
        call("list_files", json!({})),
        call("get_repo_overview", json!({})),
        call("read_file", json!({ "path": "shut/gate.rs" })),
        call(
            "read_file",
            json!({ "path": "shut/gate.rs", "ref": "HEAD" }),
        ),
        call("read_repo_file", json!({ "path": "docs/adr/0001-gate.md" })),
        call("grep_codebase", json!({ "pattern": "Opens" })),
        call("search_files", json!({ "pattern": "open_" })),
        call("find_symbol", json!({ "name": "open_*" })),
        call("find_references", json!({ "symbol": "open_*" })),
        call("outline", json!({ "path": "shut/gate.rs" })),
        call("git_log", json!({})),
        call("git_log", json!({ "file_path": "shut" })),
        call("git_blame", json!({ "file_path": "shut/gate.rs" })),
        call("git_diff", json!({ "ref1": "HEAD~1", "ref2": "HEAD" })),
        call("context_search", json!({ "query": "opens the gate" })),
        call("search_architecture", json!({ "query": "gate" })),
        call(
            "check_adr_alignment",
            json!({ "decision_description": "We will use PostgreSQL to store orders" }),
        ),
        call(
            "validate_pattern",
            json!({ "pattern_name": "gate", "code": "sesame()" }),
        ),
        read("repo://site/shut/gate.rs"),
        read("architecture://adr/0001-gate"),
        read("architecture://pattern/gate"),
        ("resources/list", json!({})),
        ("prompts/list", json!({})),
        ("prompts/get", json!({ "name": "greet" })),
    ]
}

/// Whether an answer shows what is closed to acme, by its word or its paths.
async fn holds_closed(client: &Client, (method, params): &(&'static str, Value)) -> bool {
    let answer = client.rpc(method, params.clone()).await.json();
    let asked = params.to_string();
    let text = answer["result"].to_string();
    let names = [
        "gate.rs",
        "0001-gate",
        "patterns/gate",
        "pattern/gate",
        "\"greet\"",
    ];
    let unasked = names
        .into_iter()
        .filter(|name| !asked.contains(name.trim_matches('"')));
    text.contains(CLOSED) || unasked.into_iter().any(|name| text.contains(name))
}

#[tokio::test]
async fn caches_of_a_commit_never_serve_another_tenant_with_the_same_commit() {
    let stack = alike(None).await;
    let clients = TENANTS.map(|slug| stack.client(slug));
    for client in &clients {
        let indexed = async || {
            let query = json!({ "query": "opens sesame" });
            let reply = client.call("context_search", query).await;
            (!reply.is_error() && reply.text().contains(CLOSED)).then_some(())
        };
        stack.eventually(indexed).await;
    }
    close(&stack).await;
    let [acme, zeta] = clients;
    for question in questions() {
        for turn in 0..3 {
            assert!(
                holds_closed(&zeta, &question).await,
                "{turn}: zeta has it: {question:?}"
            );
            assert!(
                !holds_closed(&acme, &question).await,
                "{turn}: closed to acme: {question:?}"
            );
        }
    }
}

#[tokio::test]
async fn uncommitted_content_of_the_same_commit_stays_with_its_tenant() {
    let stack = alike(None).await;
    for turn in 0..3 {
        for slug in TENANTS {
            let client = stack.client(slug);
            for (tool, arguments) in [
                ("read_file", json!({ "path": "who.txt" })),
                ("grep_codebase", json!({ "pattern": "it is" })),
                ("search_files", json!({ "pattern": "it is" })),
                ("git_diff", json!({})),
            ] {
                let reply = client.call(tool, arguments).await;
                let text = reply.structured().to_string();
                let seen: Vec<&str> = TENANTS
                    .into_iter()
                    .filter(|word| text.contains(word))
                    .collect();
                assert_eq!(seen, [slug], "{turn} {tool}: {text}");
            }
        }
    }
}

#[tokio::test]
async fn a_querys_vector_is_computed_and_cached_per_tenant() {
    let service = Embeddings::start(24).await;
    let stack = alike(Some(&service)).await;
    let query = "opens the gate in the morning";
    let asked = || {
        let questions = service.requests().into_iter();
        questions
            .filter(|question| question.texts().iter().any(|text| text.contains(query)))
            .count()
    };
    for (slug, times) in [("acme", 1), ("zeta", 2), ("acme", 2), ("zeta", 2)] {
        let client = stack.client(slug);
        let answered = async || {
            let reply = client
                .call("context_search", json!({ "query": query }))
                .await;
            (!reply.is_error()).then(|| reply.structured()["index"]["mode"].clone())
        };
        assert_eq!(stack.eventually(answered).await, "hybrid", "{slug}");
        assert_eq!(
            asked(),
            times,
            "{slug}: the first caller cannot be identified by the time"
        );
    }
}
