//! What a client hears while a call runs, for those that ask to.

use e2e::{Harness, Repo, Tenant};
use serde_json::{Value, json};

#[tokio::test]
async fn a_search_of_all_projects_tells_its_progress_to_a_client_that_gave_a_token() {
    let repo = || Repo::new().file("a.txt", "needle\n").commit();
    let acme = Tenant::new("acme")
        .project("one", repo())
        .project("two", repo());
    let stack = Harness::new().tenant(acme).start().await;
    let call = json!({
        "name": "grep_codebase",
        "arguments": { "pattern": "needle", "project": "*" },
        "_meta": { "progressToken": "t-1" },
    });
    let response = stack.client("acme").rpc("tools/call", call).await;
    assert_eq!(response.header("content-type"), Some("text/event-stream"));
    let events: Vec<Value> = response
        .text()
        .lines()
        .filter_map(|line| line.strip_prefix("data:"))
        .map(|data| serde_json::from_str(data).unwrap())
        .collect();
    let (answer, progress) = events.split_last().unwrap();
    assert_eq!(answer["result"]["structuredContent"]["totalMatches"], 2);
    assert!(!progress.is_empty());
    for (done, event) in progress.iter().enumerate() {
        assert_eq!(event["method"], "notifications/progress");
        let params = &event["params"];
        assert_eq!(
            (&params["progressToken"], &params["total"]),
            (&json!("t-1"), &json!(2.0))
        );
        assert_eq!(params["progress"], json!(done as f64));
    }
}

#[tokio::test]
async fn a_client_that_gave_no_token_gets_one_plain_answer() {
    let repo = || Repo::new().file("a.txt", "needle\n").commit();
    let acme = Tenant::new("acme")
        .project("one", repo())
        .project("two", repo());
    let stack = Harness::new().tenant(acme).start().await;
    let call =
        json!({ "name": "grep_codebase", "arguments": { "pattern": "needle", "project": "*" } });
    let response = stack.client("acme").rpc("tools/call", call).await;
    assert_eq!(response.header("content-type"), Some("application/json"));
    let matches = &response.json()["result"]["structuredContent"]["matches"];
    let projects: Vec<&Value> = matches
        .as_array()
        .unwrap()
        .iter()
        .map(|m| &m["project"])
        .collect();
    assert_eq!(projects, ["one", "two"]);
}

#[tokio::test]
async fn a_project_that_was_not_searched_is_told_in_the_log_to_who_asks_for_it() {
    let repo = || Repo::new().file("a.txt", "needle\n").commit();
    let acme = Tenant::new("acme")
        .project("here", repo())
        .project("lost", repo());
    let stack = Harness::new().tenant(acme).start().await;
    std::fs::remove_dir_all(stack.folder("acme", "lost")).unwrap();
    let client = stack.client("acme").modern();
    let told = async |level: &str| {
        let call = json!({
            "name": "grep_codebase",
            "arguments": { "pattern": "needle", "project": "*" },
            "_meta": { "io.modelcontextprotocol/logLevel": level },
        });
        let answer = client.rpc("tools/call", call).await.text();
        let lines = answer.lines().map(|line| line.trim_start_matches("data: "));
        let messages = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let logs = messages.filter(|message| message["method"] == "notifications/message");
        logs.map(|log| log["params"].clone()).collect::<Vec<_>>()
    };
    let warned = told("info").await;
    let [warning] = &warned[..] else {
        panic!("{warned:?}")
    };
    assert_eq!(warning["level"], "warning");
    assert_eq!(warning["data"]["project"], "lost");
    assert!(told("error").await.is_empty());
}
