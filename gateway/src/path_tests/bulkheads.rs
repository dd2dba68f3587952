//! Bulkheads, from a client's socket to a worker that delays its calls.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::{
    io::AsyncReadExt,
    sync::mpsc,
    time::{Instant, timeout},
};

use super::{
    fixture::{GatewayFixture, PATIENCE, code, skip},
    modern,
};
use crate::BreakerConfig;

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test]
async fn a_tenant_runs_64_calls_queues_64_and_one_more_is_refused() {
    let scene = GatewayFixture::start().await;
    let rest = async {
        scene.until(64, 64).await;
        let refused = scene.refused("echo").await;
        // One tenant's permits delay no other tenant.
        let other = code(&scene.others("echo").await);
        scene.gate.add_permits(128);
        (refused, other)
    };
    let (codes, (refused, other)) = tokio::join!(scene.calls("gate", 128), rest);
    assert_eq!(codes, ["ok"; 128]);
    assert_eq!(other, "ok");
    assert_eq!(refused["code"], "unavailable");
    assert_eq!(refused["details"]["retry_after_seconds"], 2);
    let circuit = scene.circuit().await;
    assert_eq!(
        (&circuit["state"], &circuit["faults"]),
        (&json!("closed"), &json!(0))
    );
    let calls = &scene.status().await["calls"];
    assert_eq!(*calls, json!({ "in_flight": 0, "queued": 0 }));
    let tools = &scene.status().await["tools"];
    let sums =
        |tool: &str| ["invocations", "failures", "timeouts"].map(|sum| tools[tool][sum].clone());
    assert_eq!(sums("gate"), [128, 0, 0]);
    assert_eq!(sums("echo"), [2, 1, 0], "one of them was refused");
    let metrics = scene.probe("/metrics").await;
    let refusals = r#"bulkhead_refusals_total{reason="full"} 1"#;
    assert!(metrics.contains(refusals), "{metrics}");
}

#[tokio::test]
async fn calls_queue_in_order_and_the_wait_counts_against_the_deadline() {
    let scene = GatewayFixture::with(30, BreakerConfig { tenant_calls: 3 }).await;
    let (tell, mut told) = mpsc::channel(8);
    for place in 0..6_usize {
        scene.until(place.min(3), place.saturating_sub(3)).await;
        let mut waiting = scene.open("gate").await;
        let tell = tell.clone();
        tokio::spawn(async move {
            let mut answer = String::new();
            waiting.read_to_string(&mut answer).await.unwrap();
            tell.send((place, answer)).await.unwrap();
        });
    }
    scene.until(3, 3).await;
    skip(7 * SECOND).await;
    for expected in 0..6 {
        scene.gate.add_permits(1);
        let (place, answer) = timeout(PATIENCE, told.recv()).await.unwrap().unwrap();
        assert_eq!(place, expected);
        let body = answer.split_once("\r\n\r\n").unwrap().1;
        let answer: Value = serde_json::from_str(body).unwrap();
        let seconds = &answer["result"]["structuredContent"]["seconds"];
        let seconds = seconds.as_u64().unwrap();
        assert_eq!(seconds <= 23, place >= 3, "{answer}");
    }
}

#[tokio::test]
async fn unread_events_hold_a_permit_no_longer_than_the_deadline() {
    let scene = GatewayFixture::with(1, BreakerConfig::default()).await;
    let meta = json!({ "io.modelcontextprotocol/logLevel": "debug" });
    let (extra, body) = modern("tools/call", json!({ "name": "spate", "_meta": meta }));
    let mut unread = scene.harness.open(&extra, &body).await;
    scene.until(1, 0).await;
    scene.until(0, 0).await;
    // A client that reads at last sees how its call ended.
    let mut answer = Vec::new();
    let read = timeout(PATIENCE, unread.read_to_end(&mut answer)).await;
    read.unwrap().unwrap();
    let answer = String::from_utf8(answer).unwrap();
    let last = answer.rsplit("event: message").next().unwrap();
    assert!(last.contains("deadline_exceeded"), "{last}");
}

#[tokio::test]
async fn a_call_queues_for_half_of_its_time_and_then_others_fail_at_once() {
    let scene = GatewayFixture::with(30, BreakerConfig { tenant_calls: 1 }).await;
    let half = 15 * SECOND;
    let _held = scene.open("hang").await;
    scene.until(1, 0).await;
    let begun = Instant::now();
    let waits = async {
        scene.until(1, 1).await;
        skip(half).await;
    };
    let (refused, ()) = tokio::join!(scene.refused("echo"), waits);
    assert_eq!(refused["code"], "unavailable");
    let waited = begun.elapsed();
    assert!(waited >= half, "{waited:?}");
    let begun = Instant::now();
    let refused = scene.refused("echo").await;
    assert_eq!(refused["code"], "unavailable");
    assert!(begun.elapsed() < half / 2, "{:?}", begun.elapsed());
    let metrics = scene.probe("/metrics").await;
    for reason in ["waited", "stalled"] {
        let counted = format!("bulkhead_refusals_total{{reason=\"{reason}\"}} 1");
        assert!(metrics.contains(&counted), "{counted} in {metrics}");
    }
}
