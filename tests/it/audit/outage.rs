//! The audit trail while Postgres is down: calls continue, and their records are written afterwards.

use serde_json::json;
use sqlx::{Executor, PgPool};

use super::{calls, read, stack, verified};

#[tokio::test]
async fn records_of_an_outage_are_written_afterwards() {
    let stack = stack().await;
    let client = stack.client("acme");
    read(&client, "notes.txt").await;
    calls(&stack, "acme", 1).await;
    let owner = PgPool::connect_with(stack.database().owner())
        .await
        .unwrap();
    owner
        .execute("revoke insert on audit_records from archway_gateway")
        .await
        .unwrap();
    for _ in 0..10 {
        let reply = client
            .call("read_file", json!({ "path": "notes.txt" }))
            .await;
        assert!(!reply.is_error());
    }
    stack
        .eventually(async || {
            let asked = e2e::http::Request::new("GET", "/metrics");
            let metrics = asked.send(stack.admin()).await.text();
            let failed = "archway_gateway_audit_write_failures_total 0\n";
            (!metrics.contains(failed)).then_some(())
        })
        .await;
    owner
        .execute("grant insert on audit_records to archway_gateway")
        .await
        .unwrap();
    assert_eq!(calls(&stack, "acme", 11).await.len(), 11);
    let chains = verified(&stack, "acme", None).await;
    assert_eq!(chains.len(), 1);
    assert_eq!((chains[0].findings.len(), chains[0].missing), (0, 0));
}
