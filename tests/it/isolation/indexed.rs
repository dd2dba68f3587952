//! The index and the memory of a project that no access rule gives: no search shows a result, a count or a name of it,
//! though they hold its files and notes.

use std::collections::BTreeSet;

use e2e::{Client, Harness, Key, Reply, Repo, Stack, Tenant};
use serde_json::{Value, json};

use super::access::until_sees;

const ALL: [&str; 3] = ["site", "vault", "wiki"];
const OPEN: [&str; 2] = ["site", "wiki"];
const QUERY: &str = "treasure under the sesame tree";
/// What only `vault` has: a word of its file, one of its notes, its path and its slug. No query contains them.
const SECRETS: [&str; 4] = ["kraken", "leviathan", "abyss", "vault"];

/// Three projects in the index, each with a file, and two with a decision and a rule. `owner` may read all of them,
/// `dev` two.
async fn indexed() -> Stack {
    let repo = |path: &str, who: &str| {
        let text = format!("the {who} keeps a treasure under the sesame tree\n");
        Repo::new().file(path, text).commit()
    };
    let acme = Tenant::new("acme")
        .project("vault", repo("abyss.txt", "kraken"))
        .project("site", repo("shore.txt", "heron"))
        .project("wiki", repo("cliff.txt", "falcon"))
        .key(Key::new("dev"))
        .key(Key::new("owner"));
    let stack = Harness::new().tenant(acme).indexing().start().await;
    stack.until_listening().await;
    stack.allow("acme", "key:owner", &["*"]).await;
    stack.allow("acme", "everyone", &OPEN).await;
    let owner = stack.keyed("acme", "owner");
    until_sees(&stack, &owner, &ALL).await;
    for project in ALL {
        let query = json!({ "query": QUERY, "project": project });
        let is_ready = async || {
            let reply = owner.call("context_search", query.clone()).await;
            (!reply.is_error()).then_some(())
        };
        stack.eventually(is_ready).await;
    }
    note(&owner, "vault", "leviathan").await;
    note(&owner, "site", "dolphin").await;
    let has_all = async || (found(&search(&owner, "all").await).len() == 7).then_some(());
    stack.eventually(has_all).await;
    stack
}

/// Writes a decision and a rule.
async fn note(client: &Client, project: &str, who: &str) {
    let decision = format!("the {who} guards the treasure under the sesame tree");
    let entry = json!({ "timestamp": "2026-01-07T14:00:00Z", "decision": decision });
    let rule = format!("ask the {who} before a treasure under the sesame tree is moved");
    for (tool, mut arguments) in [
        (
            "write_memory_entry",
            json!({ "file": "decisions.jsonl", "entry": entry }),
        ),
        (
            "record_discovery",
            json!({ "type": "rule", "content": rule }),
        ),
    ] {
        arguments["project"] = json!(project);
        client.call(tool, arguments).await.structured();
    }
}

/// Searches all projects that the caller may read.
async fn search(client: &Client, kind: &str) -> Reply {
    let query = json!({ "query": QUERY, "type": kind, "project_scope": "all", "limit": 20 });
    client.call("context_search", query).await
}

/// The project and the id of each result.
fn found(reply: &Reply) -> BTreeSet<(String, String)> {
    let text = |result: &Value, field: &str| result[field].as_str().unwrap().to_owned();
    let results = reply.structured()["results"].as_array().unwrap().iter();
    results
        .map(|result| (text(result, "project"), text(result, "id")))
        .collect()
}

fn assert_says_nothing(reply: &Reply) {
    let said = reply.value().to_string();
    let told = SECRETS.iter().find(|word| said.contains(**word));
    assert_eq!(told, None, "{said}");
}

/// Panics unless the caller finds what the owner finds, without all that `vault` has, and is told of no more.
async fn assert_finds_nothing_of_vault(stack: &Stack, client: &Client) {
    let owner = stack.keyed("acme", "owner");
    for (kind, hidden) in [("all", 3), ("rule", 1), ("decision", 1)] {
        let mut expected = found(&search(&owner, kind).await);
        let all = expected.len();
        expected.retain(|(project, _)| project != "vault");
        assert_eq!(all - expected.len(), hidden, "{kind}: the owner finds it");
        let reply = search(client, kind).await;
        assert_eq!(found(&reply), expected, "{kind}");
        assert_eq!(reply.structured()["totalFound"], expected.len(), "{kind}");
        let searched = json!({ "searched": 2, "remaining": 0, "skipped": [] });
        assert_eq!(reply.meta("projects"), &searched, "{kind}");
        assert_says_nothing(&reply);
    }
}

/// Panics unless the caller finds no note of `vault`, in whichever project it looks.
async fn assert_reads_no_note_of_vault(client: &Client) {
    let memory = async |arguments: Value| client.call("search_memory", arguments).await;
    for (project, total) in [("site", 2), ("wiki", 0)] {
        let page = memory(json!({ "project": project })).await;
        assert_eq!(page.structured()["total"], total, "{project}");
        assert_says_nothing(&page);
        let page = memory(json!({ "project": project, "query": "leviathan" })).await;
        assert_eq!(page.structured()["total"], 0, "{project}");
        assert_says_nothing(&page);
    }
    for query in [json!("leviathan"), Value::Null] {
        let answer = async |project: &str| {
            let refused = memory(json!({ "project": project, "query": query })).await;
            assert_eq!(refused.code(), "project_not_found", "{}", refused.value());
            refused.error().to_string().replace(project, "…")
        };
        assert_eq!(answer("vault").await, answer("nonesuch").await);
    }
}

#[tokio::test]
async fn no_search_finds_files_or_notes_of_a_project_that_rules_hide() {
    let stack = indexed().await;
    let (dev, owner) = (stack.keyed("acme", "dev"), stack.keyed("acme", "owner"));
    until_sees(&stack, &dev, &OPEN).await;
    assert_finds_nothing_of_vault(&stack, &dev).await;
    assert_reads_no_note_of_vault(&dev).await;

    stack.allow("acme", "key:dev", &["vault"]).await;
    until_sees(&stack, &dev, &ALL).await;
    let both = (search(&dev, "all").await, search(&owner, "all").await);
    assert_eq!(found(&both.0), found(&both.1));
    let mut notes = json!({ "project": "vault", "limit": 1 });
    let first = dev.call("search_memory", notes.clone()).await;
    assert_eq!(first.structured()["total"], 2);
    notes["cursor"] = first.structured()["cursor"].clone();
    dev.call("search_memory", notes.clone()).await.structured();

    stack.deny("acme", "key:dev", &["vault"]).await;
    until_sees(&stack, &dev, &OPEN).await;
    assert_finds_nothing_of_vault(&stack, &dev).await;
    assert_reads_no_note_of_vault(&dev).await;
    let again = dev.call("search_memory", notes).await;
    assert_eq!(again.code(), "invalid_arguments", "{}", again.value());
}
