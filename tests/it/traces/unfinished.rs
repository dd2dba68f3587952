//! Spans of work that the caller no longer waits for.

use e2e::RedisServer;
use serde_json::json;

use super::{CALLER, called, collector, is_whole, new_trace, one, parent, recording};

#[tokio::test]
async fn a_worker_that_never_ends_its_answer_was_late_and_not_cancelled() {
    let (tell, _hung) = tokio::sync::mpsc::channel(1);
    let harness = recording(1000).hanging(tell);
    let harness = harness.configure(|config| config.upstream.call_deadline = 1);
    let stack = harness.start().await;
    let client = stack.client("acme");
    let trace = new_trace();
    let answer = called(&client, "hang", json!({}), &parent(&trace, CALLER, "01")).await;
    assert!(answer.text().contains("deadline_exceeded"), "{answer:?}");
    let spans = collector().once(&trace, is_whole).await;
    let sent = one(&spans, "archway.v1.Worker/Call", "client");
    let late = "DEADLINE_EXCEEDED";
    assert_eq!(sent.attribute("rpc.response.status_code"), late);
    assert_eq!(sent.attribute("error.type"), late);
    assert!(sent.failed);
}

#[tokio::test]
async fn a_limit_store_timeout_is_recorded_as_such() {
    let redis = RedisServer::start().await;
    let harness = recording(1000).configure(|config| {
        config.limits.limits_url = Some(redis.url().into());
        config.limits.limits_timeout = 1_000;
    });
    let stack = harness.start().await;
    let client = stack.client("acme");
    let spent = async || {
        let trace = new_trace();
        called(&client, "hello", json!({}), &parent(&trace, CALLER, "01")).await;
        let spans = collector().once(&trace, is_whole).await;
        spans.into_iter().find(|it| it.name == "EVALSHA spend")
    };
    let asked = stack.eventually(&spent).await;
    assert!(!asked.failed, "{asked:?}");
    redis.freeze();
    let asked = spent().await.expect("it was there a moment ago");
    assert!(asked.failed, "{asked:?}");
    assert_eq!(asked.attribute("error.type"), "timeout");
}
