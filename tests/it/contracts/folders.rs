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
