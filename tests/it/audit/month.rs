//! Limits by the month, which are held against what was counted: named when nearly spent, refused once spent.

use archway::tenants::LimitOwner;
use archway_gateway::terms::{Level, MONTH};
use e2e::{Harness, Repo, Stack, Tenant, http::Response};
use serde_json::json;

/// Units of a search.
const SEARCH: usize = 5;

async fn limited(units: u32) -> Stack {
    harness(units).start().await
}

fn harness(units: u32) -> Harness {
    let repo = || Repo::new().file("notes.txt", "sesame\n").commit();
    let acme = Tenant::new("acme").project("site", repo());
    let acme = acme.limit(Level::Tenant, MONTH, units);
    let zeta = Tenant::new("zeta").project("site", repo());
    Harness::new().tenant(acme).tenant(zeta)
}

/// Spends so many units of acme's, and starts a gateway that has read the sum.
async fn spend(stack: &mut Stack, units: usize) {
    let acme = stack.client("acme");
    for _ in 0..units / SEARCH {
        let search = json!({ "pattern": "sesame" });
        acme.call("grep_codebase", search).await.structured();
    }
    // The old one writes its records first.
    stack.restart(0).await;
}

/// The quota that an answer's headers name: what is left of it.
fn left(answer: &Response) -> Option<String> {
    let mut values = answer.headers.iter();
    let value = values.find(|(name, value)| name == "ratelimit" && value.starts_with("\"month\""));
    let mut parts = value?.1.split(';');
    parts.nth(1).map(str::to_owned)
}

#[tokio::test]
async fn answers_name_a_quota_of_which_four_fifths_are_spent() {
    let mut stack = limited(100).await;
    let call = async |stack: &Stack, tenant: &str| {
        let hello = json!({ "name": "hello", "arguments": {} });
        left(&stack.client(tenant).rpc("tools/call", hello).await)
    };
    spend(&mut stack, 75).await;
    assert_eq!(call(&stack, "acme").await, None);
    spend(&mut stack, 10).await;
    let told = stack.eventually(async || call(&stack, "acme").await).await;
    assert_eq!(told, "r=14", "85 of searches, and the call above");
    assert_eq!(call(&stack, "zeta").await, None);
}

#[tokio::test]
async fn a_spent_month_refuses_calls_and_reads_until_it_is_raised() {
    let mut stack = limited(20).await;
    spend(&mut stack, 20).await;
    let acme = stack.client("acme");
    let refused = stack
        .eventually(async || {
            let reply = acme.call("hello", json!({})).await;
            reply.is_error().then_some(reply)
        })
        .await;
    assert_eq!(refused.code(), "rate_limited");
    let error = refused.error();
    assert_eq!(
        (&error["details"]["of"], &error["details"]["limit"]),
        (&json!("month"), &json!(20))
    );
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("the next begins on 20") && message.ends_with("-01 (UTC)"),
        "{message}"
    );
    let read = json!({ "uri": "repo://site/notes.txt" });
    let read = acme.rpc("resources/read", read).await;
    assert_eq!(read.status, 429);
    assert!(read.header("retry-after").unwrap().parse::<u64>().unwrap() > 0);
    assert_eq!(acme.rpc("tools/list", json!({})).await.status, 200);
    stack
        .client("zeta")
        .call("hello", json!({}))
        .await
        .structured();

    let owner = LimitOwner {
        tenant: stack.tenant_id("acme"),
        lineage: None,
    };
    let raise = stack.tenants().change(async |tx| {
        tx.set_limit(owner, Level::Tenant, MONTH, 1_000_000_000)
            .await
    });
    assert!(raise.await.unwrap());
    stack
        .eventually(async || {
            let reply = acme.call("hello", json!({})).await;
            (!reply.is_error()).then_some(())
        })
        .await;
}

#[tokio::test]
async fn gateways_share_a_month_that_each_of_them_alone_has_not_spent() {
    let harness = harness(40).replicas(2);
    let harness = harness
        .configure(|config| config.limits.month_interval = std::time::Duration::from_millis(50));
    let stack = harness.start().await;
    let gateways = [0, 1].map(|gateway| stack.at(gateway, "acme", ""));
    for acme in &gateways {
        for _ in 0..20 / SEARCH {
            let search = json!({ "pattern": "sesame" });
            acme.call("grep_codebase", search).await.structured();
        }
    }
    for acme in &gateways {
        let refused = async || {
            let reply = acme.call("hello", json!({})).await;
            reply.is_error().then_some(reply)
        };
        let refused = stack.eventually(refused).await;
        assert_eq!(refused.error()["details"]["limit"], 40);
    }
}
