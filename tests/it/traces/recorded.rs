//! The spans of a call: which there are, their parents, and their attributes.

use std::time::Duration;

use e2e::{Embeddings, Harness, Qdrant, RedisServer, collector::Exported};
use serde_json::json;

use super::{
    CALLER, OTHER, call, called, collector, is_whole, new_trace, one, outline, parent, recording,
    started,
};

const CALL: &str = "archway.v1.Worker/Call";

/// Asserts the attributes of a span and its parent.
fn holds(spans: &[Exported], span: &Exported, within: &str, said: &[(&str, &str)]) {
    assert_eq!(span.parent, within, "{} of {}", span.name, outline(spans));
    for (name, value) in said {
        assert_eq!(span.attribute(name), *value, "{name} of {span:#?}");
    }
}

#[tokio::test]
async fn one_call_is_one_trace_from_its_callers_span_to_the_last_request() {
    let (embeddings, qdrant) = (Embeddings::start(64).await, Qdrant::start().await);
    let redis = RedisServer::start().await;
    let harness: Harness = recording(1000).embedder(&embeddings).qdrant(&qdrant);
    let harness = harness.configure(|config| {
        config.limits.limits_url = Some(redis.url().into());
        config.limits.limits_timeout = 5_000;
    });
    let stack = harness.start().await;
    let client = stack.client("acme");
    let tenant = stack.tenant_id("acme").to_string();
    // Once the index and the limit store are up.
    let spans = stack.eventually(async || {
        let trace = new_trace();
        let request = call(
            &client,
            "context_search",
            // A different query each time, since the vectors of earlier ones are cached.
            json!({ "query": format!("where is sesame {trace}") }),
        )
        .header("traceparent", &parent(&trace, CALLER, "01"))
        .header("tracestate", "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE")
        .header("baggage", "user=eve");
        let answer = request.send(client.address()).await.json();
        assert!(answer["result"].is_object(), "{answer}");
        let spans = collector().once(&trace, is_whole).await;
        let asked = |name| spans.iter().any(|span| span.name == name);
        (asked("QueryBatchPoints") && asked("EVALSHA spend")).then_some(spans)
    });
    let spans = spans.await;

    let http = one(&spans, "POST /mcp", "server");
    let of_http = [
        ("http.request.method", "POST"),
        ("http.route", "/mcp"),
        ("http.response.status_code", "200"),
        ("url.path", "/mcp"),
        ("network.protocol.version", "1.1"),
    ];
    holds(&spans, http, CALLER, &of_http);
    holds(
        &spans,
        one(&spans, "authenticate", "internal"),
        &http.id,
        &[],
    );
    let message = one(&spans, "tools/call context_search", "server");
    let of_message = [
        ("mcp.method.name", "tools/call"),
        ("mcp.protocol.version", "2025-11-25"),
        ("gen_ai.operation.name", "execute_tool"),
        ("gen_ai.tool.name", "context_search"),
        ("jsonrpc.request.id", "1"),
        ("network.transport", "tcp"),
        ("tenant.id", &tenant),
        ("error.type", ""),
    ];
    holds(&spans, message, &http.id, &of_message);
    assert_eq!(message.attribute("mcp.session.id").len(), 32);
    let store = one(&spans, "EVALSHA spend", "client");
    holds(&spans, store, &message.id, &[("db.system.name", "redis")]);
    let rpc = [
        ("rpc.system.name", "grpc"),
        ("rpc.method", CALL),
        ("rpc.response.status_code", "OK"),
    ];
    let sent = one(&spans, CALL, "client");
    holds(&spans, sent, &message.id, &rpc);
    assert_eq!(sent.attribute("server.address"), "127.0.0.1");
    let taken = one(&spans, CALL, "server");
    holds(&spans, taken, &sent.id, &rpc);
    holds(&spans, taken, &sent.id, &[("tenant.id", &tenant)]);
    let tool = one(&spans, "execute_tool context_search", "internal");
    let of_tool = [("gen_ai.tool.name", "context_search"), ("error.type", "")];
    holds(&spans, tool, &taken.id, &of_tool);
    let vector = one(&spans, "embeddings words", "client");
    let of_vector = [
        ("gen_ai.operation.name", "embeddings"),
        ("gen_ai.request.model", "words"),
    ];
    holds(&spans, vector, &tool.id, &of_vector);
    let nearest = one(&spans, "QueryBatchPoints", "client");
    let of_nearest = [
        ("db.system.name", "qdrant"),
        ("db.operation.name", "QueryBatchPoints"),
    ];
    holds(&spans, nearest, &tool.id, &of_nearest);
    let is_statement = |span: &&Exported| span.attribute("db.system.name") == "postgresql";
    let statements: Vec<&Exported> = spans.iter().filter(is_statement).collect();
    assert!(statements.len() > 3, "{}", outline(&spans));
    for statement in &statements {
        assert_eq!(statement.kind, "client");
        let summary = statement.attribute("db.query.summary");
        assert_eq!(statement.name, summary);
        let operation = statement.attribute("db.operation.name");
        assert!(
            summary.starts_with(operation) && !operation.is_empty(),
            "{statement:?}"
        );
    }
    let of_index = statements
        .iter()
        .find(|it| it.name == "SELECT indexes")
        .unwrap();
    assert_eq!(of_index.parent, tool.id, "{}", outline(&spans));

    // A parent begins before its child and ends after it.
    for span in &spans {
        assert_eq!(span.state, "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE");
        let outer = spans.iter().find(|outer| outer.id == span.parent);
        let Some(outer) = outer else {
            assert_eq!(span.parent, CALLER, "{}", outline(&spans));
            continue;
        };
        // Clocks that are read in turn differ by little.
        let little = 2_000_000;
        assert!(outer.start <= span.start + little, "{outer:?} {span:?}");
        assert!(span.end <= outer.end + little, "{outer:?} {span:?}");
    }
}

#[tokio::test]
async fn a_message_continues_the_trace_of_its_meta_and_links_its_request() {
    let (_stack, client) = started(1000).await;
    let client = client.modern();
    let (in_header, in_meta) = (new_trace(), new_trace());
    let params = |trace: &str| {
        json!({
            "name": "hello",
            "arguments": {},
            "_meta": { "traceparent": parent(trace, OTHER, "01"), "tracestate": "a=b", "baggage": "c=d" },
        })
    };
    let request = client.request("tools/call", params(&in_meta));
    let request = request.header("traceparent", &parent(&in_header, CALLER, "01"));
    assert_eq!(request.send(client.address()).await.status, 200);
    let of_request = collector().once(&in_header, is_whole).await;
    let http = one(&of_request, "POST /mcp", "server");
    assert_eq!(http.parent, CALLER);
    let is_answered = |spans: &[Exported]| spans.iter().any(|span| span.name == "tools/call hello");
    let of_message = collector().once(&in_meta, is_answered).await;
    let message = one(&of_message, "tools/call hello", "server");
    assert_eq!(
        (message.parent.as_str(), message.state.as_str()),
        (OTHER, "a=b")
    );
    assert_eq!(message.links, [http.id.as_str()]);
    assert_eq!(message.attribute("mcp.protocol.version"), "2026-07-28");
    let sent = one(&of_message, CALL, "client");
    assert_eq!(sent.parent, message.id);
    one(&of_message, "execute_tool hello", "internal");

    // Without a parent of its own the request belongs to the message's trace.
    let alone = new_trace();
    let request = client.request("tools/call", params(&alone));
    assert_eq!(request.send(client.address()).await.status, 200);
    let spans = collector().once(&alone, is_whole).await;
    let http = one(&spans, "POST /mcp", "server");
    let message = one(&spans, "tools/call hello", "server");
    assert_eq!(
        (http.parent.as_str(), message.parent.as_str()),
        (OTHER, OTHER)
    );
    assert_eq!(message.links, [http.id.as_str()]);
}

#[tokio::test]
async fn spans_state_how_a_call_failed_but_no_arguments() {
    let (_stack, client) = started(1000).await;
    let failed = new_trace();
    let path = json!({ "path": "src/marmalade.rs" });
    called(&client, "read_file", path, &parent(&failed, CALLER, "01")).await;
    let spans = collector().once(&failed, is_whole).await;
    let message = one(&spans, "tools/call read_file", "server");
    assert!(message.failed);
    assert_eq!(message.attribute("error.type"), "tool_error");
    assert_eq!(message.attribute("archway.fault"), "file_not_found");
    let tool = one(&spans, "execute_tool read_file", "internal");
    assert!(tool.failed);
    assert_eq!(tool.attribute("error.type"), "file_not_found");
    assert!(
        !one(&spans, CALL, "server").failed,
        "to gRPC it is an answer"
    );

    let refused = new_trace();
    let asked = json!({ "marmalade": 1 });
    called(
        &client,
        "marmalade_tool",
        asked,
        &parent(&refused, CALLER, "01"),
    )
    .await;
    let unknown = collector().once(&refused, is_whole).await;
    let message = one(&unknown, "tools/call", "server");
    assert!(message.failed);
    assert_eq!(message.attribute("error.type"), "-32602");
    assert_eq!(message.attribute("rpc.response.status_code"), "-32602");
    assert_eq!(message.attribute("gen_ai.tool.name"), "");

    let method = new_trace();
    let other = client.request("marmalade/spread", json!({ "_meta": { "marmalade": 1 } }));
    let other = other.header("traceparent", &parent(&method, CALLER, "01"));
    other.send(client.address()).await;
    let other = collector().once(&method, is_whole).await;
    assert_eq!(
        one(&other, "_OTHER", "server").attribute("error.type"),
        "-32601"
    );

    let found = new_trace();
    let asked = json!({ "pattern": "sesame", "file_pattern": "src/*.rs" });
    called(
        &client,
        "grep_codebase",
        asked,
        &parent(&found, CALLER, "01"),
    )
    .await;
    let found = collector().once(&found, is_whole).await;
    for span in spans.iter().chain(&unknown).chain(&other).chain(&found) {
        let said = format!("{span:?}");
        for secret in ["marmalade", "sesame", "src/", "acme", client.key()] {
            assert!(!said.contains(secret), "{secret} in {said}");
        }
    }
}

#[tokio::test]
async fn a_call_that_its_client_leaves_is_recorded_as_long_as_it_ran() {
    let (tell, mut hung) = tokio::sync::mpsc::channel(1);
    let stack = recording(1000).hanging(tell).start().await;
    let client = stack.client("acme");
    let trace = new_trace();
    let request = call(&client, "hang", json!({}));
    let request = request.header("traceparent", &parent(&trace, CALLER, "01"));
    let waiting = tokio::spawn(async move { request.send(client.address()).await });
    hung.recv().await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    waiting.abort();
    let spans = collector().once(&trace, is_whole).await;
    let sent = one(&spans, CALL, "client");
    assert_eq!(sent.attribute("rpc.response.status_code"), "CANCELLED");
    let message = one(&spans, "tools/call hang", "server");
    assert!(message.end - message.start >= 50_000_000, "{message:?}");
}
