//! `get_repo_overview`: the repo contract.

use e2e::Repo;
use serde_json::json;

use super::{both, column, files::project};
use crate::serve;

#[tokio::test]
async fn the_overview_is_a_tree_with_sums() {
    let (_stack, client) = project().await;
    let reply = client.call("get_repo_overview", json!({})).await;
    let data = both(&reply);
    assert_eq!(data["root"], "site");
    assert_eq!(data["structure"]["name"], "site");
    assert_eq!(data["structure"]["type"], "directory");
    let top = &data["structure"]["children"];
    assert_eq!(
        column(top, "name"),
        ["README.md", "src"],
        "dist is left out by the contract"
    );
    assert_eq!(
        top[0],
        json!({ "name": "README.md", "type": "file", "size": 7 })
    );
    let utils = &top[1]["children"][1];
    assert_eq!(
        (&utils["name"], utils.get("children")),
        (&json!("utils"), None),
        "the depth's end"
    );
    let stats = &data["stats"];
    assert_eq!(stats["total_files"], 4);
    assert_eq!(stats["total_directories"], 4, "src, utils, deep, er");
    assert_eq!(stats["total_size"], 7 + 10 + 20 + 2);
    assert_eq!(
        stats["languages"],
        json!([
            { "extension": ".ts", "count": 3, "bytes": 32 },
            { "extension": ".md", "count": 1, "bytes": 7 },
        ])
    );
    assert!(
        data.get("truncated")
            .is_none_or(|truncated| truncated == false)
    );
}

#[tokio::test]
async fn the_overview_goes_without_statistics_and_to_any_depth() {
    let (_stack, client) = project().await;
    let reply = client
        .call(
            "get_repo_overview",
            json!({ "include_stats": false, "max_depth": 5 }),
        )
        .await;
    let data = both(&reply);
    assert!(data.get("stats").is_none());
    let most = "/children/1/children/1/children/0/children/0/children/0/name";
    assert_eq!(
        data["structure"].pointer(most),
        Some(&json!("most.ts")),
        "{data}"
    );
}

#[tokio::test]
async fn fifteen_languages_are_named_the_largest_first_and_ties_by_name() {
    let sized = |repo: Repo, n: usize| repo.file(&format!("f.e{n:02}"), "x".repeat(n));
    let repo = (1..=17).fold(Repo::new().file("Makefile", "x".repeat(99)), sized);
    let repo = repo
        .file("b.tie", "x".repeat(50))
        .file("a.Tib", "x".repeat(50));
    let (_stack, client) = serve(repo.commit()).await;
    let reply = client.call("get_repo_overview", json!({})).await;
    let languages = &reply.structured()["stats"]["languages"];
    let names = column(languages, "extension");
    assert_eq!(names.len(), 15);
    assert_eq!(names[..3], [".tib", ".tie", ".e17"]);
    assert_eq!(
        reply.structured()["stats"]["total_files"],
        20,
        "files without one count in sums"
    );
}

#[tokio::test]
async fn an_overview_over_the_budget_loses_its_deepest_level_and_says_so() {
    let deep =
        |repo: Repo, n: usize| repo.file(&format!("d{}/{n:04}-{}", n % 10, "n".repeat(60)), "");
    let (_stack, client) = serve((0..2000).fold(Repo::new(), deep).commit()).await;
    let reply = client
        .call("get_repo_overview", json!({ "max_depth": 4 }))
        .await;
    let data = both(&reply);
    assert_eq!(
        (&data["truncated"], &data["depth"]),
        (&json!(true), &json!(1))
    );
    assert_eq!(data["structure"]["children"].as_array().unwrap().len(), 10);
    assert_eq!(data["stats"]["total_files"], 2000, "sums are of the whole");
    assert!(reply.text().len() <= 64 << 10);
}
