//! Workers that die during a call: which calls another worker answers, and what the others report.

use std::sync::atomic::Ordering;

use archway_proto::v1::worker_server::SERVICE_NAME;
use serde_json::{Value, json};
use tokio::{io::AsyncReadExt, time::timeout};
use tonic_health::ServingStatus;

use super::{
    fleet::{Fleet, PATIENCE, code, error},
    modern,
};

#[tokio::test]
async fn a_read_whose_worker_dies_is_answered_by_another() {
    let fleet = Fleet::of(2).await;
    for tool in ["mortal", "mortal_said"] {
        fleet.deaths.store(0, Ordering::SeqCst);
        let result = fleet.call(tool, 1).await;
        assert!(
            result["structuredContent"]["worker"].is_string(),
            "{result}"
        );
        assert_eq!(fleet.deaths.load(Ordering::SeqCst), 1);
        fleet.ready(2).await;
    }
    assert_eq!(
        fleet.count(r#"upstream_retries_total{reason="connection_lost"}"#),
        2
    );
    assert_eq!(
        fleet.count(r#"upstream_connections_lost_total{pool="shared"}"#),
        2
    );
}

#[tokio::test]
async fn a_write_whose_worker_dies_is_tried_once_with_unknown_outcome() {
    let fleet = Fleet::of(2).await;
    let result = fleet.call("mortal_write", 1).await;
    assert_eq!(code(&result), "unavailable", "{result}");
    assert_eq!(error(&result)["details"]["outcome"], "unknown");
    let suggestion = error(&result)["suggestion"].as_str().unwrap();
    assert!(
        suggestion.contains("io.archway/idempotencyKey"),
        "{suggestion}"
    );
    assert_eq!(fleet.calls(), 1);
}

#[tokio::test]
async fn a_write_once_tool_is_retried_elsewhere_with_unknown_outcome() {
    let fleet = Fleet::of(2).await;
    let result = fleet.call("mortal_write_once", 1).await;
    let worker = &result["structuredContent"]["worker"];
    assert!(worker.is_string(), "{result}");
    assert_eq!(fleet.calls(), 2);
    // Without another worker there is no second try, and the first may have done it.
    let fleet = Fleet::of(1).await;
    let result = fleet.call("mortal_write_once", 1).await;
    assert_eq!(code(&result), "unavailable", "{result}");
    assert_eq!(error(&result)["details"]["outcome"], "unknown", "{result}");
}

#[tokio::test]
async fn a_write_that_ends_unanswered_otherwise_is_unknown_too() {
    let fleet = Fleet::of(1).await;
    for (tool, came) in [
        ("write_status", "unavailable"),
        ("write_ended", "unavailable"),
        ("write_nothing", "internal_error"),
    ] {
        let result = fleet.call(tool, 0).await;
        assert_eq!(code(&result), came, "{result}");
        assert_eq!(error(&result)["details"]["outcome"], "unknown", "{result}");
    }
}

#[tokio::test]
async fn a_write_that_killed_two_workers_is_refused_with_unknown_outcome() {
    let fleet = Fleet::of(2).await;
    let first = fleet.call("mortal_write", 9).await;
    assert_eq!(code(&first), "unavailable", "{first}");
    fleet.ready(2).await;
    let second = fleet.call("mortal_write", 9).await;
    assert_eq!(code(&second), "internal_error", "{second}");
    assert_eq!(error(&second)["details"]["outcome"], "unknown", "{second}");
}

#[tokio::test]
async fn the_idempotency_key_of_a_write_reaches_its_worker() {
    let fleet = Fleet::of(1).await;
    let call = async |key: Value| {
        let meta = json!({ "io.archway/idempotencyKey": key, "progressToken": 1 });
        let params = json!({ "name": "mortal_write", "arguments": {}, "_meta": meta });
        fleet.harness.ask("tools/call", params).await
    };
    let answer = call(json!("a-key")).await;
    assert_eq!(
        answer["result"]["structuredContent"]["meta"],
        json!({ "io.archway/idempotencyKey": "a-key" }),
        "{answer}"
    );
    for bad in [json!(""), json!("x".repeat(129)), json!(7)] {
        let answer = call(bad).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    assert_eq!(fleet.calls(), 1);
}

#[tokio::test]
async fn a_write_that_times_out_may_have_been_done_and_says_so() {
    let fleet = Fleet::with(1, &[], 2).await;
    fleet.members[0].door.freeze();
    let (write, read) = tokio::join!(fleet.call("mortal_write", 0), fleet.call("echo", 0));
    assert_eq!(code(&write), "deadline_exceeded", "{write}");
    assert_eq!(error(&write)["details"]["outcome"], "unknown", "{write}");
    assert_eq!(code(&read), "deadline_exceeded", "{read}");
    assert_eq!(error(&read)["details"].get("outcome"), None, "{read}");
}

#[tokio::test]
async fn a_write_that_no_worker_accepted_was_not_done() {
    let fleet = Fleet::of(2).await;
    fleet.members.iter().for_each(|member| member.door.close());
    fleet.ready(0).await;
    let result = fleet.call("mortal_write", 0).await;
    assert_eq!(code(&result), "unavailable", "{result}");
    assert_eq!(error(&result)["details"]["outcome"], "not_written");
    assert_eq!(fleet.calls(), 0);
    // A read has nothing to be written.
    let result = fleet.call("echo", 1).await;
    assert_eq!(code(&result), "unavailable", "{result}");
    assert_eq!(error(&result)["details"].get("outcome"), None);
}

#[tokio::test]
async fn a_call_that_killed_two_workers_gets_no_third() {
    let fleet = Fleet::of(3).await;
    let first = fleet.call("mortal", 9).await;
    assert_eq!(code(&first), "internal_error", "{first}");
    assert_eq!(fleet.deaths.load(Ordering::SeqCst), 2);
    let again = fleet.call("mortal", 9).await;
    assert_eq!(code(&again), "internal_error", "{again}");
    assert!(
        error(&again)["details"]["retry_after_seconds"]
            .as_u64()
            .unwrap()
            > 590
    );
    assert_eq!(fleet.calls(), 2);
    assert_eq!(fleet.count("upstream_deadly_calls_refused_total"), 2);
    // This says nothing about the remaining workers: however often the call is refused, its family
    // stays open to all.
    for _ in 0..20 {
        fleet.call("mortal", 9).await;
    }
    // Other arguments make another call.
    let other = fleet.call("mortal", 2).await;
    assert!(other["structuredContent"]["worker"].is_string(), "{other}");
}

#[tokio::test]
async fn a_call_on_draining_workers_is_not_blamed_for_their_end() {
    let fleet = Fleet::of(2).await;
    for member in &fleet.members {
        let status = ServingStatus::NotServing;
        member.health.set_service_status(SERVICE_NAME, status).await;
    }
    fleet.ready(0).await;
    let lost = fleet.call("mortal", 9).await;
    assert_eq!(code(&lost), "unavailable", "{lost}");
    assert_eq!(fleet.deaths.load(Ordering::SeqCst), 2);
    assert_eq!(fleet.count("upstream_deadly_calls_refused_total"), 0);
}

#[tokio::test]
async fn a_call_that_already_sent_events_is_not_retried() {
    let mut fleet = Fleet::of(2).await;
    let params = json!({ "name": "drip", "_meta": { "progressToken": 1 } });
    let (extra, body) = modern("tools/call", params);
    let mut socket = fleet.harness.open(&extra, &body).await;
    let mut heard = Vec::new();
    while !String::from_utf8_lossy(&heard).contains("notifications/progress") {
        let read = timeout(PATIENCE, socket.read_buf(&mut heard)).await;
        assert!(read.unwrap().unwrap() > 0);
    }
    fleet.harness.began().await;
    fleet
        .members
        .iter()
        .for_each(|member| member.door.life.end());
    let rest = timeout(PATIENCE, socket.read_to_end(&mut heard)).await;
    rest.unwrap().unwrap();
    let heard = String::from_utf8(heard).unwrap();
    assert!(heard.contains("unavailable"), "{heard}");
    assert_eq!(
        heard.matches("notifications/progress").count(),
        1,
        "{heard}"
    );
    assert_eq!(fleet.calls(), 1);
}

#[tokio::test]
async fn without_a_retry_budget_nothing_is_retried() {
    let fleet = Fleet::of(2).await;
    fleet.upstream.spend_budgets();
    let result = fleet.call("mortal", 1).await;
    assert_eq!(code(&result), "unavailable", "{result}");
    assert_eq!(fleet.count("upstream_retry_budget_exhausted_total"), 1);
    fleet.ready(2).await;
    // A call that was never sent costs no budget.
    fleet.members.first().unwrap().door.close();
    for _ in 0..4 {
        let result = fleet.call("echo", 1).await;
        assert!(result["structuredContent"].is_object(), "{result}");
    }
}

#[tokio::test]
async fn a_frozen_worker_is_detected_and_its_calls_go_elsewhere() {
    let fleet = Fleet::of(2).await;
    // Whichever worker answers now gets the next call, too.
    fleet.call("mortal", 0).await;
    let favourite = fleet.members.iter().find(|member| member.calls() == 1);
    favourite.unwrap().door.freeze();
    let result = fleet.call("mortal", 0).await;
    assert!(
        result["structuredContent"]["worker"].is_string(),
        "{result}"
    );
    assert_eq!(
        fleet.count(r#"upstream_retries_total{reason="connection_lost"}"#),
        1
    );
}
