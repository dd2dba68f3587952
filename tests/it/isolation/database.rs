//! Isolation in PostgreSQL, should everything above it fail.

use serde_json::json;
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

/// What only `archway sync` may do.
const RECORD_FOUND: &str = "select record_found(gen_random_uuid(), 0, '[]')";

/// What only a gateway's page may read.
const CONSOLE_CALLS: &str =
    "select 1 from console_calls(null, null, null, null, null, 0, 0, gen_random_uuid(), 0, 1)";

/// A role, and what it may not do.
const REFUSED: [(&str, &str); 58] = [
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
    ("archway_sync", "select 1 from tenants"),
    ("archway_sync", "select 1 from projects"),
    ("archway_sync", "select 1 from sources"),
    ("archway_sync", "select 1 from mirrors"),
    ("archway_sync", "select 1 from connections"),
    ("archway_sync", "select 1 from api_keys"),
    ("archway_sync", "select 1 from audit_records"),
    ("archway_gateway", "select 1 from administration_records"),
    ("archway_gateway", "delete from administration_records"),
    ("archway_worker", "select append_administration('{}')"),
    ("archway_gateway", "select prune_administration(1)"),
    ("archway_sync", "update administration_cuts set number = 1"),
    ("archway_gateway", "select 1 from usage_hours"),
    ("archway_gateway", "update usage_hours set calls = 0"),
    ("archway_gateway", "insert into usage_hours default values"),
    ("archway_worker", "select 1 from usage_hours"),
    ("archway_gateway", "update usage_months set units = 0"),
    ("archway_gateway", "select 1 from call_hours"),
    ("archway_gateway", "update call_hours set calls = 0"),
    ("archway_gateway", "select 1 from gateways"),
    ("archway_gateway", "select 1 from audit_records"),
    ("archway_worker", "select 1 from console_hours(1)"),
    (
        "archway_worker",
        "select 1 from console_tenants(null, '', '', 1)",
    ),
    (
        "archway_worker",
        "select 1 from console_keys('acme', null, '', '', 1)",
    ),
    ("archway_worker", CONSOLE_CALLS),
    ("archway_sync", CONSOLE_CALLS),
    (
        "archway_sync",
        "select 1 from console_projects('acme', null, '', '', 1)",
    ),
    ("archway_worker", "select 1 from month_sums(1)"),
    ("archway_worker", "select 1 from usage_overview(1)"),
    ("archway_sync", "select 1 from usage_overview(1)"),
    ("archway_sync", "select 1 from find_api_key('x')"),
    ("archway_sync", "insert into projects (slug) values ('x')"),
    ("archway_sync", "update mirrors set state = 'ok'"),
    ("archway_worker", "update mirrors set state = 'ok'"),
    ("archway_gateway", "select lease_listing(60, null)"),
    ("archway_worker", "select lease_listing(60, null)"),
    ("archway_gateway", RECORD_FOUND),
    ("archway_worker", RECORD_FOUND),
];

#[tokio::test]
async fn a_role_can_neither_read_nor_write_unrelated_tables() {
    let stack = two_tenants().await;
    for (role, statement) in REFUSED {
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

#[tokio::test]
async fn what_sync_finds_becomes_projects_of_the_connections_tenant() {
    let stack = two_tenants().await;
    let (acme, zeta) = (stack.tenant_id("acme"), stack.tenant_id("zeta"));
    let mut owner = PgConnection::connect_with(&stack.database().owner())
        .await
        .unwrap();
    let connection = "insert into connections (tenant_id, name, settings) \
                      values ($1, 'org', '{}') returning id";
    let connection = sqlx::query_scalar(connection).bind(acme);
    let connection: Uuid = connection.fetch_one(&mut owner).await.unwrap();
    let mut sync = PgConnection::connect(&stack.database().url("archway_sync"))
        .await
        .unwrap();
    // `shop` is zeta's, and `vault` is a project of acme that its operator made.
    let found = |slug: &str| {
        json!({
            "host_id": slug, "slug": slug, "tenant_id": zeta.to_string(), "url": "https://host/a", "host": "host",
            "host_path": "a", "is_private": true, "topics": [],
        })
    };
    for (lease, slugs) in [(0_i64, ["shop", "vault"]), (7, ["late", "later"])] {
        let record = sqlx::query("select record_found($1, $2, $3::text::jsonb)");
        let record = record.bind(connection).bind(lease);
        let record = record.bind(json!(slugs.map(found)).to_string());
        record.execute(&mut sync).await.unwrap();
    }
    let found = "select t.slug || '/' || p.slug from sources s \
                 join projects p on p.id = s.project_id join tenants t on t.id = p.tenant_id";
    let found = sqlx::query_scalar(found).fetch_all(&mut owner).await;
    let found: Vec<String> = found.unwrap();
    assert_eq!(found, ["acme/shop"], "no lease has the number 7");
}
