//! Metrics name tenants only on request, and then no more of them than asked for.

use e2e::{Harness, Repo, Stack, Tenant, http::Request};

use super::{calls, read};

fn harness() -> Harness {
    let repo = || Repo::new().file("notes.txt", "sesame\n").commit();
    let tenant = |slug| Tenant::new(slug).project("site", repo());
    Harness::new().tenant(tenant("acme")).tenant(tenant("zeta"))
}

async fn metrics(stack: &Stack) -> String {
    let metrics = Request::new("GET", "/metrics").send(stack.admin()).await;
    metrics.text()
}

/// The lines of served calls by tenant.
fn served(metrics: &str) -> Vec<&str> {
    let lines = metrics.lines();
    let lines = lines.filter_map(|line| line.strip_prefix("archway_gateway_tenant_calls_total"));
    lines.filter(|line| line.contains("\"served\"")).collect()
}

#[tokio::test]
async fn metrics_name_no_tenant_unless_the_operator_asks() {
    let stack = harness().start().await;
    for tenant in ["acme", "zeta"] {
        read(&stack.client(tenant), "notes.txt").await;
        read(&stack.client(tenant), "absent").await;
    }
    let metrics = metrics(&stack).await;
    assert!(metrics.contains("archway_gateway_tool_calls_total{tool=\"read_file\""));
    let ids = ["acme", "zeta"].map(|slug| stack.tenant_id(slug).to_string());
    for name in ids
        .iter()
        .map(String::as_str)
        .chain(["acme", "zeta", "tenant="])
    {
        assert!(!metrics.contains(name), "{name}: {metrics}");
    }
}

#[tokio::test]
async fn the_tenants_with_the_most_calls_are_named_and_others_are_summed() {
    let harness = harness().configure(|config| config.tenant_metrics = 1);
    let mut stack = harness.start().await;
    for _ in 0..3 {
        read(&stack.client("acme"), "notes.txt").await;
    }
    read(&stack.client("zeta"), "notes.txt").await;
    assert_eq!(
        served(&metrics(&stack).await),
        ["{tenant=\"(other)\",class=\"served\"} 4"]
    );
    calls(&stack, "acme", 3).await;
    calls(&stack, "zeta", 1).await;
    // It chooses when it starts, by what all gateways counted.
    stack.restart(0).await;
    let named = async || {
        let metrics = metrics(&stack).await;
        metrics.contains("tenant=\"acme\"").then_some(())
    };
    stack.eventually(named).await;
    read(&stack.client("acme"), "notes.txt").await;
    read(&stack.client("zeta"), "notes.txt").await;
    read(&stack.client("zeta"), "notes.txt").await;
    let metrics = metrics(&stack).await;
    let mut lines = served(&metrics);
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "{tenant=\"(other)\",class=\"served\"} 2",
            "{tenant=\"acme\",class=\"served\"} 1"
        ]
    );
    let bytes = "archway_gateway_tenant_answers_bytes_total{tenant=\"acme\"}";
    let units = "archway_gateway_tenant_units_total{tenant=\"acme\"} 1\n";
    assert!(
        metrics.contains(bytes) && metrics.contains(units),
        "{metrics}"
    );
    assert!(!metrics.contains("zeta"), "{metrics}");
}
