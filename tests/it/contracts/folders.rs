//! `list_files`: what it returns for a folder.

use std::time::{Duration, SystemTime};

use e2e::Repo;
use serde_json::json;

use super::both;
use crate::serve;

#[tokio::test]
async fn a_folder_has_its_own_time_and_a_link_that_of_its_target() {
    let repo = Repo::new()
        .file("src/deep/a.ts", "a\n")
        .link("to-src", "src")
        .link("src/to-deep", "deep");
    let (stack, client) = serve(repo.commit()).await;
    let root = stack.folder("acme", "site");
    for (folder, second) in [("src", 1_000_000_000), ("src/deep", 1_100_000_000)] {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(second);
        let folder = std::fs::File::open(root.join(folder)).unwrap();
        folder.set_modified(time).unwrap();
    }
    let (src, deep) = ("2001-09-09T01:46:40.000Z", "2004-11-09T11:33:20.000Z");
    let reply = client.call("list_files", json!({})).await;
    let folders: Vec<(&str, &str)> = both(&reply)["files"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|entry| entry["type"] == "directory")
        .map(|entry| {
            let text = |name: &str| entry[name].as_str().unwrap_or("nothing");
            (text("path"), text("modified_at"))
        })
        .collect();
    let expected = [
        ("src", src),
        ("src/deep", deep),
        ("src/to-deep", deep),
        ("to-src", src),
    ];
    assert_eq!(folders, expected);
    let through = json!({ "directory": "to-src", "max_depth": 1 });
    let reply = client.call("list_files", through).await;
    let entry = &reply.structured()["files"][0];
    assert_eq!(
        (&entry["path"], &entry["modified_at"]),
        (&json!("to-src/deep"), &json!(deep))
    );
}

#[tokio::test]
async fn a_pattern_is_looked_for_at_every_depth() {
    let deep = "a/b/c/d/e/f/deep_circuit.rs";
    let repo = Repo::new().file(deep, "").file("a/near.rs", "");
    let (_stack, client) = serve(repo.commit()).await;
    let reply = client
        .call("list_files", json!({ "pattern": "**/*circuit*" }))
        .await;
    let found = both(&reply);
    assert_eq!(found["files"][0]["path"], deep);
    assert!(found.get("depth_limited").is_none(), "{found}");
    let limited = json!({ "pattern": "**/*circuit*", "max_depth": 2 });
    let found = both(&client.call("list_files", limited).await).clone();
    assert_eq!(found["total_count"], 0);
    assert_eq!(
        (&found["depth_limited"], &found["folders_not_opened"]),
        (&json!(true), &json!(1))
    );
}

#[tokio::test]
async fn a_folder_that_is_not_opened_counts_its_files() {
    let repo = Repo::new()
        .file("a/b/1", "")
        .file("a/b/c/2", "")
        .file("a/d/.hidden", "")
        .file("e", "");
    let (_stack, client) = serve(repo.commit()).await;
    let found = both(&client.call("list_files", json!({ "max_depth": 1 })).await).clone();
    let files = found["files"].as_array().unwrap();
    let shown: Vec<(&str, u64)> = files
        .iter()
        .map(|entry| {
            let beneath = entry["files_beneath"].as_u64().unwrap_or(0);
            (entry["path"].as_str().unwrap(), beneath)
        })
        .collect();
    assert_eq!(shown, [("a", 2), ("e", 0)]);
    assert_eq!(found["folders_not_opened"], 1);
    let whole = both(&client.call("list_files", json!({ "max_depth": 10 })).await).clone();
    assert!(whole.get("depth_limited").is_none(), "{whole}");
}

#[tokio::test]
async fn a_default_listing_of_many_files_shows_as_many_levels_as_fit() {
    let mut repo = Repo::new();
    for file in 0..2_000 {
        repo = repo.file(&format!("crates/part{}/src/file{file}.rs", file % 100), "");
    }
    let (_stack, client) = serve(repo.commit()).await;
    let reply = client.call("list_files", json!({})).await;
    assert!(reply.text().len() < 16_000, "{}", reply.text().len());
    let found = both(&reply);
    assert_eq!(
        found["total_count"], 101,
        "crates and its 100 folders: {found}"
    );
    assert_eq!(found["truncated"], false);
    assert_eq!(found["folders_not_opened"], 100);
    let beneath: u64 = found["files"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|entry| entry["files_beneath"].as_u64())
        .sum();
    assert_eq!(beneath, 2_000);
}
