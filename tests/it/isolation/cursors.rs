//! Cursors from before a loss: once a rule took a project from a caller, each cursor that it has is refused, and tells
//! nothing. They are no use to somebody who never had the project either.

use e2e::{Client, Harness, Key, Repo, Stack, Tenant};
use serde_json::{Value, json};

use crate::result;

/// More projects than a page of any list has.
const OTHERS: usize = 110;

/// `vault` has more than a page of everything, and comes after all other projects.
async fn many() -> Stack {
    let empty = |acme: Tenant, nth: usize| {
        acme.project(&format!("p{nth:03}"), Repo::new().file("a.txt", "x\n"))
    };
    let acme = (0..OTHERS).fold(Tenant::new("acme"), empty);
    let files = (0..600).fold(Repo::new(), |repo, n| {
        repo.file(&format!("f{n:03}.txt"), "x\n")
    });
    let code = "def open_gate(): pass\ndef shut_gate(): pass\nopen_gate()\nopen_gate()\n";
    let vault = files
        .commit()
        .file("gate.py", code)
        .file("docs/adr/0001-gate.md", "# Gate\n")
        .file("docs/adr/0002-moat.md", "# Moat\n")
        .commit();
    let acme = acme
        .project("vault", vault)
        .key(Key::new("dev"))
        .key(Key::new("guest"));
    let stack = Harness::new().tenant(acme).start().await;
    stack.until_listening().await;
    stack
}

/// Tools that answer in pages, with arguments that have more than one.
fn paged() -> Vec<(&'static str, Value)> {
    let in_vault = [
        ("list_files", json!({})),
        ("search_files", json!({ "pattern": "x", "max_results": 1 })),
        ("grep_codebase", json!({ "pattern": "x", "max_results": 1 })),
        ("find_symbol", json!({ "name": "*", "limit": 1 })),
        (
            "find_references",
            json!({ "symbol": "open_gate", "limit": 1 }),
        ),
        ("git_log", json!({ "max_count": 1 })),
        ("search_architecture", json!({ "max_results": 1 })),
        ("search_memory", json!({ "limit": 1 })),
    ];
    let everywhere = ["search_files", "grep_codebase", "find_symbol"];
    let of = |project: &'static str| {
        move |(tool, mut arguments): (&'static str, Value)| {
            arguments["project"] = json!(project);
            (tool, arguments)
        }
    };
    let all = in_vault.clone().into_iter();
    let all = all.filter(|(tool, _)| everywhere.contains(tool));
    let mut paged: Vec<_> = all.map(of("*")).collect();
    paged.extend(in_vault.into_iter().map(of("vault")));
    paged.push(("list_projects", json!({})));
    paged
}

/// Requests of second pages.
async fn second_pages(client: &Client) -> Vec<(&'static str, Value)> {
    let mut pages = Vec::new();
    for (tool, mut arguments) in paged() {
        let first = client.call(tool, arguments.clone()).await;
        let cursor = first.structured()["cursor"].as_str();
        let cursor = cursor.unwrap_or_else(|| panic!("{tool} {arguments}: {}", first.value()));
        arguments["cursor"] = json!(cursor);
        let params = json!({ "name": tool, "arguments": arguments });
        pages.push(("tools/call", params));
    }
    for method in ["resources/list", "prompts/list"] {
        let first = result(client, method, json!({})).await;
        let cursor = first["nextCursor"].as_str().expect("a second page");
        pages.push((method, json!({ "cursor": cursor })));
    }
    pages
}

/// Panics unless each request is refused for its cursor alone.
async fn assert_refused(client: &Client, pages: &[(&'static str, Value)]) {
    for (method, params) in pages {
        let answer = client.rpc(method, params.clone()).await.json();
        let code = match answer.get("error") {
            Some(error) => &error["code"],
            None => &answer["result"]["_meta"]["io.archway/error"]["error"]["code"],
        };
        let is_refused = *code == "invalid_arguments" || *code == -32602;
        assert!(is_refused, "{method} {params}: {answer}");
        let said = answer.to_string();
        for part in ["the cursor is not valid", "start again without a cursor"] {
            assert!(said.contains(part), "{method} {params}: {said}");
        }
        assert!(!said.contains("vault"), "{method} {params}: {said}");
    }
}

async fn until_has_vault(stack: &Stack, client: &Client, has_it: bool) {
    let read = json!({ "project": "vault", "path": "f000.txt" });
    let is_so = async || {
        let reply = client.call("read_file", read.clone()).await;
        (reply.is_error() != has_it).then_some(())
    };
    stack.eventually(is_so).await;
}

#[tokio::test]
async fn every_cursor_from_before_a_loss_is_refused() {
    let stack = many().await;
    stack.allow("acme", "everyone", &["p*"]).await;
    let given = stack.allow("acme", "key:dev", &["vault"]).await;
    let (dev, guest) = (stack.keyed("acme", "dev"), stack.keyed("acme", "guest"));
    until_has_vault(&stack, &dev, true).await;
    until_has_vault(&stack, &guest, false).await;
    for event in ["the gate opened", "the gate was shut"] {
        let entry = json!({ "timestamp": "2026-01-07T14:00:00Z", "event": event });
        let arguments = json!({ "project": "vault", "file": "progress_log.jsonl", "entry": entry });
        dev.call("write_memory_entry", arguments).await.structured();
    }
    let pages = second_pages(&dev).await;
    for (method, params) in &pages {
        let answer = result(&dev, method, params.clone()).await;
        assert_ne!(answer["isError"], true, "{method} {params}: {answer}");
    }
    assert_refused(&guest, &pages).await;

    stack.remove_rule("acme", given).await;
    until_has_vault(&stack, &dev, false).await;
    assert_refused(&dev, &pages).await;
}
