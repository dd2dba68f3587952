//! Which traces are recorded.

use std::time::Duration;

use e2e::collector::Exported;
use futures::future::join_all;
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::{CALLER, call, called, collector, is_whole, new_trace, parent, started};

#[tokio::test]
async fn a_trace_unsampled_by_its_caller_is_not_recorded() {
    let (_stack, client) = started(1000).await;
    let (quiet, loud) = (new_trace(), new_trace());
    for _ in 0..3 {
        let answer = called(&client, "hello", json!({}), &parent(&quiet, CALLER, "00")).await;
        assert_eq!(answer.status, 200);
    }
    // The message's `traceparent` has precedence over its request's.
    let params = json!({
        "name": "hello", "arguments": {}, "_meta": { "traceparent": parent(&quiet, CALLER, "00") },
    });
    let both = client.request("tools/call", params);
    let both = both.header("traceparent", &parent(&quiet, CALLER, "01"));
    assert_eq!(both.send(client.address()).await.status, 200);
    // Nothing is recorded for unauthenticated callers, whatever they send.
    let stranger = call(
        &e2e::Client::new(client.address(), "nobody"),
        "hello",
        json!({}),
    );
    let stranger = stranger.header("traceparent", &parent(&quiet, CALLER, "01"));
    assert_eq!(stranger.send(client.address()).await.status, 401);
    called(&client, "hello", json!({}), &parent(&loud, CALLER, "01")).await;
    collector().once(&loud, is_whole).await;
    assert_eq!(collector().spans(&quiet), []);
}

#[tokio::test]
async fn traces_recorded_per_second_are_bounded_whatever_callers_ask() {
    // One tenant has half of these, and half of that for calls that ask to be recorded.
    let (_stack, client) = started(20).await;
    let begun = Instant::now();
    let traces: Vec<String> = (0..60).map(|_| new_trace()).collect();
    for some in traces.chunks(10) {
        let calls = some.iter().map(|trace| {
            let parent = parent(trace, CALLER, "01");
            let client = &client;
            async move { called(client, "hello", json!({}), &parent).await }
        });
        let answers = join_all(calls).await;
        assert!(answers.iter().all(|answer| answer.status == 200));
    }
    let took = begun.elapsed().as_secs_f64();
    let most = 5.0 + 5.0 * took + 1.0;
    collector().once(&traces[0], is_whole).await;
    // A later one would be exported by then.
    let recorded = |trace: &&String| !collector().spans(trace).is_empty();
    let deadline = Instant::now() + Duration::from_secs(3);
    while Instant::now() < deadline {
        sleep(Duration::from_millis(100)).await;
    }
    let recorded = traces.iter().filter(recorded).count();
    assert!(recorded >= 5, "{recorded}");
    assert!((recorded as f64) <= most, "{recorded} in {took} s");
}

#[tokio::test]
async fn a_call_without_a_trace_begins_one() {
    let (stack, client) = started(1000).await;
    let tenant = stack.tenant_id("acme").to_string();
    let own = async || {
        client.call("hello", json!({})).await;
        let is_own = |it: &Exported| it.name == "POST /mcp" && it.attribute("tenant.id") == tenant;
        collector().all().into_iter().find(is_own)
    };
    let http = stack.eventually(own).await;
    assert_eq!(http.parent, "");
    assert_eq!(http.links.len(), 0);
}
