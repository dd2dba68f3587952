//! Which requests are answered, and how, apart from calls.

use secrecy::ExposeSecret;
use serde_json::{Value, json};

use super::{Harness, worker::TOOLS};
use crate::auth::KeyText;

#[tokio::test]
async fn without_a_valid_credential_the_body_is_never_read() {
    let harness = Harness::start().await;
    let head = harness.head(1000, "");
    let stranger = KeyText::generate().unwrap().text();
    // The body is never sent, so an answer shows that none was awaited.
    let none = harness
        .raw(&head.replace("Authorization", "X-Api-Key"))
        .await;
    assert_eq!(none.0, 401);
    assert!(
        none.1
            .contains("www-authenticate: bearer realm=\"archway\"\r\n"),
        "{}",
        none.1
    );
    let malformed = harness.raw(&head.replace(&harness.key, "awy_x")).await;
    assert_eq!(malformed.0, 401);
    assert!(malformed.1.contains("invalid_token"), "{}", malformed.1);
    // While Postgres is down, an unknown key can be neither accepted nor refused.
    let unchecked = harness
        .raw(&head.replace(&harness.key, stranger.expose_secret()))
        .await;
    assert_eq!(unchecked.0, 503);
    assert!(unchecked.1.contains("retry-after: "), "{}", unchecked.1);
}

#[tokio::test]
async fn the_checks_run_in_their_order() {
    let harness = Harness::start().await;
    let good = harness.head(2 << 20, "");
    let keyless = good.replace("Authorization", "X");
    let status = async |request: String| harness.raw(&request).await.0;
    assert_eq!(
        status(keyless.replace("localhost", "evil.example")).await,
        403
    );
    assert_eq!(
        status(keyless.replace("Host:", "Origin: http://evil.example\r\nHost:")).await,
        403
    );
    assert_eq!(status(keyless.replace("/mcp", "/")).await, 404);
    assert_eq!(status(keyless.replace("POST", "GET")).await, 405);
    assert_eq!(status(keyless.clone()).await, 413);
    assert_eq!(status(keyless.replace("2097152", "10")).await, 401);
    let small = harness.head(2, "") + "{}";
    assert_eq!(
        status(small.replace("application/json\r\nA", "text/plain\r\nA")).await,
        415
    );
    assert_eq!(
        status(small.replace("application/json, text/event-stream", "image/png")).await,
        406
    );
    assert_eq!(status(small).await, 400);
    assert_eq!(
        status(harness.head(2, &format!("X: {}\r\n", "x".repeat(40_000)))).await,
        431
    );
    let many: String = (0..101).map(|n| format!("x-{n}: 1\r\n")).collect();
    assert_eq!(status(harness.head(2, &many)).await, 431);
}

#[tokio::test]
async fn a_body_that_grows_past_its_cap_is_cut_off() {
    let harness = Harness::start().await;
    let head = harness
        .head(0, "")
        .replace("Content-Length: 0", "Transfer-Encoding: chunked");
    let size = (1 << 20) + 1;
    let (status, _, body) = harness
        .raw(&format!(
            "{head}{size:x}\r\n{}\r\n0\r\n\r\n",
            "x".repeat(size)
        ))
        .await;
    assert_eq!(status, 413);
    assert!(!body.contains("jsonrpc"));
}

#[tokio::test]
async fn both_eras_list_the_tools_that_the_key_may_call() {
    let harness = Harness::start().await;
    let client = json!({
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    });
    let hello = harness.ask("initialize", client).await;
    assert_eq!(hello["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(hello["result"]["serverInfo"]["name"], "archway");
    let offered = json!({
        "tools": {}, "resources": {}, "prompts": {}, "completions": {}, "logging": {},
    });
    assert_eq!(hello["result"]["capabilities"], offered);
    let older = harness.ask("tools/list", json!({})).await["result"].clone();
    let listed = |list: &Value| -> Vec<String> {
        let tools = list["tools"].as_array().unwrap();
        tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(listed(&older), TOOLS);
    for modern in ["resultType", "ttlMs", "cacheScope"] {
        assert!(older.get(modern).is_none(), "{modern}");
    }

    let (status, discovered) = harness.ask_modern("server/discover", json!({})).await;
    assert_eq!(
        (status, &discovered["result"]["cacheScope"]),
        (200, &json!("private"))
    );
    let (status, newer) = harness.ask_modern("tools/list", json!({})).await;
    assert_eq!(
        (status, listed(&newer["result"])),
        (200, TOOLS.map(str::to_owned).into())
    );
    assert_eq!(discovered["result"]["capabilities"], offered);
    assert_eq!(newer["result"]["cacheScope"], "private");
    assert!(newer["result"]["ttlMs"].as_u64().unwrap() > 0);
}

#[tokio::test]
async fn unknown_methods_are_not_found() {
    let harness = Harness::start().await;
    for method in [
        "resources/subscribe",
        "subscriptions/listen",
        "tasks/list",
        "nonsense",
    ] {
        let answer = harness
            .ask(method, json!({ "name": "x", "uri": "x", "level": "info" }))
            .await;
        assert_eq!(answer["error"]["code"], -32601, "{method}: {answer}");
        let (status, answer) = harness.ask_modern(method, json!({})).await;
        assert_eq!(
            (status, &answer["error"]["code"]),
            (404, &json!(-32601)),
            "{method}"
        );
    }
    assert_eq!(harness.ask("ping", json!({})).await["result"], json!({}));
    assert_eq!(harness.ask_modern("ping", json!({})).await.0, 404);
}

#[tokio::test]
async fn methods_other_than_calls_fail_as_protocol_errors() {
    let harness = Harness::start().await;
    let get = async |name: &str| harness.ask("prompts/get", json!({ "name": name })).await;
    let got = get("echo").await["result"].clone();
    assert_eq!(got["structuredContent"]["tenant"], "acme");
    assert!(got["_meta"]["io.archway/durationMs"].is_number(), "{got}");
    for (name, code, word) in [
        ("denies", -32603, "internal_error"),
        ("garbage", -32603, "internal_error"),
        ("status", -32603, "internal_error"),
    ] {
        let error = get(name).await["error"].clone();
        assert_eq!(
            (&error["code"], &error["data"]["code"]),
            (&json!(code), &json!(word))
        );
        assert!(!error.to_string().contains("/host"), "{error}");
    }
    let cursor = get("pages").await["result"]["nextCursor"].clone();
    assert!(
        cursor.as_str().is_some_and(|sealed| sealed != "5"),
        "{cursor}"
    );
    for params in [json!({}), json!({ "name": 3 }), json!({ "name": null })] {
        let answer = harness.ask("prompts/get", params).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
}

#[tokio::test]
async fn a_call_that_cannot_be_routed_is_a_protocol_error() {
    let harness = Harness::start().await;
    for params in [
        json!({}),
        json!({ "name": 3 }),
        json!({ "name": "nothing" }),
        json!({ "name": "echo", "arguments": [] }),
    ] {
        let answer = harness.ask("tools/call", params.clone()).await;
        assert_eq!(answer["error"]["code"], -32602, "{params}: {answer}");
    }
    let counted = harness.metrics.text().unwrap();
    for (tool, calls) in [("unknown", 3), ("echo", 1)] {
        let line = format!(r#"calls_total{{tool="{tool}",outcome="refused"}} {calls}"#);
        assert!(counted.contains(&line), "{line}: {counted}");
    }
    let call =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "write" } });
    let (status, head, _) = harness.post("", &call).await;
    assert_eq!(status, 403);
    assert!(
        head.contains("insufficient_scope") && head.contains("\"tools:read memory:write\""),
        "{head}"
    );
    let told = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(harness.post("", &told).await.0, 202);
}

#[tokio::test]
async fn malformed_params_of_a_known_method_are_invalid_params() {
    let harness = Harness::start().await;
    for (method, params) in [
        ("initialize", json!({})),
        ("initialize", json!({ "protocolVersion": 1 })),
        ("tools/list", json!({ "cursor": 5 })),
        ("tools/list", json!({ "cursor": "made up" })),
    ] {
        let answer = harness.ask(method, params.clone()).await;
        assert_eq!(
            answer["error"]["code"], -32602,
            "{method} {params}: {answer}"
        );
    }
    let null = harness.ask("tools/list", json!({ "cursor": null })).await;
    assert!(null["result"]["tools"].is_array(), "{null}");
}
