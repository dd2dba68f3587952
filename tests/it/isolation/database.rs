//! Isolation in PostgreSQL, should everything above it fail.

use sqlx::{Connection, PgConnection, Postgres, Transaction};
use uuid::Uuid;

use super::projects::two_tenants;

#[tokio::test]
async fn the_runtime_roles_see_no_row_of_any_tenant_but_the_one_they_state() {
    let stack = two_tenants().await;
    let mut owner = PgConnection::connect_with(&stack.database().owner())
        .await
        .unwrap();
    // One file was read in each project: acme has two, zeta has two.
    sqlx::query(
        "insert into file_accesses (tenant_id, project_id, principal, path, day, count, last_at) \
         select tenant_id, id, 'key:1', 'own.txt', current_date, 1, now() from projects",
    )
    .execute(&mut owner)
    .await
    .unwrap();
    for (role, count, own) in [
        ("archway_gateway", "select count(*) from tenants", 1),
        ("archway_gateway", "select count(*) from projects", 2),
        ("archway_gateway", "select count(*) from api_keys", 1),
        ("archway_worker", "select count(*) from projects", 2),
        ("archway_worker", "select count(*) from file_accesses", 2),
    ] {
        let mut connection = PgConnection::connect(&stack.database().url(role))
            .await
            .unwrap();
        let rows = counted(&mut connection, count).await;
        assert_eq!(rows, 0, "{role} without a tenant: {count}");
        let mut transaction = of_tenant(&mut connection, stack.tenant_id("zeta")).await;
        let rows = counted(&mut transaction, count).await;
        assert_eq!(rows, own, "{role} of a tenant: {count}");
    }
}

async fn counted(connection: &mut PgConnection, count: &'static str) -> i64 {
    let rows = sqlx::query_scalar(count).fetch_one(connection).await;
    rows.unwrap()
}

#[tokio::test]
async fn a_worker_cannot_add_or_change_file_accesses_of_another_tenant() {
    let stack = two_tenants().await;
    let (acme, zeta) = (stack.tenant_id("acme"), stack.tenant_id("zeta"));
    let mut owner = PgConnection::connect_with(&stack.database().owner())
        .await
        .unwrap();
    let shop = project(&mut owner, zeta, "shop").await;
    let vault = project(&mut owner, acme, "vault").await;
    let mut worker = PgConnection::connect(&stack.database().url("archway_worker"))
        .await
        .unwrap();
    add_access(&mut owner, acme, vault).await.unwrap();

    // As a worker, for zeta: its own row, then rows that name another tenant or its project.
    let mut transaction = of_tenant(&mut worker, zeta).await;
    add_access(&mut transaction, zeta, shop).await.unwrap();
    transaction.commit().await.unwrap();
    for (tenant, project, code) in [
        (acme, vault, "42501"),
        (acme, shop, "42501"),
        (zeta, vault, "23503"),
    ] {
        let mut transaction = of_tenant(&mut worker, zeta).await;
        let refused = add_access(&mut transaction, tenant, project).await;
        assert_eq!(code_of(&refused.unwrap_err()), code);
    }
    let mut transaction = of_tenant(&mut worker, zeta).await;
    let changed = sqlx::query("update file_accesses set count = 7")
        .execute(&mut *transaction)
        .await
        .unwrap();
    assert_eq!(changed.rows_affected(), 1, "its own row and no other");
    let refused = sqlx::query("update file_accesses set tenant_id = $1")
        .bind(acme)
        .execute(&mut *transaction)
        .await;
    assert_eq!(code_of(&refused.unwrap_err()), "42501");
}

async fn project(owner: &mut PgConnection, tenant: Uuid, slug: &str) -> Uuid {
    sqlx::query_scalar("select id from projects where tenant_id = $1 and slug = $2")
        .bind(tenant)
        .bind(slug)
        .fetch_one(owner)
        .await
        .unwrap()
}

async fn add_access(
    connection: &mut PgConnection,
    tenant: Uuid,
    project: Uuid,
) -> Result<(), sqlx::Error> {
    let added = sqlx::query(
        "insert into file_accesses (tenant_id, project_id, principal, path, day, count, last_at) \
         values ($1, $2, 'key:1', 'own.txt', current_date, 1, now())",
    );
    added
        .bind(tenant)
        .bind(project)
        .execute(connection)
        .await
        .map(|_done| ())
}

/// A transaction that states a tenant; rolled back when dropped.
async fn of_tenant(connection: &mut PgConnection, tenant: Uuid) -> Transaction<'_, Postgres> {
    let mut transaction = connection.begin().await.unwrap();
    sqlx::query("select set_config('archway.tenant_id', $1, true)")
        .bind(tenant.to_string())
        .execute(&mut *transaction)
        .await
        .unwrap();
    transaction
}

fn code_of(error: &sqlx::Error) -> String {
    let code = error.as_database_error().and_then(|error| error.code());
    code.unwrap_or_else(|| panic!("not Postgres' word: {error}"))
        .into_owned()
}

#[tokio::test]
async fn a_role_can_neither_read_nor_write_unrelated_tables() {
    let stack = two_tenants().await;
    for (role, statement) in [
        ("archway_worker", "select 1 from api_keys"),
        ("archway_worker", "select 1 from tenants"),
        ("archway_worker", "select 1 from find_api_key('x')"),
        ("archway_worker", "select 1 from limits"),
        ("archway_gateway", "select 1 from limits"),
        ("archway_worker", "select 1 from catalogs"),
        ("archway_worker", "select 1 from principals"),
        ("archway_gateway", "select 1 from principals"),
        (
            "archway_worker",
            "select 1 from find_principal('acme', 'x')",
        ),
        ("archway_worker", "select forget_old_revocations()"),
        ("archway_worker", "update projects set name = 'x'"),
        ("archway_gateway", "update projects set name = 'x'"),
        ("archway_gateway", "update api_keys set revoked_at = null"),
        ("archway_gateway", "delete from tenants"),
        ("archway_gateway", "update tenants set pool = 'x'"),
        ("archway_gateway", "update limits set per_minute = 0"),
        ("archway_gateway", "delete from limits"),
        ("archway_gateway", "delete from catalogs"),
        ("archway_gateway", "select 1 from file_accesses"),
        ("archway_worker", "delete from file_accesses"),
    ] {
        let mut connection = PgConnection::connect(&stack.database().url(role))
            .await
            .unwrap();
        let refused = sqlx::query(statement)
            .execute(&mut connection)
            .await
            .unwrap_err();
        assert_eq!(code_of(&refused), "42501", "{role}: {statement}: {refused}");
    }
}
