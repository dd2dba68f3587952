//! A search reports what it skipped.

use archway::tenants::TenantsTx;
use e2e::{Client, Harness, Key, Repo, Tenant};
use serde_json::{Value, json};

#[tokio::test]
async fn a_file_too_large_to_be_searched_is_counted_as_skipped() {
    let large = "needle\n".repeat(1_300_000);
    let long_line = format!("needle {}\nneedle\n", "x".repeat(1 << 20));
    let repo = Repo::new()
        .file("large.txt", &large)
        .file("long.txt", &long_line)
        .file("small.txt", "needle\n")
        .commit();
    let (_stack, client) = crate::serve(repo).await;
    for (tool, searched, skipped, total) in [
        (
            "grep_codebase",
            "filesSearched",
            "filesSkipped",
            "totalMatches",
        ),
        (
            "search_files",
            "files_searched",
            "files_skipped",
            "total_matches",
        ),
    ] {
        let reply = client.call(tool, json!({ "pattern": "needle" })).await;
        let found = reply.structured();
        assert_eq!(
            (&found[searched], &found[skipped], &found[total]),
            (&json!(3), &json!(2), &json!(2))
        );
    }
}

#[tokio::test]
async fn a_glob_that_fits_no_file_is_not_taken_for_a_pattern_that_is_nowhere() {
    let (_stack, client) = crate::serve(Repo::new().file("a.txt", "needle\n").commit()).await;
    let message = async |arguments| {
        let reply = client.call("grep_codebase", arguments).await;
        reply.structured()["message"].as_str().unwrap().to_owned()
    };
    let nowhere = message(json!({ "pattern": "nail" })).await;
    let none = "No matches found for pattern 'nail'.";
    assert_eq!(
        nowhere,
        format!(
            "{none} It is a regular expression within one line: try a shorter one, or plain text by search_files"
        )
    );
    for (name, narrow) in [
        ("case_sensitive", json!(true)),
        ("file_pattern", json!("*.txt")),
    ] {
        let mut arguments = json!({ "pattern": "nail" });
        arguments[name] = narrow;
        let nowhere = message(arguments).await;
        assert_eq!(nowhere, format!("{none} Try it without {name}"));
    }
    let unfit = message(json!({ "pattern": "needle", "file_pattern": "*.rs" })).await;
    assert_eq!(
        unfit,
        "No file was searched: none fits file_pattern, or all that fit are excluded"
    );
}

#[tokio::test]
async fn a_search_of_all_projects_says_why_no_file_was_searched() {
    let acme = Tenant::new("acme")
        .project("site", Repo::new())
        .project("shop", Repo::new())
        .key(Key::new("shop").projects(["shop"]));
    let stack = Harness::new().tenant(acme).start().await;
    let message = async |client: &Client, arguments: Value| {
        let reply = client.call("grep_codebase", arguments).await;
        reply.structured()["message"].as_str().unwrap().to_owned()
    };
    let client = stack.client("acme");
    let everywhere = json!({ "pattern": "needle", "project": "*" });
    let in_one = json!({ "pattern": "needle", "project": "site" });
    let (none, all) = (
        "No file was searched: the project has no files yet, or all are excluded",
        "No file was searched: the projects have no files yet, or all are excluded",
    );
    assert_eq!(message(&client, in_one).await, none);
    assert_eq!(message(&client, everywhere.clone()).await, all);

    std::fs::remove_dir(stack.folder("acme", "shop")).unwrap();
    let said = message(&client, everywhere.clone()).await;
    let away = "the folder of project shop has not been there since ";
    assert!(said.starts_with(&format!("{all}; {away}")), "{said}");

    let alone = stack.keyed("acme", "shop");
    let said = message(&alone, everywhere.clone()).await;
    let begins = format!("No project could be searched: {away}");
    assert!(said.starts_with(&begins), "{said}");

    let acme = stack.tenant_id("acme");
    let remove = async |tx: &mut TenantsTx| tx.remove_project(acme, "shop").await;
    stack.tenants().change(remove).await.unwrap();
    let nothing = stack.eventually(async || {
        let said = message(&alone, everywhere.clone()).await;
        (!said.contains("shop")).then_some(said)
    });
    assert_eq!(
        nothing.await,
        "No file was searched: there is no project that you may read"
    );
}
