//! Arguments, alike for every tool: checked against the advertised schema, accepted in both spellings,
//! with all violations reported at once.

use e2e::{Client, Reply, Repo, Stack};
use serde_json::{Value, json};

use crate::serve;

async fn site() -> (Stack, Client) {
    serve(Repo::new().file("src/a.txt", "sesame\n").commit()).await
}

fn details(reply: &Reply) -> String {
    assert_eq!(reply.code(), "invalid_arguments", "{}", reply.value());
    assert!(
        reply.value().get("structuredContent").is_none(),
        "{}",
        reply.value()
    );
    let text: Value = serde_json::from_str(reply.text()).unwrap();
    assert_eq!(
        &text["error"],
        reply.error(),
        "text and _meta tell the same"
    );
    assert!(!reply.error()["suggestion"].as_str().unwrap().is_empty());
    reply.error().to_string()
}

#[tokio::test]
async fn the_camel_case_spelling_is_taken_too_but_not_both() {
    let (_stack, client) = site().await;
    let camel = client
        .call(
            "list_files",
            json!({ "maxDepth": 1, "includeHidden": true }),
        )
        .await;
    assert_eq!(camel.structured()["total_count"], 1);
    let both = client
        .call("list_files", json!({ "maxDepth": 1, "max_depth": 1 }))
        .await;
    assert!(details(&both).contains("max_depth"));
}

#[tokio::test]
async fn an_unknown_argument_is_refused_with_the_nearest_known_one() {
    let (_stack, client) = site().await;
    let near = client
        .call("list_files", json!({ "directry": "src" }))
        .await;
    assert!(details(&near).contains("directory"));
    for (tool, word) in [("git_log", "body"), ("git_diff", "head")] {
        let unlike = details(&client.call(tool, json!({ word: "x" })).await);
        assert!(!unlike.contains("did you mean"), "{unlike}");
        assert!(unlike.contains("the arguments are "), "{unlike}");
    }
    let far = details(
        &client
            .call("list_files", json!({ "zzzzzzzzzzzz": 1 }))
            .await,
    );
    for known in [
        "directory",
        "pattern",
        "max_depth",
        "include_hidden",
        "project",
    ] {
        assert!(far.contains(known), "{far}");
    }
}

#[tokio::test]
async fn arguments_that_everybodys_tools_use_are_taken() {
    let (_stack, client) = site().await;
    for (tool, other, own) in [
        (
            "read_file",
            json!({ "file_path": "src/a.txt" }),
            json!({ "path": "src/a.txt" }),
        ),
        (
            "list_files",
            json!({ "path": ".", "glob": "*.txt" }),
            json!({ "directory": ".", "pattern": "*.txt" }),
        ),
        (
            "grep_codebase",
            json!({ "query": "sesame", "glob": "*.txt", "maxResults": "5", "case_sensitive": "true" }),
            json!({ "pattern": "sesame", "file_pattern": "*.txt", "limit": 5, "case_sensitive": true }),
        ),
        (
            "search_files",
            json!({ "query": "sesame", "file_pattern": "*.txt", "limit": 5 }),
            json!({ "pattern": "sesame", "glob": "*.txt", "max_results": 5 }),
        ),
    ] {
        let (other, own) = (client.call(tool, other).await, client.call(tool, own).await);
        let without_time = |reply: &Reply| {
            let mut data = reply.structured().clone();
            for time in ["searchTime", "duration_ms"] {
                data.as_object_mut().unwrap().remove(time);
            }
            data
        };
        assert_eq!(without_time(&other), without_time(&own), "{tool}");
    }
    let twice = json!({ "path": "src/a.txt", "file_path": "src/a.txt" });
    let refused = details(&client.call("read_file", twice).await);
    assert!(refused.contains("given twice"), "{refused}");
}

#[tokio::test]
async fn all_violations_are_reported_at_once() {
    let (_stack, client) = site().await;
    let arguments =
        json!({ "pattern": 5, "max_results": 0, "context_lines": 11, "is_regex": "yes" });
    let told = details(&client.call("search_files", arguments).await);
    for name in ["pattern", "max_results", "context_lines", "is_regex"] {
        assert!(told.contains(name), "{name} is missing: {told}");
    }
    let reply = client
        .call(
            "read_file",
            json!({ "path": "src/a.txt", "encoding": "latin1" }),
        )
        .await;
    let told = details(&reply);
    assert!(told.contains("utf-8") && told.contains("base64"), "{told}");
}

#[tokio::test]
async fn bounds_hold_at_both_ends() {
    let (_stack, client) = site().await;
    let ok = [
        ("list_files", json!({ "max_depth": 10 })),
        ("list_files", json!({ "max_depth": 1.0 })),
        ("get_repo_overview", json!({ "max_depth": 5 })),
        (
            "search_files",
            json!({ "pattern": "s", "max_results": 1000, "context_lines": 10 }),
        ),
        ("search_files", json!({ "pattern": "s".repeat(1000) })),
        (
            "grep_codebase",
            json!({ "pattern": "s".repeat(200), "limit": 100 }),
        ),
        (
            "read_file",
            json!({ "path": "src/a.txt", "max_bytes": 1_048_576, "start_line": null }),
        ),
    ];
    for (tool, arguments) in ok {
        let reply = client.call(tool, arguments.clone()).await;
        assert!(!reply.is_error(), "{tool} {arguments}: {}", reply.value());
    }
    let refused = [
        ("list_files", json!({ "max_depth": 0 })),
        ("list_files", json!({ "max_depth": 11 })),
        ("list_files", json!({ "max_depth": 1.5 })),
        ("list_files", json!({ "max_depth": "one" })),
        ("list_files", json!({ "pattern": "x".repeat(513) })),
        ("list_files", json!({ "include_hidden": 1 })),
        ("get_repo_overview", json!({ "max_depth": 6 })),
        ("search_files", json!({ "pattern": "" })),
        ("search_files", json!({ "pattern": "s".repeat(1001) })),
        (
            "search_files",
            json!({ "pattern": "s", "max_results": 1001 }),
        ),
        ("grep_codebase", json!({ "pattern": "" })),
        ("grep_codebase", json!({ "pattern": "s".repeat(201) })),
        ("grep_codebase", json!({ "pattern": "s", "limit": 101 })),
        ("grep_codebase", json!({})),
        ("read_file", json!({ "path": null })),
        (
            "read_file",
            json!({ "path": "src/a.txt", "max_bytes": 1_048_577 }),
        ),
        ("read_file", json!({ "path": "src/a.txt", "start_line": 0 })),
        ("hello", json!({ "name": "x" })),
    ];
    for (tool, arguments) in refused {
        let reply = client.call(tool, arguments.clone()).await;
        assert_eq!(
            reply.code(),
            "invalid_arguments",
            "{tool} {arguments}: {}",
            reply.value()
        );
    }
}

#[tokio::test]
async fn errors_about_numbers_use_no_parser_words() {
    let (_stack, client) = site().await;
    let listed = client.rpc("tools/list", json!({})).await.json();
    let mut asked = 0;
    for tool in listed["result"]["tools"].as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        let properties = tool["inputSchema"]["properties"].as_object().unwrap();
        let integers = properties.iter().filter(|(_, it)| it["type"] == "integer");
        for (argument, _) in integers {
            for number in [
                json!(1e18),
                json!(-1e18),
                json!(u64::MAX),
                json!(i64::MIN),
                json!(1e300),
            ] {
                let mut arguments = json!({ argument: number });
                for required in tool["inputSchema"]["required"]
                    .as_array()
                    .into_iter()
                    .flatten()
                {
                    arguments[required.as_str().unwrap()] = json!("a");
                }
                let told = details(&client.call(name, arguments).await);
                assert!(
                    told.contains("an integer, "),
                    "{name}.{argument} {number}: {told}"
                );
                asked += 1;
            }
        }
    }
    assert!(asked > 20, "{asked}");
}

#[tokio::test]
async fn checks_run_in_order_arguments_then_project_then_path() {
    let (_stack, client) = site().await;
    let all_wrong = json!({ "project": "nonesuch", "path": "../x", "max_bytes": 0 });
    assert_eq!(
        client.call("read_file", all_wrong).await.code(),
        "invalid_arguments"
    );
    let two_wrong = json!({ "project": "nonesuch", "path": "../x" });
    assert_eq!(
        client.call("read_file", two_wrong).await.code(),
        "project_not_found"
    );
    assert_eq!(
        client
            .call("read_file", json!({ "path": "../x" }))
            .await
            .code(),
        "access_denied"
    );
}
