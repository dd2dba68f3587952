//! What gateways and workers need, and do not reach.

use archway_gateway::WhenDown;
use e2e::{Embeddings, Harness, Mishap, Qdrant, RedisServer, http::Request};
use futures::future::join_all;
use serde_json::json;

use super::{Targets, acme, assert_fires, call, execute, nothing, until};

#[tokio::test]
async fn without_the_store_of_limits_gateways_say_so() {
    without_the_store_of_limits(WhenDown::Shares, &["ArchwayLimitStoreAway"]).await;
}

#[tokio::test]
async fn gateways_that_refuse_without_the_store_of_limits_are_not_ready() {
    let alerts = [
        "ArchwayLimitStoreAway",
        "ArchwayLimitsRefuseAll",
        "ArchwayNoGatewayReady",
        "ArchwayGatewayOut",
    ];
    without_the_store_of_limits(WhenDown::Closed, &alerts).await;
}

async fn without_the_store_of_limits(when_down: WhenDown, alerts: &[&str]) {
    let mut redis = RedisServer::start().await;
    let harness = Harness::new().tenant(acme()).configure(|config| {
        config.limits.limits_url = Some(redis.url().into());
        config.limits.limits_when_down = when_down;
    });
    let stack = harness.start().await;
    let targets = Targets::of(&stack);
    let up = "archway_gateway_limit_store_up";
    let calm = until(&targets, |it| it.sum(up, "") > 0.5).await;
    redis.kill();
    let client = stack.client("acme");
    let is_noticed = async || {
        call(&client, "hello", &nothing(), 1).await;
        Request::new("GET", "/readyz").send(stack.admin()).await;
        let caused = targets.scrape().await;
        let is_ready = caused.sum("archway_gateway_ready", "") > 0.5;
        let is_so = caused.sum(up, "") < 0.5 && is_ready != (when_down == WhenDown::Closed);
        is_so.then_some(caused)
    };
    let caused = stack.eventually(is_noticed).await;
    assert_fires(alerts, &calm, &caused, 20);
}

#[tokio::test]
async fn without_postgres_gateways_hear_nothing_and_audit_records_wait() {
    let stack = Harness::new().tenant(acme()).start().await;
    let client = stack.client("acme");
    call(&client, "hello", &nothing(), 1).await;
    stack.until_listening().await;
    let targets = Targets::of(&stack);
    let calm = targets.scrape().await;
    stack.database().close().await;
    let listening = "archway_gateway_listening_for_changes";
    until(&targets, |it| it.sum(listening, "") < 0.5).await;
    // As long as keys are accepted without Postgres.
    let clients = (0..8).map(|_| {
        let client = client.clone();
        tokio::spawn(async move { call(&client, "hello", &nothing(), 280).await })
    });
    for calling in clients.collect::<Vec<_>>() {
        calling.await.unwrap();
    }
    let waiting = "archway_gateway_audit_records_waiting";
    let caused = until(&targets, |it| it.sum(waiting, "") > 2048.0).await;
    stack.database().open().await;
    let alerts = ["ArchwayPostgresUnheard", "ArchwayAuditWritesFailing"];
    assert_fires(&alerts, &calm, &caused, 20);
}

#[tokio::test]
async fn without_the_vector_store_searches_fail_and_it_is_noticed() {
    let mut qdrant = Qdrant::start().await;
    let stack = Harness::new().tenant(acme()).qdrant(&qdrant).start().await;
    let client = stack.client("acme");
    let question = json!({ "query": "open the gate" });
    let answers = async || {
        let reply = client.call("context_search", question.clone()).await;
        (!reply.is_error()).then_some(())
    };
    stack.eventually(answers).await;
    let targets = Targets::of(&stack);
    let calm = targets.scrape().await;
    qdrant.stop();
    call(&client, "context_search", &question, 40).await;
    let requests = "archway_worker_index_store_requests_total";
    let caused = until(&targets, |it| it.sum(requests, "outcome=\"away\"") > 12.0).await;
    assert_fires(&["ArchwayIndexStoreAway"], &calm, &caused, 20);
}

#[tokio::test]
async fn without_the_embedding_service_searches_go_by_words() {
    let embedder = Embeddings::start(24).await;
    let harness = Harness::new().tenant(acme()).indexing().embedder(&embedder);
    let stack = harness.start().await;
    let client = stack.client("acme");
    let question = |number: u32| json!({ "query": format!("open the gate {number}") });
    let is_hybrid = async || {
        let reply = client.call("context_search", question(0)).await;
        (!reply.is_error() && reply.structured()["index"]["mode"] == "hybrid").then_some(())
    };
    stack.eventually(is_hybrid).await;
    let targets = Targets::of(&stack);
    let calm = targets.scrape().await;
    embedder.always(Some(Mishap::Status(500, Vec::new())));
    let state = "archway_worker_embedder_circuit_state";
    let mut number = 0;
    let caused = loop {
        number += 1;
        assert!(number < 200, "the circuit opens");
        client.call("context_search", question(number)).await;
        let scrape = targets.scrape().await;
        if scrape.sum(state, "") > 0.5 {
            break scrape;
        }
    };
    assert_fires(&["ArchwayEmbedderAway"], &calm, &caused, 30);
}

#[tokio::test]
async fn a_queue_of_audit_records_that_overflows_is_noticed() {
    let stack = Harness::new().tenant(acme()).start().await;
    let targets = Targets::of(&stack);
    let calm = targets.scrape().await;
    execute(
        &stack,
        "revoke insert on audit_records from archway_gateway",
    )
    .await;
    let client = stack.client("acme");
    let (missing, none) = ("archway_gateway_audit_records_missing_total", nothing());
    let mut caused = calm.clone();
    // The queue has 16,384 slots.
    for _ in 0..12 {
        if caused.sum(missing, "") > 5.0 {
            break;
        }
        let clients = (0..16).map(|_| call(&client, "hello", &none, 128));
        join_all(clients).await;
        caused = targets.scrape().await;
    }
    execute(&stack, "grant insert on audit_records to archway_gateway").await;
    let alerts = ["ArchwayAuditRecordsMissing", "ArchwayAuditWritesFailing"];
    assert_fires(&alerts, &calm, &caused, 10);
}
