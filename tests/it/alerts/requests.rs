//! What clients and operators cause.

use archway_gateway::terms::Level;
use e2e::{Client, Harness};
use futures::future::join_all;

use super::{Targets, acme, assert_fires, call, execute, nothing, until};

#[tokio::test]
async fn wrong_credentials_again_and_again_are_noticed() {
    let stack = Harness::new().tenant(acme()).start().await;
    let targets = Targets::of(&stack);
    let calm = targets.scrape().await;
    let strangers = (0..8).map(|_| {
        let stranger = Client::new(stack.gateways()[0], "awy_nobody");
        async move {
            for _ in 0..400 {
                stranger.rpc("tools/list", nothing()).await;
            }
        }
    });
    join_all(strangers).await;
    let caused = targets.scrape().await;
    let failed = "archway_gateway_failed_credentials_total";
    assert!(caused.sum(failed, "") - calm.sum(failed, "") > 3_000.0);
    // 1.3 a second.
    assert_fires(&["ArchwayCredentialsGuessed"], &calm, &caused, 40);
}

#[tokio::test]
async fn a_pool_that_no_gateway_knows_is_noticed() {
    let stack = Harness::new().tenant(acme()).start().await;
    let client = stack.client("acme");
    call(&client, "hello", &nothing(), 1).await;
    let targets = Targets::of(&stack);
    let calm = targets.scrape().await;
    execute(&stack, "update tenants set pool = 'gold'").await;
    let is_refused = async || {
        let reply = client.call("hello", nothing()).await;
        reply.is_error().then_some(())
    };
    stack.eventually(is_refused).await;
    call(&client, "hello", &nothing(), 5).await;
    let unknown = "archway_gateway_upstream_unknown_pool_calls_total";
    let caused = until(&targets, |it| it.sum(unknown, "") > 0.5).await;
    assert_fires(&["ArchwayPoolUnknown"], &calm, &caused, 20);
}

#[tokio::test]
async fn calls_over_their_deadline_are_noticed() {
    let (hung, mut events) = tokio::sync::mpsc::channel(1000);
    let drained = tokio::spawn(async move { while events.recv().await.is_some() {} });
    let harness = Harness::new().tenant(acme()).hanging(hung);
    let stack = harness
        .configure(|config| config.upstream.call_deadline = 1)
        .start()
        .await;
    let targets = Targets::of(&stack);
    let calm = targets.scrape().await;
    let client = stack.client("acme");
    let calls = (0..30).map(|_| client.call("hang", nothing()));
    join_all(calls).await;
    let late = "outcome=\"deadline_exceeded\"";
    let calls = "archway_gateway_tool_calls_total";
    let caused = until(&targets, |it| it.sum(calls, late) > 25.0).await;
    assert_fires(&["ArchwayCallsLate"], &calm, &caused, 20);
    drop(stack);
    drained.await.unwrap();
}

#[tokio::test]
async fn a_quota_that_is_nearly_spent_is_noticed() {
    let acme = acme().limit(Level::Tenant, "month", 100);
    let stack = Harness::new().tenant(acme).start().await;
    let client = stack.client("acme");
    let targets = Targets::of(&stack);
    let calm = targets.scrape().await;
    call(&client, "hello", &nothing(), 85).await;
    let nearly = "archway_gateway_month_quotas_nearly_spent";
    // Gateways read the sums every 20 s.
    let is_noticed = async || {
        call(&client, "hello", &nothing(), 1).await;
        let scrape = targets.scrape().await;
        (scrape.sum(nearly, "") > 0.5).then_some(scrape)
    };
    let caused = stack.eventually(is_noticed).await;
    assert_fires(&["ArchwayQuotaNearlySpent"], &calm, &caused, 20);
}
