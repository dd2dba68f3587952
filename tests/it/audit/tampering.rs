//! What somebody who may write to the database tries, and how it is found.

use archway_gateway::audit::verify::{Finding, Place};
use e2e::Stack;
use sqlx::{AssertSqlSafe, Executor, PgPool};

use super::{calls, kept, read, stack, verified};

/// Five calls: records 2 to 6, behind the one that begins the chain.
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
async fn one_row_that_was_tampered_with_is_found_whatever_was_changed() {
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
async fn rows_that_were_removed_are_found_and_those_at_the_end_by_who_kept_where_it_was() {
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
async fn a_row_of_another_tenant_is_none_of_this_ones() {
    let (stack, owner) = five().await;
    let theirs = stack.tenant_id("zeta");
    let moved = format!("update audit_records set tenant_id = '{theirs}'");
    owner.execute(AssertSqlSafe(moved)).await.unwrap();
    let found = verified(&stack, "zeta", None).await.remove(0).findings;
    assert_eq!(found, (1..=6).map(Finding::Changed).collect::<Vec<_>>());
}

#[tokio::test]
async fn what_was_pruned_is_not_missed_and_what_was_only_said_to_be_is() {
    let (stack, owner) = five().await;
    let all = kept(&stack, "acme").await.remove(0);
    // As if the first three had been written two months ago: in another month's partition.
    owner
        .execute(
            "create table audit_records_2020_01 partition of audit_records \
             for values from ('2020-01-01Z') to ('2020-02-01Z')",
        )
        .await
        .unwrap();
    let cut = Place {
        number: all[2].number,
        mac: all[2].mac,
    };
    owner
        .execute("update audit_records set at = '2020-01-15Z' where number <= 3")
        .await
        .unwrap();
    let february = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_580_515_200);
    let tenants = stack.tenants();
    let pruned = tenants.change(async |tx| tx.prune_audit(february, stack.secret()).await);
    assert_eq!(pruned.await.unwrap(), 1);
    assert_eq!(findings(&stack).await, []);
    let known = verified(&stack, "acme", Some(cut)).await.remove(0);
    assert_eq!(known.findings, []);

    // Whoever has no secret can't move the cut on.
    let forged = "update audit_anchors set (number, mac) = \
                  (select number, mac from audit_records where number = 5)";
    owner.execute(forged).await.unwrap();
    owner
        .execute("delete from audit_records where number <= 5")
        .await
        .unwrap();
    assert_eq!(findings(&stack).await, [Finding::Removed(1, 5)]);
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
