//! Progress and log messages that a client receives during a call, if it asked for them.

use e2e::{Client, Harness, Repo, Tenant};
use serde_json::{Value, json};

#[tokio::test]
async fn a_search_of_all_projects_sends_progress_to_a_client_with_a_token() {
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
async fn an_unsearched_project_is_logged_to_clients_that_want_logs() {
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

#[tokio::test]
async fn a_log_level_set_on_one_gateway_holds_on_every_gateway() {
    let acme = Tenant::new("acme");
    let stack = Harness::new().tenant(acme).fixture().replicas(2);
    let stack = stack.start().await;
    let gateways = [0, 1].map(|number| stack.at(number, "acme", ""));
    let session = async || {
        let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "e2e", "version": "1" } });
        let response = gateways[0].rpc("initialize", hello).await;
        response.header("mcp-session-id").unwrap().to_owned()
    };
    let (asking, silent) = (session().await, session().await);
    let ask = async |at: &Client, session: &str, method: &str, params: Value| {
        let request = at.request(method, params);
        let request = request.header("Mcp-Session-Id", session);
        request.send(at.address()).await
    };
    let logged = async |at: &Client, session: &str| {
        let call = json!({ "name": "test_tool_with_logging" });
        let answer = ask(at, session, "tools/call", call).await.text();
        answer.matches("\"notifications/message\"").count()
    };
    for gateway in &gateways {
        assert_eq!(logged(gateway, &asking).await, 0, "not requested yet");
    }
    for (level, lines) in [("info", 3), ("notice", 0), ("debug", 3)] {
        let level = json!({ "level": level });
        let response = ask(&gateways[0], &asking, "logging/setLevel", level).await;
        assert_eq!(response.json()["result"], json!({}), "{}", response.text());
        assert_eq!(logged(&gateways[0], &asking).await, lines);
        let other = async || (logged(&gateways[1], &asking).await == lines).then_some(());
        stack.eventually(other).await;
        assert_eq!(logged(&gateways[1], &silent).await, 0, "another's level");
    }
}
