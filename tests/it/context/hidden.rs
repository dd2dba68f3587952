//! A file that may not be read is not found, even if it is in the index.

use archway::tenants::{ProjectSettings, Tenants};
use e2e::{Repo, Stack};
use serde_json::json;

use super::{indexed, owner, paths, repo, search, until};

const LINE: &str = "the treasure is buried under the sesame tree\n";

/// Closes a glob as `archway project set --close` does.
async fn close(stack: &Stack, glob: &str) {
    let tenants = Tenants::new(owner(stack).await);
    let tenant = stack.tenant_id("acme");
    let settings = ProjectSettings {
        close: vec![glob.to_owned()],
        ..ProjectSettings::default()
    };
    let closing = tenants.change(async |tx| {
        let project = tx.find_project(tenant, "site").await?;
        tx.set_project(project.id, &settings).await
    });
    closing.await.unwrap();
}

#[tokio::test]
async fn blocked_and_ignored_files_that_are_committed_are_never_found() {
    let hidden = [
        ".env",
        "config/prod.env",
        "id_rsa",
        "deploy/secrets/a.txt",
        "node_modules/left/index.js",
        "keys/server.pem",
        ".npmrc",
        "generated/a.txt",
    ];
    let lines = hidden.map(|path| (path, LINE));
    let repo = Repo::new().files(lines).file("open.txt", LINE).commit();
    let repo = repo.file(".gitignore", "generated/\n").commit();
    let (stack, client) = indexed(repo).await;
    for filter in [json!({}), json!({ "path_glob": "**" })] {
        let mut query = json!({ "query": "treasure under the sesame tree", "limit": 20 });
        let arguments = query.as_object_mut().unwrap();
        arguments.extend(filter.as_object().unwrap().clone());
        let reply = search(&stack, &client, query).await;
        let found = paths(&reply);
        assert_eq!(found[0], "open.txt", "{found:?}");
        let seen = hidden.iter().find(|path| reply.text().contains(*path));
        assert_eq!(seen, None);
        assert!(found.iter().all(|path| !hidden.contains(path)), "{found:?}");
    }
    // Nor is it in the index. A text in several files keeps one readable path.
    let owner = owner(&stack).await;
    let documents: Vec<Vec<u8>> =
        sqlx::query_scalar("select name from index_documents order by name")
            .fetch_all(&owner)
            .await
            .unwrap();
    assert_eq!(documents, [b".gitignore".to_vec(), b"open.txt".to_vec()]);
    owner.close().await;
}

#[tokio::test]
async fn a_file_that_the_operator_closes_is_gone_though_the_index_has_it() {
    let treasure = repo().file("vault/map.txt", LINE).commit();
    let (stack, client) = indexed(treasure).await;
    let query = json!({ "query": "treasure under the sesame tree" });
    let reply = search(&stack, &client, query.clone()).await;
    assert_eq!(paths(&reply)[0], "vault/map.txt");
    close(&stack, "vault/").await;
    let without = async || {
        let reply = client.call("context_search", query.clone()).await;
        (!paths(&reply).contains(&"vault/map.txt")).then_some(reply)
    };
    let reply = stack.eventually(without).await;
    assert!(!reply.text().contains("vault"), "{}", reply.text());
    assert!(!reply.text().contains("buried"), "{}", reply.text());
    for filter in [
        json!({ "path_glob": "vault/" }),
        json!({ "module": "vault" }),
    ] {
        let mut narrowed = query.clone();
        let arguments = narrowed.as_object_mut().unwrap();
        arguments.extend(filter.as_object().unwrap().clone());
        let reply = client.call("context_search", narrowed).await;
        assert!(paths(&reply).is_empty(), "{filter}");
        assert_eq!(reply.structured()["totalFound"], 0, "{filter}");
    }
}

#[tokio::test]
async fn a_discovery_does_not_name_paths_closed_since() {
    let (stack, client) = indexed(repo()).await;
    let content = "the treasure is described in two places";
    let discovery = json!({
        "type": "issue", "content": content, "paths": ["vault", "vault/map.txt", "src/map.rs"]
    });
    client
        .call("record_discovery", discovery)
        .await
        .structured();
    close(&stack, "vault/").await;
    let query = json!({ "query": content, "type": "issue" });
    let is_closed = |found: &serde_json::Value| found["paths"] == json!(["src/map.rs"]);
    let reply = until(&stack, &client, query, is_closed).await;
    assert!(!reply.text().contains("vault"), "{}", reply.text());
}

#[tokio::test]
async fn a_text_in_two_files_is_shown_once_under_a_readable_path() {
    let twice = repo()
        .file("a/map.txt", LINE)
        .file("b/map.txt", LINE)
        .commit();
    let (stack, client) = indexed(twice).await;
    let query = json!({ "query": "treasure under the sesame tree", "limit": 20 });
    let reply = search(&stack, &client, query.clone()).await;
    let maps = |reply: &e2e::Reply| -> Vec<String> {
        let found = paths(reply).into_iter();
        let maps = found.filter(|path| path.ends_with("map.txt"));
        maps.map(str::to_owned).collect()
    };
    assert_eq!(maps(&reply), ["a/map.txt"]);
    close(&stack, "a/").await;
    stack
        .eventually(async || {
            let reply = client.call("context_search", query.clone()).await;
            (maps(&reply) == ["b/map.txt"]).then_some(())
        })
        .await;
}
