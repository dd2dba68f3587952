//! The index's tables in PostgreSQL: row-level security hides other tenants' rows even if everything
//! above fails.

use e2e::{Harness, Stack, Tenant};
use serde_json::json;
use sqlx::{Connection as _, PgConnection};

use super::{owner, repo, search};

const TABLES: [&str; 4] = ["indexes", "index_documents", "index_texts", "index_pieces"];

/// Two tenants, one of them with a second project. All projects are indexed.
async fn two_tenants() -> Stack {
    let acme = Tenant::new("acme")
        .project("site", repo())
        .project("shop", repo());
    let zeta = Tenant::new("zeta").project("site", repo());
    let harness = Harness::new().tenant(acme).tenant(zeta).indexing();
    let stack = harness.start().await;
    for (tenant, project) in [("acme", "site"), ("acme", "shop"), ("zeta", "site")] {
        let query = json!({ "query": "weather report", "project": project });
        search(&stack, &stack.client(tenant), query)
            .await
            .structured();
    }
    stack
}

/// In each table: the rows that a connection sees, of all tenants and of this one.
async fn seen(connection: &mut PgConnection, tenant: uuid::Uuid) -> [(i64, i64); 4] {
    let mut counts = [(0, 0); 4];
    for (table, counts) in TABLES.iter().zip(&mut counts) {
        let count = format!("select count(*), count(*) filter (where tenant_id = $1) from {table}");
        *counts = sqlx::query_as(sqlx::AssertSqlSafe(count))
            .bind(tenant)
            .fetch_one(&mut *connection)
            .await
            .unwrap();
    }
    counts
}

#[tokio::test]
async fn a_worker_sees_index_rows_of_the_stated_tenant_only() {
    let stack = two_tenants().await;
    let zeta = stack.tenant_id("zeta");
    let owner = owner(&stack).await;
    let mut connection = owner.acquire().await.unwrap();
    let all = seen(&mut connection, zeta).await;
    drop(connection);
    owner.close().await;
    for (table, (all, own)) in TABLES.iter().zip(all) {
        assert!(own > 0 && own < all, "{table}: {own} of {all}");
    }
    let mut worker = PgConnection::connect(&stack.database().url("archway_worker"))
        .await
        .unwrap();
    assert_eq!(seen(&mut worker, zeta).await, [(0, 0); 4]);
    let mut transaction = worker.begin().await.unwrap();
    state(&mut transaction, zeta).await;
    let own = all.map(|(_, own)| (own, own));
    assert_eq!(seen(&mut transaction, zeta).await, own);
}

#[tokio::test]
async fn a_worker_cannot_change_or_add_index_rows_of_another_tenant() {
    let stack = two_tenants().await;
    let (acme, zeta) = (stack.tenant_id("acme"), stack.tenant_id("zeta"));
    let mut worker = PgConnection::connect(&stack.database().url("archway_worker"))
        .await
        .unwrap();
    for table in TABLES {
        let mut transaction = worker.begin().await.unwrap();
        state(&mut transaction, zeta).await;
        let moved = format!("update {table} set tenant_id = $1");
        let moved = sqlx::query(sqlx::AssertSqlSafe(moved)).bind(acme);
        let refused = moved.execute(&mut *transaction).await.unwrap_err();
        let code = refused.as_database_error().unwrap().code();
        assert_eq!(code.as_deref(), Some("42501"), "{table}: {refused}");
        drop(transaction);
        let mut transaction = worker.begin().await.unwrap();
        state(&mut transaction, zeta).await;
        let deleted = format!("delete from {table} where tenant_id = $1");
        let deleted = sqlx::query(sqlx::AssertSqlSafe(deleted)).bind(acme);
        let deleted = deleted.execute(&mut *transaction).await.unwrap();
        assert_eq!(deleted.rows_affected(), 0, "{table}");
    }
    let mut gateway = PgConnection::connect(&stack.database().url("archway_gateway"))
        .await
        .unwrap();
    for table in TABLES {
        let read = format!("select 1 from {table}");
        let read = sqlx::query(sqlx::AssertSqlSafe(read));
        let refused = read.execute(&mut gateway).await.unwrap_err();
        let code = refused.as_database_error().unwrap().code();
        assert_eq!(code.as_deref(), Some("42501"), "{table}: {refused}");
    }
}

async fn state(connection: &mut PgConnection, tenant: uuid::Uuid) {
    sqlx::query("select set_config('archway.tenant_id', $1, true)")
        .bind(tenant.to_string())
        .execute(connection)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_tenant_finds_nothing_of_another_with_equal_content() {
    let stack = two_tenants().await;
    let (acme, zeta) = (stack.client("acme"), stack.client("zeta"));
    let discovery = json!({ "type": "rule", "content": "thermometers lie", "project": "site" });
    let id = acme.call("record_discovery", discovery).await;
    let id = id.structured()["id"].clone();
    let query = json!({ "query": "thermometers lie", "project": "site" });
    super::until(&stack, &acme, query.clone(), |found| found["id"] == id).await;
    let shop = json!({ "query": "thermometers lie", "project": "shop" });
    for (client, query) in [(&zeta, query), (&acme, shop)] {
        let reply = client.call("context_search", query).await;
        assert!(
            !reply.text().contains("thermometers lie\n"),
            "{}",
            reply.text()
        );
        assert!(
            super::results(&reply)
                .iter()
                .all(|found| found["source"] == "code")
        );
    }
}
