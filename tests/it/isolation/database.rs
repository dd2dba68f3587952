//! The same fence in PostgreSQL, should everything above it fail.

use sqlx::{Connection, PgConnection};

use super::two_tenants;

#[tokio::test]
async fn the_runtime_roles_see_no_row_of_any_tenant_but_the_one_they_state() {
    let stack = two_tenants().await;
    for (role, tables) in [
        (
            "archway_gateway",
            &["tenants", "projects", "api_keys"] as &[&'static str],
        ),
        ("archway_worker", &["projects"]),
    ] {
        let mut connection = PgConnection::connect(&stack.database().url(role))
            .await
            .unwrap();
        for table in tables {
            let count = match *table {
                "tenants" => "select count(*) from tenants",
                "projects" => "select count(*) from projects",
                _ => "select count(*) from api_keys",
            };
            let mut transaction = connection.begin().await.unwrap();
            let rows: i64 = sqlx::query_scalar(count)
                .fetch_one(&mut *transaction)
                .await
                .unwrap();
            assert_eq!(rows, 0, "{role} sees {table} without a tenant");
            sqlx::query("select set_config('archway.tenant_id', $1, true)")
                .bind(stack.tenant_id("zeta").to_string())
                .execute(&mut *transaction)
                .await
                .unwrap();
            let rows: i64 = sqlx::query_scalar(count)
                .fetch_one(&mut *transaction)
                .await
                .unwrap();
            assert_eq!(
                rows,
                if *table == "projects" { 2 } else { 1 },
                "{role} {table}"
            );
        }
    }
}

#[tokio::test]
async fn a_worker_can_read_neither_keys_nor_tenants_and_nobody_can_write_them() {
    let stack = two_tenants().await;
    for (role, statement) in [
        ("archway_worker", "select 1 from api_keys"),
        ("archway_worker", "select 1 from tenants"),
        ("archway_worker", "select 1 from find_api_key('x')"),
        ("archway_worker", "update projects set name = 'x'"),
        ("archway_gateway", "update projects set name = 'x'"),
        ("archway_gateway", "update api_keys set revoked_at = null"),
        ("archway_gateway", "delete from tenants"),
        ("archway_gateway", "select 1 from file_accesses"),
    ] {
        let mut connection = PgConnection::connect(&stack.database().url(role))
            .await
            .unwrap();
        let refused = sqlx::query(statement)
            .execute(&mut connection)
            .await
            .unwrap_err();
        let code = refused
            .as_database_error()
            .and_then(|error| error.code().map(String::from));
        assert_eq!(
            code.as_deref(),
            Some("42501"),
            "{role}: {statement}: {refused}"
        );
    }
}
