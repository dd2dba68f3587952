//! What a search does not read, it says.

use e2e::Repo;
use serde_json::json;

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
    assert_eq!(nowhere, "No matches found for pattern 'nail'");
    let unfit = message(json!({ "pattern": "needle", "file_pattern": "*.rs" })).await;
    assert!(unfit.contains("file_pattern"), "{unfit}");
}
