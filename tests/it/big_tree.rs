//! A repository of 20,000 files: everything works, no result is lost between pages, and a repeated call
//! gives the same answer.

use std::collections::BTreeSet;

use e2e::{Client, Repo};
use serde_json::{Value, json};

use crate::serve;

const FOLDERS: usize = 200;
const FILES: usize = 100;

/// Each file contains its number, and each hundredth file a word.
fn big() -> Repo {
    let files = (0..FOLDERS).flat_map(|folder| (0..FILES).map(move |file| (folder, file)));
    let repo = files.fold(Repo::new(), |repo, (folder, file)| {
        let word = if file == 42 { "needle\n" } else { "" };
        let content = format!("// file {file} of {folder}\nfn f_{folder}_{file}() {{}}\n{word}");
        repo.file(&format!("src/m{folder:03}/f{file:03}.rs"), content)
    });
    repo.commit()
}

#[tokio::test]
async fn a_tree_of_twenty_thousand_files_gives_the_same_answers_twice() {
    let (_stack, client) = serve(big()).await;

    let overview = twice(&client, "get_repo_overview", json!({ "max_depth": 5 })).await;
    assert_eq!(overview["stats"]["total_files"], FOLDERS * FILES);
    assert_eq!(overview["stats"]["total_directories"], FOLDERS + 1);
    assert_eq!(
        overview["truncated"], true,
        "20,000 nodes are over the budget"
    );

    let arguments = json!({ "max_depth": 10, "pattern": "*.rs" });
    let page = twice(&client, "list_files", arguments.clone()).await;
    assert_eq!(page["total_count"], FOLDERS * FILES);
    let paths = all_paths(&client, arguments).await;
    assert_eq!(paths.len(), FOLDERS * FILES, "every page, nothing twice");

    let needles = twice(
        &client,
        "grep_codebase",
        json!({ "pattern": "needle", "limit": 100 }),
    )
    .await;
    assert_eq!(needles["totalMatches"], FOLDERS);
    assert_eq!(needles["filesSearched"], FOLDERS * FILES);
    assert_eq!(needles["matches"][0]["file"], "src/m000/f042.rs");

    let glob = json!({ "pattern": r"f_\d+_7\(", "is_regex": true, "glob": "src/m1*/*.rs",
        "max_results": 1000, "context_lines": 0 });
    let found = twice(&client, "search_files", glob).await;
    assert_eq!(found["total_matches"], 100);
    assert_eq!(found["files_searched"], 100 * FILES);
}

/// Calls twice and returns the data without its times. Panics if the answers differ.
async fn twice(client: &Client, tool: &str, arguments: Value) -> Value {
    let ask = async || {
        let mut data = client
            .call(tool, arguments.clone())
            .await
            .structured()
            .clone();
        let fields = data.as_object_mut().unwrap();
        // A cursor is sealed with a new nonce each time.
        for unsteady in ["duration_ms", "searchTime", "cursor"] {
            fields.remove(unsteady);
        }
        data
    };
    let (first, second) = (ask().await, ask().await);
    assert!(
        first == second,
        "{tool} {arguments} answers differently the second time"
    );
    first
}

async fn all_paths(client: &Client, mut arguments: Value) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    loop {
        let reply = client.call("list_files", arguments.clone()).await;
        let page = reply.structured();
        for file in page["files"].as_array().unwrap() {
            let path = file["path"].as_str().unwrap().to_owned();
            assert!(
                paths.last().is_none_or(|last| *last < path),
                "{path} is out of order"
            );
            paths.insert(path);
        }
        match page.get("cursor") {
            Some(cursor) => arguments["cursor"] = cursor.clone(),
            None => return paths,
        }
    }
}
