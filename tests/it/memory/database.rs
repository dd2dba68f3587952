//! The database itself protects memory: append-only for every role, each tenant's rows for itself.

use e2e::{Harness, Repo, Stack, Tenant};
use serde_json::json;
use sqlx::{Connection, PgConnection};

use super::{append, entry};

const TABLES: [&str; 3] = ["memory_entries", "discoveries", "memory_logs"];

/// Tenants `acme` and `zeta`, each with an entry and a discovery.
async fn two_that_remember() -> Stack {
    let repo = || Repo::new().file("a.txt", "a");
    let tenant = |slug| Tenant::new(slug).project("site", repo());
    let stack = Harness::new()
        .tenant(tenant("acme"))
        .tenant(tenant("zeta"))
        .start()
        .await;
    for slug in ["acme", "zeta"] {
        let client = stack.client(slug);
        append(&client, entry("x")).await.structured();
        let discovery = json!({ "type": "rule", "content": "x" });
        client
            .call("record_discovery", discovery)
            .await
            .structured();
    }
    stack
}

async fn run(connection: &mut PgConnection, statement: &'static str) -> Result<u64, String> {
    let done = sqlx::query(statement).execute(connection).await;
    done.map(|done| done.rows_affected()).map_err(|error| {
        let code = error.as_database_error().and_then(|error| error.code());
        code.expect("Postgres' own refusal").into_owned()
    })
}

async fn as_worker(stack: &Stack, tenant: &str) -> PgConnection {
    let url = stack.database().url("archway_worker");
    let mut worker = PgConnection::connect(&url).await.unwrap();
    sqlx::query("select set_config('archway.tenant_id', $1, false)")
        .bind(stack.tenant_id(tenant).to_string())
        .execute(&mut worker)
        .await
        .unwrap();
    worker
}

#[tokio::test]
async fn a_query_without_a_tenant_sees_nothing_and_with_one_its_own_alone() {
    let stack = two_that_remember().await;
    for role in ["archway_worker", "archway_gateway"] {
        let mut connection = PgConnection::connect(&stack.database().url(role))
            .await
            .unwrap();
        for table in TABLES {
            let count = format!("select count(*) from {table}");
            let counted: Result<i64, _> = sqlx::query_scalar(sqlx::AssertSqlSafe(count))
                .fetch_one(&mut connection)
                .await;
            match role {
                "archway_worker" => assert_eq!(counted.unwrap(), 0, "{table}"),
                _ => assert!(counted.is_err(), "{role} reads {table}"),
            }
        }
    }
    let mut worker = as_worker(&stack, "zeta").await;
    for (table, rows) in [
        ("memory_entries", 1),
        ("discoveries", 1),
        ("memory_logs", 2),
    ] {
        let count = format!("select count(*) from {table}");
        let counted: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(count))
            .fetch_one(&mut worker)
            .await
            .unwrap();
        assert_eq!(counted, rows, "{table}");
    }
}

#[tokio::test]
async fn the_functions_of_the_worker_reach_no_tenant_but_the_stated_one() {
    let stack = two_that_remember().await;
    let mut owner = PgConnection::connect_with(&stack.database().owner())
        .await
        .unwrap();
    let acmes: uuid::Uuid = sqlx::query_scalar("select id from projects where tenant_id = $1")
        .bind(stack.tenant_id("acme"))
        .fetch_one(&mut owner)
        .await
        .unwrap();
    let found = "select count(*) from memory_entries_with($1, array['event'])";
    let write = "select count(*) from append_memory_entry($1, 'decisions.jsonl', 'key:1', \
        'call:1', '{}', '{}')";
    let url = stack.database().url("archway_worker");
    let mut nobody = PgConnection::connect(&url).await.unwrap();
    for (worker, expected) in [(&mut as_worker(&stack, "acme").await, 1), (&mut nobody, 0)] {
        let seen: i64 = sqlx::query_scalar(found)
            .bind(acmes)
            .fetch_one(worker)
            .await
            .unwrap();
        assert_eq!(seen, expected);
    }
    let mut zeta = as_worker(&stack, "zeta").await;
    let seen: i64 = sqlx::query_scalar(found)
        .bind(acmes)
        .fetch_one(&mut zeta)
        .await
        .unwrap();
    assert_eq!(seen, 0);
    // Another tenant's project is refused; without a tenant every project is.
    for (worker, code) in [(&mut zeta, "23503"), (&mut nobody, "23502")] {
        let refused = sqlx::query(write)
            .bind(acmes)
            .execute(worker)
            .await
            .unwrap_err();
        let refused = refused.into_database_error().unwrap();
        assert_eq!(refused.code().as_deref(), Some(code));
    }
}

#[tokio::test]
async fn neither_worker_nor_owner_can_change_or_delete_written_entries() {
    let stack = two_that_remember().await;
    let statements = [
        "update memory_entries set entry = '{}'",
        "update memory_entries set number = number + 1",
        "update memory_entries set erased_at = now(), entry = '{}', words = ''",
        "update memory_entries set written_at = now(), erased_at = now(), words = '', \
         entry = memory_tombstone(now())",
        "update discoveries set content = 'y'",
        "update discoveries set erased_at = now()",
        "delete from memory_entries",
        "delete from discoveries",
        "truncate memory_entries",
        "truncate discoveries",
        "truncate projects cascade",
    ];
    let mut worker = as_worker(&stack, "acme").await;
    let mut owner = PgConnection::connect_with(&stack.database().owner())
        .await
        .unwrap();
    for statement in statements {
        for who in [&mut worker, &mut owner] {
            assert_eq!(
                run(who, statement).await,
                Err("42501".to_owned()),
                "{statement}"
            );
        }
    }
    let insert = "insert into memory_entries select * from memory_entries";
    assert_eq!(run(&mut worker, insert).await, Err("42501".to_owned()));
    for helper in [
        "select memory_has_room(1)",
        "select erase_discovery(null, null, null, '')",
        "update memory_logs set count = 7",
        "select * from memory_writes",
        "select * from memory_erasures",
    ] {
        assert_eq!(
            run(&mut worker, helper).await,
            Err("42501".to_owned()),
            "{helper}"
        );
    }
    // A worker that was granted too much is stopped by the trigger.
    for granted in [
        "grant update, delete, truncate on memory_entries, discoveries to archway_worker",
        "create policy careless on memory_entries to archway_worker using (true)",
        "create policy careless on discoveries to archway_worker using (true)",
    ] {
        run(&mut owner, granted).await.unwrap();
    }
    for statement in statements.iter().filter(|it| !it.contains("projects")) {
        let refused = run(&mut worker, statement).await;
        assert_eq!(refused, Err("42501".to_owned()), "{statement}");
    }
}
