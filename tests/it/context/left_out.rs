//! A repository whose index exceeds the memory: what is used is indexed, and answers say so.

use std::fs;

use e2e::{Client, Harness, Reply, Repo, Stack, Tenant, git};
use serde_json::json;

use super::{owner, paths, results, search, until};

/// Room for some 60 chunks of the built-in vectors.
const MEMORY: usize = 48 << 10;

/// A file with so many functions about a subject.
fn functions(subject: &str, count: usize) -> String {
    let function = |number| {
        format!(
            "/// Repairs the {subject} with tool {number}.\n\
             pub fn repair_{subject}_{number}(tool: &Tool) -> Outcome {{\n    \
                 tool.apply({number}).expect(\"{subject}\")\n}}\n\n"
        )
    };
    (0..count).map(function).collect()
}

/// 20 small files, one larger one, and a small one that is vendored.
fn large() -> Repo {
    let small = (0..20).map(|number| {
        let path = format!("src/part{number:02}.rs");
        (path, functions(&format!("engine_{number}"), 5))
    });
    let repo = small.fold(Repo::new(), |repo, (path, text)| repo.file(&path, text));
    repo.file("src/violin.rs", functions("violin", 12))
        .file("vendor/kettle.rs", functions("kettle", 1))
        .commit()
}

async fn indexed() -> (Stack, Client) {
    let tenant = Tenant::new("acme").project("site", large());
    let harness = Harness::new().tenant(tenant).indexing();
    let stack = harness.index_memory(MEMORY).start().await;
    let client = stack.client("acme");
    (stack, client)
}

/// Commits a file.
fn commit(stack: &Stack, path: &str, text: &str) {
    let folder = stack.folder("acme", "site");
    fs::write(folder.join(path), text).unwrap();
    git(&folder, &["add", "-A"]);
    git(&folder, &["commit", "-qm", path]);
}

fn left_out(reply: &Reply) -> u64 {
    reply.structured()["index"]["left_out"].as_u64().unwrap()
}

#[tokio::test]
async fn what_fits_is_indexed_and_the_rest_is_counted() {
    let (stack, client) = indexed().await;
    let query = json!({ "query": "repair the engine", "limit": 20 });
    let reply = search(&stack, &client, query).await;
    let found = paths(&reply);
    assert!(found.iter().all(|path| path.starts_with("src/part")));
    let files = left_out(&reply);
    assert!((2..22).contains(&files), "{files} of 22 files are left out");
    let note = format!("{files} files of this large repository are not in the index");
    assert!(reply.text().contains(&note), "{}", reply.text());
    for unused in ["repair the violin", "repair the kettle"] {
        let reply = search(&stack, &client, json!({ "query": unused })).await;
        let found = paths(&reply);
        assert!(
            found.iter().all(|path| path.starts_with("src/part")),
            "{found:?}"
        );
    }
    let owner = owner(&stack).await;
    let counted: (i64, i64) = sqlx::query_as(
        "select left_out, (select count(*) from index_documents d where d.index_id = i.id) \
         from indexes i",
    )
    .fetch_one(&owner)
    .await
    .unwrap();
    assert_eq!(counted.0 + counted.1, 22, "each file is indexed or counted");
    assert_eq!(counted.0.unsigned_abs(), files);
    owner.close().await;
}

#[tokio::test]
async fn a_file_that_callers_read_is_indexed_before_others() {
    let (stack, client) = indexed().await;
    search(&stack, &client, json!({ "query": "repair the engine" })).await;
    let read = client.call("read_file", json!({ "path": "src/violin.rs" }));
    assert!(!read.await.is_error());
    let owner = owner(&stack).await;
    let is_recorded = async || {
        let reads = sqlx::query("select from file_accesses").fetch_all(&owner);
        (!reads.await.unwrap().is_empty()).then_some(())
    };
    stack.eventually(is_recorded).await;
    owner.close().await;

    commit(&stack, "notice.txt", "The workshop is closed.\n");
    let query = json!({ "query": "repair the violin" });
    let reply = until(&stack, &client, query, |found| {
        found["path"] == "src/violin.rs"
    })
    .await;
    assert!(left_out(&reply) > 2, "others made room for it");
}

#[tokio::test]
async fn a_file_that_a_commit_adds_is_indexed_before_others() {
    let (stack, client) = indexed().await;
    search(&stack, &client, json!({ "query": "repair the engine" })).await;
    commit(&stack, "src/harp.rs", &functions("harp", 12));
    let query = json!({ "query": "repair the harp" });
    let reply = until(&stack, &client, query, |found| {
        found["path"] == "src/harp.rs"
    })
    .await;
    assert!(left_out(&reply) > 2, "others made room for it");
}

#[tokio::test]
async fn of_all_projects_one_that_the_memory_cannot_hold_is_named() {
    let tenant = Tenant::new("acme").project("one", large());
    let tenant = tenant.project("two", large());
    let harness = Harness::new().tenant(tenant).indexing();
    let stack = harness.index_memory(MEMORY).start().await;
    let client = stack.client("acme");
    for project in ["one", "two"] {
        let query = json!({ "query": "repair the engine", "project": project });
        let reply = search(&stack, &client, query).await;
        assert!(!results(&reply).is_empty(), "{project} is searched alone");
    }
    let query = json!({ "query": "repair the engine", "project_scope": "all" });
    let reply = search(&stack, &client, query).await;
    let skipped = json!([{ "project": "two", "code": "index_not_ready" }]);
    assert_eq!(
        reply.meta("projects"),
        &json!({ "searched": 1, "remaining": 0, "skipped": skipped })
    );
    assert!(!results(&reply).is_empty());
    assert!(results(&reply).iter().all(|it| it["project"] == "one"));
    let said = "the memory or the time was not enough to search these projects; name one to search it: two";
    let note = reply.structured()["note"].as_str().unwrap();
    assert!(note.contains(said), "{note}");
}
