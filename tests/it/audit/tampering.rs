//! What an attacker with write access to the database may try, and how verification detects it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use archway::tenants::{AuditCuts, TenantError};
use archway_gateway::audit::verify::Finding;
use e2e::Stack;
use sqlx::{AssertSqlSafe, Executor, PgPool};

use super::{calls, kept, read, stack, verified};

/// Five calls: records 2 to 6, after the record that begins the chain.
async fn five() -> (Stack, PgPool) {
    let stack = stack().await;
    for _ in 0..5 {
        read(&stack.client("acme"), "notes.txt").await;
    }
    calls(&stack, "acme", 5).await;
    let owner = PgPool::connect_with(stack.database().owner()).await;
    (stack, owner.unwrap())
}

async fn findings(stack: &Stack) -> Vec<Finding> {
    verified(stack, "acme", None).await.remove(0).findings
}

#[tokio::test]
async fn any_change_to_a_row_is_detected() {
    for change in [
        "update audit_records set record = replace(record, '\"ok\"', '\"refused\"') where number = 4",
        "update audit_records set at = at + interval '1 microsecond' where number = 4",
        "update audit_records set mac = sha256(mac) where number = 4",
    ] {
        let (stack, owner) = five().await;
        assert_eq!(findings(&stack).await, []);
        owner.execute(AssertSqlSafe(change)).await.unwrap();
        let found = findings(&stack).await;
        assert!(found.contains(&Finding::Changed(4)), "{change}: {found:?}");
    }
}

#[tokio::test]
async fn removed_rows_are_detected_and_a_removed_tail_by_a_known_head() {
    let (stack, owner) = five().await;
    let last = verified(&stack, "acme", None).await.remove(0).last;
    owner
        .execute("delete from audit_records where number = 3")
        .await
        .unwrap();
    assert_eq!(findings(&stack).await, [Finding::Removed(3, 3)]);
    owner
        .execute("delete from audit_records where number > 4")
        .await
        .unwrap();
    assert_eq!(findings(&stack).await, [Finding::Removed(3, 3)]);
    let known = verified(&stack, "acme", last).await.remove(0);
    assert_eq!(
        known.findings,
        [Finding::Removed(3, 3), Finding::Removed(5, 6)]
    );
}

#[tokio::test]
async fn a_row_moved_from_another_tenant_is_detected() {
    let (stack, owner) = five().await;
    let theirs = stack.tenant_id("zeta");
    let moved = format!("update audit_records set tenant_id = '{theirs}'");
    owner.execute(AssertSqlSafe(moved)).await.unwrap();
    let found = verified(&stack, "zeta", None).await.remove(0).findings;
    assert_eq!(found, (1..=6).map(Finding::Changed).collect::<Vec<_>>());
}

/// Removes all months before the current one.
async fn prune(stack: &Stack, owner: &PgPool) -> Result<u32, TenantError> {
    let (next, tenants) = (next_month(owner).await, stack.tenants());
    let verified = tenants
        .read()
        .await?
        .verify_audit_cuts(next, stack.secret())
        .await?;
    prune_verified(stack, next, &verified).await
}

async fn prune_verified(
    stack: &Stack,
    next: SystemTime,
    verified: &AuditCuts,
) -> Result<u32, TenantError> {
    let tenants = stack.tenants();
    tenants
        .change(async |tx| tx.prune_audit(next, verified, stack.secret()).await)
        .await
        .map(|(months, _)| months)
}

async fn next_month(owner: &PgPool) -> SystemTime {
    let next = "select extract(epoch from (date_trunc('month', now() at time zone 'UTC') \
                + interval '1 month') at time zone 'UTC')::bigint";
    let next: i64 = sqlx::query_scalar(next).fetch_one(owner).await.unwrap();
    UNIX_EPOCH + Duration::from_secs(next.unsigned_abs())
}

#[tokio::test]
async fn pruned_records_are_not_missed_but_a_forged_cut_is_detected() {
    let (stack, owner) = five().await;
    let last = verified(&stack, "acme", None).await.remove(0).last;
    assert_eq!(prune(&stack, &owner).await.unwrap(), 1);
    for _ in 0..2 {
        read(&stack.client("acme"), "notes.txt").await;
    }
    calls(&stack, "acme", 2).await;
    let chain = verified(&stack, "acme", last).await.remove(0);
    assert_eq!((chain.findings, chain.records), (Vec::new(), 2));

    // Without the secret nobody can move the anchor.
    let forged = "update audit_anchors set (number, mac) = \
                  (select number, mac from audit_records where number = 7)";
    owner.execute(forged).await.unwrap();
    owner
        .execute("delete from audit_records where number <= 7")
        .await
        .unwrap();
    assert_eq!(findings(&stack).await, [Finding::Removed(1, 7)]);
}

#[tokio::test]
async fn tampered_records_are_not_pruned() {
    let (stack, owner) = five().await;
    owner
        .execute("update audit_records set record = '{}' where number = 3")
        .await
        .unwrap();
    let refused = prune(&stack, &owner).await.unwrap_err();
    assert!(matches!(refused, TenantError::Tampered), "{refused}");
    assert_eq!(kept(&stack, "acme").await[0].len(), 6);
}

#[tokio::test]
async fn pruning_refuses_records_that_changed_after_their_verification() {
    let (stack, owner) = five().await;
    let (next, tenants) = (next_month(&owner).await, stack.tenants());
    let change = tenants.begin().await.unwrap();
    let mut reading = tenants.read().await.unwrap();
    let verified = reading.verify_audit_cuts(next, stack.secret()).await;
    let verified = verified.unwrap();
    drop((change, reading));
    read(&stack.client("acme"), "notes.txt").await;
    calls(&stack, "acme", 6).await;
    owner
        .execute("update audit_records set record = '{}' where number = 3")
        .await
        .unwrap();
    for verified in [&verified, &AuditCuts::default()] {
        let refused = prune_verified(&stack, next, verified).await.unwrap_err();
        assert!(matches!(refused, TenantError::Tampered), "{refused}");
    }
    assert_eq!(kept(&stack, "acme").await[0].len(), 7);
}

#[tokio::test]
async fn rows_refused_by_postgres_block_no_others_and_are_reported() {
    let (stack, owner) = five().await;
    let tenant = stack.tenant_id("acme");
    let refuse = format!(
        "alter table audit_records add constraint refused check (tenant_id <> '{tenant}') not valid"
    );
    owner.execute(AssertSqlSafe(refuse)).await.unwrap();
    read(&stack.client("acme"), "notes.txt").await;
    read(&stack.client("zeta"), "own.txt").await;
    calls(&stack, "zeta", 1).await;
    let given_up = async || {
        let asked = e2e::http::Request::new("GET", "/metrics");
        let metrics = asked.send(stack.admin()).await.text();
        let missing = "archway_gateway_audit_records_missing_total 1\n";
        metrics.contains(missing).then_some(())
    };
    stack.eventually(given_up).await;
    owner
        .execute("alter table audit_records drop constraint refused")
        .await
        .unwrap();
    let told = calls(&stack, "acme", 6).await;
    assert!(
        told.iter().any(|record| record["kind"] == "gap"),
        "{told:?}"
    );
    let chains = verified(&stack, "acme", None).await;
    assert!(chains.iter().all(|chain| chain.findings.is_empty()));
}

#[tokio::test]
async fn a_gateway_can_neither_read_nor_change_nor_remove_what_it_wrote() {
    let (stack, _owner) = five().await;
    let role = stack.database().url("archway_gateway");
    let gateway = PgPool::connect(&role).await.unwrap();
    let mut tx = gateway.begin().await.unwrap();
    let tenant = stack.tenant_id("acme");
    let name = format!("set local archway.tenant_id = '{tenant}'");
    tx.execute(AssertSqlSafe(name)).await.unwrap();
    for statement in [
        "select from audit_records",
        "update audit_records set record = '{}'",
        "delete from audit_records",
        "select from audit_anchors",
        "truncate audit_records",
        "select prune_audit(now())",
    ] {
        tx.execute("savepoint before").await.unwrap();
        let refused = tx.execute(statement).await.unwrap_err().to_string();
        assert!(
            refused.contains("permission denied"),
            "{statement}: {refused}"
        );
        tx.execute("rollback to before").await.unwrap();
    }
}
