//! Gateways and workers that are away.

use e2e::Harness;
use tokio::sync::mpsc;

use super::{Targets, acme, assert_fires, call, nothing, until};

#[tokio::test]
async fn without_workers_calls_fail_and_pools_have_none() {
    let mut stack = Harness::new().tenant(acme()).indexing().start().await;
    let client = stack.client("acme");
    call(&client, "hello", &nothing(), 100).await;
    let targets = Targets::of(&stack);
    let looked = "archway_worker_index_looked_timestamp_seconds";
    let calm = until(&targets, |it| it.sum(looked, "") < 60.0).await;
    stack.stop_workers();
    let is_known = async || {
        let reply = client.call("hello", nothing()).await;
        reply.is_error().then_some(())
    };
    stack.eventually(is_known).await;
    call(&client, "hello", &nothing(), 60).await;
    let caused = targets.scrape().await;
    let alerts = [
        "ArchwayNoWorkerReady",
        "ArchwayCallsFailingFast",
        "ArchwayIndexingStopped",
    ];
    assert_fires(&alerts, &calm, &caused, 20);
    assert_fires(&["ArchwayCallsFailingSlowly"], &calm, &caused, 60);
}

#[tokio::test]
async fn a_worker_that_is_away_is_noticed_though_others_are_ready() {
    let mut stack = Harness::new().tenant(acme()).workers(2).start().await;
    let targets = Targets::of(&stack);
    let replicas = "archway_gateway_upstream_replicas";
    let calm = until(&targets, |it| it.sum(replicas, "ready") > 1.5).await;
    stack.stop_worker(1);
    let caused = until(&targets, |it| it.sum(replicas, "away") > 0.5).await;
    assert!(caused.sum(replicas, "ready") > 0.5);
    assert_fires(&["ArchwayWorkerOut"], &calm, &caused, 20);
}

#[tokio::test]
async fn a_gateway_that_is_away_is_noticed_and_all_of_them() {
    let mut stack = Harness::new().tenant(acme()).replicas(2).start().await;
    let targets = Targets::of(&stack);
    let calm = targets.scrape().await;
    stack.stop(1).await;
    let one = targets.scrape().await;
    assert_fires(&["ArchwayGatewayOut"], &calm, &one, 20);
    stack.stop(0).await;
    let none = targets.scrape().await;
    let alerts = ["ArchwayGatewaysGone", "ArchwayGatewayOut"];
    assert_fires(&alerts, &calm, &none, 20);
}

#[tokio::test]
async fn workers_that_fail_a_family_of_tools_open_its_circuit() {
    let (hung, _events) = mpsc::channel(1);
    let stack = Harness::new().tenant(acme()).hanging(hung).start().await;
    let targets = Targets::of(&stack);
    let calm = targets.scrape().await;
    call(&stack.client("acme"), "break", &nothing(), 20).await;
    let state = "archway_gateway_circuit_state";
    let caused = until(&targets, |it| it.sum(state, "") > 0.5).await;
    assert_fires(&["ArchwayCircuitNotClosed"], &calm, &caused, 20);
}

#[tokio::test]
async fn a_call_that_ends_two_workers_is_noticed() {
    let (hung, _events) = mpsc::channel(1);
    let harness = Harness::new().tenant(acme()).workers(3).hanging(hung);
    let stack = harness.start().await;
    let targets = Targets::of(&stack);
    let replicas = "archway_gateway_upstream_replicas";
    let calm = until(&targets, |it| it.sum(replicas, "ready") > 2.5).await;
    call(&stack.client("acme"), "crash", &nothing(), 1).await;
    let caused = targets.scrape().await;
    assert_fires(&["ArchwayCallEndsWorkers"], &calm, &caused, 10);
}
