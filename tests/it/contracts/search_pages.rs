//! `search_files` and `grep_codebase` over more results than one answer holds, and over several projects.

use e2e::{Harness, Repo, Tenant};
use serde_json::{Value, json};

use super::{both, column};
use crate::serve;

#[tokio::test]
async fn a_page_ends_with_a_cursor_and_counts_stay_whole() {
    let files = (0..30).fold(Repo::new(), |r, n| {
        r.file(&format!("f{n:02}.txt"), "hit\nno\nhit\nhit\n")
    });
    let (_stack, client) = serve(files.commit()).await;
    for (tool, limit, place) in [
        ("search_files", "max_results", "path"),
        ("grep_codebase", "limit", "file"),
    ] {
        let mut arguments = json!({ "pattern": "hit", limit: 40 });
        let mut seen = Vec::new();
        let pages = loop {
            let data = client
                .call(tool, arguments.clone())
                .await
                .structured()
                .clone();
            seen.extend(
                column(&data["matches"], place)
                    .into_iter()
                    .map(str::to_owned),
            );
            let total = data
                .get("total_matches")
                .or(data.get("totalMatches"))
                .unwrap();
            assert_eq!(*total, 90, "{tool}");
            match data.get("cursor") {
                Some(cursor) => arguments["cursor"] = cursor.clone(),
                None => break data["truncated"].clone(),
            }
        };
        assert_eq!(pages, false);
        assert_eq!(seen.len(), 90, "{tool}");
        assert!(seen.is_sorted(), "{tool}");
    }
}

#[tokio::test]
async fn a_result_keeps_to_its_budget_by_dropping_context_then_matches() {
    let line = "hit ".repeat(200);
    let repo = (0..40).fold(Repo::new(), |r, n| {
        r.file(&format!("f{n:02}.txt"), format!("{line}\n").repeat(9))
    });
    let (_stack, client) = serve(repo.commit()).await;
    let arguments = json!({ "pattern": "hit", "max_results": 1000, "context_lines": 4 });
    let reply = client.call("search_files", arguments).await;
    let data = both(&reply);
    assert!(
        reply.text().len() <= 64 << 10,
        "{} bytes",
        reply.text().len()
    );
    assert_eq!(
        (&data["truncated"], &data["total_matches"]),
        (&json!(true), &json!(360))
    );
    assert!(data["cursor"].is_string());
    assert!(
        data["matches"].as_array().unwrap().len() > 50,
        "matches before context"
    );
}

#[tokio::test]
async fn a_star_searches_every_project_in_order_and_names_it() {
    let of = |word: &str| {
        Repo::new()
            .file("a.txt", format!("{word} sesame\n"))
            .commit()
    };
    let acme = Tenant::new("acme")
        .project("one", of("one"))
        .project("two", of("two"));
    let stack = Harness::new().tenant(acme).start().await;
    let client = stack.client("acme");
    let arguments = json!({ "pattern": "sesame", "project": "*" });
    let reply = client.call("grep_codebase", arguments.clone()).await;
    assert_eq!(column(&both(&reply)["matches"], "project"), ["one", "two"]);
    assert_eq!(reply.structured()["totalMatches"], 2);
    assert_eq!(reply.meta("commit"), &Value::Null);
    let reply = client.call("search_files", arguments).await;
    assert_eq!(
        column(&both(&reply)["matches"], "line_content"),
        ["one sesame", "two sesame"]
    );
}
