//! JSON-RPC messages that are refused when they are read, each with its status and code.

use serde_json::json;

use super::{gateway, hello, posting, refusal};

#[tokio::test]
async fn an_unreadable_message_is_a_parse_error_without_an_id() {
    let (_stack, client) = gateway().await;
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{}{}{}}}"#,
        r#"{"a":"#.repeat(200),
        "1",
        "}".repeat(200)
    );
    let bom = format!("\u{feff}{}", hello());
    let invalid_utf8 = [
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"".as_slice(),
        b"\xff\"}",
    ]
    .concat();
    for body in [
        b"".as_slice(),
        b"{",
        b"hello",
        bom.as_bytes(),
        deep.as_bytes(),
        br#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\ud800"}}"#,
        br#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1e999}}"#,
        &invalid_utf8,
    ] {
        let response = posting(&client, body).send(client.address()).await;
        let shown = String::from_utf8_lossy(body);
        assert_eq!(
            refusal(&response),
            (400, -32700),
            "{shown}: {}",
            response.text()
        );
        assert!(
            response.json().get("id").is_none(),
            "{shown}: {}",
            response.text()
        );
    }
}

#[tokio::test]
async fn a_message_that_is_no_request_is_refused_as_such() {
    let (_stack, client) = gateway().await;
    let long_id = json!({ "jsonrpc": "2.0", "id": "x".repeat(257), "method": "ping" }).to_string();
    for body in [
        r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
        "[]",
        "1",
        r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":{"b":1,"b":1}}}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":9223372036854775808,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","method":"tools/list"}"#,
        r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":5}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hello"},"error":null}"#,
        &long_id,
    ] {
        let response = posting(&client, body).send(client.address()).await;
        assert_eq!(
            refusal(&response),
            (400, -32600),
            "{body}: {}",
            response.text()
        );
    }
}

#[tokio::test]
async fn params_that_are_no_object_are_refused() {
    let (_stack, client) = gateway().await;
    for params in ["[]", "1", "\"x\"", "null"] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{params}}}"#);
        let response = posting(&client, &body).send(client.address()).await;
        assert_eq!(
            refusal(&response),
            (400, -32602),
            "{body}: {}",
            response.text()
        );
    }
}

#[tokio::test]
async fn an_id_comes_back_as_it_was_sent() {
    let (_stack, client) = gateway().await;
    for id in [
        json!(0),
        json!(-5),
        json!(i64::MAX),
        json!(""),
        json!("x".repeat(256)),
        json!("é\n"),
    ] {
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": { "name": "hello" } });
        let response = posting(&client, body.to_string())
            .send(client.address())
            .await;
        assert_eq!(response.status, 200, "{id}: {}", response.text());
        assert_eq!(response.json()["id"], id);
    }
}

#[tokio::test]
async fn absent_and_null_arguments_mean_no_arguments() {
    let (_stack, client) = gateway().await;
    for params in [
        json!({ "name": "hello" }),
        json!({ "name": "hello", "arguments": null }),
    ] {
        let response = client.rpc("tools/call", params.clone()).await.json();
        let message = &response["result"]["structuredContent"]["message"];
        assert_eq!(message, "Hello from Archway!", "{params}: {response}");
    }
}

#[tokio::test]
async fn a_call_of_no_tool_or_of_an_unknown_one_says_invalid_params() {
    let (_stack, client) = gateway().await;
    for params in [
        json!({}),
        json!({ "name": 5 }),
        json!({ "name": "nonesuch", "arguments": {} }),
        json!({ "name": "Hello" }),
        json!({ "name": "hello", "arguments": [] }),
    ] {
        let response = client.rpc("tools/call", params.clone()).await;
        assert_eq!(
            refusal(&response).1,
            -32602,
            "{params}: {}",
            response.text()
        );
    }
}

#[tokio::test]
async fn an_unknown_tool_suggests_the_nearest_or_tools_list() {
    let (_stack, client) = gateway().await;
    for (name, hint) in [
        ("grep_codebse", "did you mean grep_codebase?"),
        ("ListFiles", "did you mean list_files?"),
        ("nonesuch", "call tools/list"),
        ("", "call tools/list"),
    ] {
        for client in [client.clone(), client.clone().modern()] {
            let response = client.rpc("tools/call", json!({ "name": name })).await;
            assert_eq!(refusal(&response), (200, -32602), "{}", response.text());
            let told = response.json()["error"]["message"].to_string();
            assert!(told.contains(hint), "{name}: {told}");
        }
    }
}

#[tokio::test]
async fn every_method_reads_128_levels_of_nesting_and_refuses_129() {
    let (_stack, client) = gateway().await;
    // The message and its params are the first two levels.
    let nested = |levels: usize| {
        let deep = (0..levels - 2).fold(json!(1), |inner, _| json!({ "a": inner }));
        json!({ "deep": deep })
    };
    let about = json!({ "name": "e2e", "version": "1" });
    for (method, params, status) in [
        (
            "initialize",
            json!({ "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": about }),
            0,
        ),
        ("ping", json!({}), 0),
        ("tools/list", json!({}), 0),
        ("tools/call", json!({ "name": "hello" }), 0),
        ("prompts/list", json!({}), 0),
        ("no/such", json!({}), -32601),
    ] {
        for (levels, expected) in [(128, (200, status)), (129, (400, -32700))] {
            let mut params = params.clone();
            params["deep"] = nested(levels)["deep"].clone();
            let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
            let response = posting(&client, body.to_string())
                .send(client.address())
                .await;
            let told = (
                response.status,
                response.json()["error"]["code"].as_i64().unwrap_or(0),
            );
            assert_eq!(told, expected, "{method} {levels}: {}", response.text());
        }
    }
    for method in ["server/discover", "tools/list"] {
        let response = client.clone().modern().rpc(method, nested(128)).await;
        assert_eq!(response.status, 200, "{method}: {}", response.text());
        assert!(response.json()["result"].is_object());
    }
    // What the method itself reads may be as deep.
    let deep = nested(127)["deep"].clone();
    let params = json!({ "protocolVersion": "2025-11-25", "clientInfo": about,
        "capabilities": { "experimental": deep } });
    let response = client.rpc("initialize", params).await;
    assert_eq!(response.json()["result"]["protocolVersion"], "2025-11-25");
}

#[tokio::test]
async fn a_notification_is_taken_without_an_answer() {
    let (_stack, client) = gateway().await;
    let body = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let response = posting(&client, body).send(client.address()).await;
    assert_eq!((response.status, response.text().as_str()), (202, ""));
}

#[tokio::test]
async fn errors_of_the_envelope_are_the_same_in_2026_07_28() {
    let (_stack, client) = gateway().await;
    for (body, code) in [
        ("{", -32700),
        ("[]", -32600),
        (
            r#"{"jsonrpc":"2.0","id":null,"method":"server/discover"}"#,
            -32600,
        ),
        (r#"{"jsonrpc":"2.0","method":"server/discover"}"#, -32600),
        (
            r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"server/discover"}"#,
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":[]}"#,
            -32602,
        ),
    ] {
        let request = posting(&client, body)
            .header("MCP-Protocol-Version", "2026-07-28")
            .header("Mcp-Method", "server/discover");
        let response = request.send(client.address()).await;
        assert_eq!(
            refusal(&response),
            (400, code),
            "{body}: {}",
            response.text()
        );
    }
}
