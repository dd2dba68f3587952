//! Resources through the real path: documents and files by URI, in both eras.

mod callers;
mod many;

use e2e::{Client, Repo, git};
use serde_json::{Value, json};

use crate::{refused, result, serve};

/// A project with a document of each kind, and other files.
fn site() -> Repo {
    Repo::new()
        .file(
            "docs/adr/0001-use-postgres.md",
            "# Use Postgres\n\n## Status\n\nAccepted\n",
        )
        .file(
            "docs/architecture/patterns/repository.md",
            "# Repository\n\nHides SQL.\n",
        )
        .file(
            "docs/architecture/guidelines/logs.md",
            "# Logs\n\nNo secrets.\n",
        )
        .file("src/main.rs", "fn main() {}\n")
        .file("src/a b#ä.txt", "odd\n")
        .file(".env", "SECRET=1\n")
        .commit()
}

async fn read(client: &Client, uri: &str) -> Value {
    result(client, "resources/read", json!({ "uri": uri })).await
}

async fn uris(client: &Client) -> Vec<String> {
    let list = result(client, "resources/list", json!({})).await;
    let resources = list["resources"].as_array().unwrap();
    let uris = resources.iter().map(|it| it["uri"].as_str().unwrap());
    uris.filter(|uri| uri.starts_with("architecture:"))
        .map(str::to_owned)
        .collect()
}

#[tokio::test]
async fn documents_are_listed_and_read_in_both_eras() {
    let (stack, client) = serve(site()).await;
    let list = result(&client, "resources/list", json!({})).await;
    assert!(list.get("ttlMs").is_none() && list.get("resultType").is_none());
    let found = list["resources"].as_array().unwrap();
    let found = found
        .iter()
        .find(|it| it["name"] == "0001-use-postgres")
        .unwrap();
    assert_eq!(found["uri"], "architecture://adr/0001-use-postgres");
    assert_eq!(found["title"], "Use Postgres");
    assert_eq!(found["description"], "Decision 0001, accepted");
    assert_eq!(found["mimeType"], "text/markdown");
    assert_eq!(found["size"], 36);
    // The time of the commit, not of the file.
    assert_eq!(found["annotations"]["lastModified"], "2026-01-02T03:04:05Z");
    let of_all_kinds = [
        "architecture://adr/0001-use-postgres",
        "architecture://pattern/repository",
        "architecture://guideline/logs",
    ];
    assert_eq!(uris(&client).await, of_all_kinds);

    for (client, is_modern) in [(client.clone(), false), (client.modern(), true)] {
        let read = read(&client, "architecture://pattern/repository").await;
        let contents = json!([{
            "uri": "architecture://pattern/repository", "mimeType": "text/markdown",
            "text": "# Repository\n\nHides SQL.\n",
        }]);
        assert_eq!(read["contents"], contents);
        let head = git(&stack.folder("acme", "site"), &["rev-parse", "HEAD"]);
        assert_eq!(read["_meta"]["io.archway/commit"]["id"], head);
        assert_eq!(read["_meta"]["io.archway/untrusted"], true);
        assert!(read["_meta"]["io.archway/durationMs"].is_number());
        assert_eq!(read["cacheScope"] == "private", is_modern);
        assert_eq!(read["ttlMs"].is_u64(), is_modern);
        assert_eq!(read["resultType"] == "complete", is_modern);
        let list = result(&client, "resources/list", json!({})).await;
        assert_eq!(list["ttlMs"].is_u64(), is_modern);
        assert_eq!(list["cacheScope"] == "private", is_modern);
    }
}

#[tokio::test]
async fn a_document_is_read_from_head() {
    let (stack, client) = serve(site()).await;
    let folder = stack.folder("acme", "site");
    let path = folder.join("docs/architecture/patterns/repository.md");
    std::fs::write(&path, "# Other\n").unwrap();
    let uri = "architecture://pattern/repository";
    let text = async || read(&client, uri).await["contents"][0]["text"].clone();
    assert_eq!(text().await, "# Repository\n\nHides SQL.\n");
    git(
        &folder,
        &["commit", "--quiet", "--all", "--message", "other"],
    );
    assert_eq!(text().await, "# Other\n");
    std::fs::remove_file(&path).unwrap();
    git(
        &folder,
        &["commit", "--quiet", "--all", "--message", "gone"],
    );
    assert_eq!(
        refused(&client, "resources/read", json!({ "uri": uri })).await["code"],
        -32602
    );
    assert_eq!(uris(&client).await.len(), 2);
}

#[tokio::test]
async fn a_file_is_read_by_its_path_decoded_once() {
    let bytes = [&b"\x89PNG\0"[..], &[0xff; 16]].concat();
    let repo = site()
        .file("logo.png", &bytes)
        .file("%2e", "a name of three characters\n")
        .file("data.json", "{}\n")
        .file("hostile.txt", "a\u{202e}b\n");
    let (_stack, client) = serve(repo).await;
    for (uri, media, text) in [
        ("repo://site/src/main.rs", "text/plain", "fn main() {}\n"),
        ("repo://site/src/a%20b%23%C3%A4.txt", "text/plain", "odd\n"),
        ("repo://site/src%2Fmain.rs", "text/plain", "fn main() {}\n"),
        (
            "repo://site/%252e",
            "text/plain",
            "a name of three characters\n",
        ),
        ("repo://site/data.json", "application/json", "{}\n"),
        ("repo://site/hostile.txt", "text/plain", "a\\u{202e}b\n"),
    ] {
        let read = read(&client.clone().modern(), uri).await;
        let part = &read["contents"][0];
        assert_eq!(
            (&part["mimeType"], &part["text"]),
            (&json!(media), &json!(text))
        );
        assert_eq!(part["uri"], uri);
        let escaped = &read["_meta"]["io.archway/escaped"];
        assert_eq!(escaped == 1, uri.contains("hostile"), "{escaped}");
    }
    let logo = read(&client, "repo://site/logo.png").await;
    let part = &logo["contents"][0];
    assert_eq!(part["mimeType"], "image/png");
    assert_eq!(part["blob"], "iVBORwD/////////////////////");
    assert!(part.get("text").is_none());
}

#[tokio::test]
async fn a_long_list_comes_in_pages_that_no_commit_upsets() {
    let adrs = (0..130).map(|number| {
        (
            format!("docs/adr/{number:04}-a.md"),
            format!("# A {number}\n"),
        )
    });
    let repo = adrs.fold(Repo::new(), |repo, (path, text)| repo.file(&path, text));
    let (stack, client) = serve(repo.commit()).await;
    let first = result(&client, "resources/list", json!({})).await;
    let cursor = first["nextCursor"].as_str().unwrap();
    assert!(!cursor.contains("architecture"), "sealed: {cursor}");
    assert!(first["_meta"].get("io.archway/cursor").is_none());
    let folder = stack.folder("acme", "site");
    std::fs::write(folder.join("docs/adr/0000-b.md"), "# B\n").unwrap();
    git(&folder, &["add", "--all"]);
    git(&folder, &["commit", "--quiet", "--message", "one more"]);
    let second = result(&client, "resources/list", json!({ "cursor": cursor })).await;
    assert!(second.get("nextCursor").is_none());
    let pages = [&first, &second].map(|page| page["resources"].as_array().unwrap().clone());
    let documents = pages.concat();
    let is_document = |it: &&Value| {
        it["uri"]
            .as_str()
            .unwrap()
            .starts_with("architecture://adr/")
    };
    assert_eq!(documents.iter().filter(is_document).count(), 130);
    for cursor in [json!("forged"), json!(7), json!(format!("{cursor}A"))] {
        let error = refused(&client, "resources/list", json!({ "cursor": cursor })).await;
        assert_eq!(error["code"], -32602);
    }
    let error = refused(
        &client,
        "resources/templates/list",
        json!({ "cursor": cursor }),
    )
    .await;
    assert_eq!(error["code"], -32602);
}
