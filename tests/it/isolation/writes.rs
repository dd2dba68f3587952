//! Writes to another tenant's rows by the runtime roles, tried on every table that PostgreSQL lets them
//! write.

use std::collections::BTreeSet;

use e2e::Stack;
use serde_json::Value;
use sqlx::{AssertSqlSafe, Connection, PgConnection, Postgres, Transaction};
use uuid::Uuid;

use super::schema::{ROLES, full, owner, texts};

/// PostgreSQL's code for a refusal by a policy or for lack of a grant.
const REFUSED: &str = "42501";

/// The tenant tables on which a role has this privilege, at least for some columns.
async fn writable(owner: &mut PgConnection, role: &str, what: &str) -> BTreeSet<String> {
    let columns = match what {
        "delete" => String::new(),
        _ => format!("or has_any_column_privilege('{role}', oid, '{what}')"),
    };
    let tables = format!(
        "select relname::text from pg_class where relkind in ('r', 'p') and relrowsecurity \
         and relnamespace = 'public'::regnamespace \
         and (has_table_privilege('{role}', oid, '{what}') {columns})"
    );
    texts(owner, &tables).await
}

/// The columns that a role may insert and that PostgreSQL does not generate.
async fn columns(owner: &mut PgConnection, role: &str, table: &str) -> String {
    let columns = format!(
        "select string_agg(quote_ident(attname), ', ') from pg_attribute \
         where attrelid = '{table}'::regclass and attnum > 0 and not attisdropped \
         and attgenerated = '' and attidentity <> 'a' and has_column_privilege('{role}', attrelid, attnum, 'insert')"
    );
    texts(owner, &columns).await.pop_first().unwrap()
}

/// A row of this tenant, as JSON.
async fn row(owner: &mut PgConnection, table: &str, tenant: Uuid) -> Value {
    let row = format!("select to_jsonb(t) from {table} t where tenant_id = '{tenant}' limit 1");
    let row = sqlx::query_scalar(AssertSqlSafe(row)).fetch_one(owner);
    row.await.unwrap_or_else(|error| panic!("{table}: {error}"))
}

/// A transaction of a role that states a tenant, or none; rolled back when dropped.
async fn stated(connection: &mut PgConnection, tenant: Option<Uuid>) -> Transaction<'_, Postgres> {
    let mut transaction = connection.begin().await.unwrap();
    sqlx::query("select set_config('archway.tenant_id', $1, true)")
        .bind(tenant.map(|id| id.to_string()).unwrap_or_default())
        .execute(&mut *transaction)
        .await
        .unwrap();
    transaction
}

/// The outcome of a statement: its row count, or the code of its refusal.
async fn outcome(
    transaction: &mut PgConnection,
    statement: &str,
    row: Option<&Value>,
) -> Result<u64, String> {
    let query = sqlx::query(AssertSqlSafe(statement.to_owned()));
    let query = match row {
        Some(row) => query.bind(row),
        None => query,
    };
    let done = query.execute(transaction).await;
    done.map(|done| done.rows_affected()).map_err(|error| {
        let code = error.as_database_error().and_then(|error| error.code());
        code.unwrap_or_else(|| panic!("{statement}: {error}"))
            .into_owned()
    })
}

async fn connect(stack: &Stack, role: &str) -> PgConnection {
    PgConnection::connect(&stack.database().url(role))
        .await
        .unwrap()
}

#[tokio::test]
async fn no_role_adds_a_row_of_a_tenant_that_it_does_not_state_to_any_table() {
    let stack = full().await;
    let (acme, zeta) = (stack.tenant_id("acme"), stack.tenant_id("zeta"));
    let mut owner = owner(&stack).await;
    let mut tried = 0;
    for role in ROLES {
        let mut connection = connect(&stack, role).await;
        for table in writable(&mut owner, role, "insert").await {
            let columns = columns(&mut owner, role, &table).await;
            let insert = format!(
                "insert into {table} ({columns}) \
                 select {columns} from jsonb_populate_record(null::{table}, $1)"
            );
            let (theirs, own) = (
                row(&mut owner, &table, acme).await,
                row(&mut owner, &table, zeta).await,
            );
            let mut add = async |tenant, row| {
                let mut transaction = stated(&mut connection, tenant).await;
                outcome(&mut transaction, &insert, Some(row)).await
            };
            for tenant in [Some(zeta), None] {
                let refused = add(tenant, &theirs).await;
                assert_eq!(
                    refused,
                    Err(REFUSED.to_owned()),
                    "{role}, {table}: {tenant:?}"
                );
            }
            // Otherwise something other than the policy refused it: the row already exists.
            let added = add(Some(zeta), &own).await;
            assert_ne!(added, Err(REFUSED.to_owned()), "{role}, {table}: its own");
            tried += 1;
        }
    }
    assert!(tried >= 9, "{tried} tables");
}

#[tokio::test]
async fn no_role_changes_deletes_or_takes_a_row_of_an_unstated_tenant() {
    let stack = full().await;
    let (acme, zeta) = (stack.tenant_id("acme"), stack.tenant_id("zeta"));
    let mut owner = owner(&stack).await;
    let mut tried = 0;
    for role in ROLES {
        let mut connection = connect(&stack, role).await;
        for what in ["update", "delete"] {
            for table in writable(&mut owner, role, what).await {
                let change = match what {
                    "update" => format!("update {table} set tenant_id = tenant_id"),
                    _ => format!("delete from {table}"),
                };
                for (tenant, whose, some) in [
                    (Some(zeta), format!("tenant_id = '{acme}'"), false),
                    (None, "true".to_owned(), false),
                    (Some(zeta), format!("tenant_id = '{zeta}'"), true),
                ] {
                    let mut transaction = stated(&mut connection, tenant).await;
                    let change = format!("{change} where {whose}");
                    let rows = outcome(&mut transaction, &change, None).await.unwrap();
                    assert_eq!(rows > 0, some, "{role}, {tenant:?}: {change}");
                }
                tried += 1;
            }
        }
        for table in writable(&mut owner, role, "update").await {
            let give = format!("update {table} set tenant_id = '{acme}'");
            let mut transaction = stated(&mut connection, Some(zeta)).await;
            let refused = outcome(&mut transaction, &give, None).await;
            assert_eq!(refused, Err(REFUSED.to_owned()), "{role}: {give}");
        }
    }
    assert!(tried >= 14, "{tried} tables");
}
