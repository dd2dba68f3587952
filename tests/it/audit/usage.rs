//! Usage is the sum of what the audit trail records, whatever becomes of gateways and connections meanwhile.

use std::collections::BTreeMap;

use e2e::{Stack, http::Request};
use serde_json::{Value, json};
use sqlx::{Executor, PgPool};

use super::{calls, read, stack};

/// Calls, units, bytes and estimated tokens.
type Sums = [i64; 4];

async fn owner(stack: &Stack) -> PgPool {
    PgPool::connect_with(stack.database().owner())
        .await
        .unwrap()
}

/// The kept sums of a tenant, by everything that they are kept by but the hour.
async fn sums(owner: &PgPool, stack: &Stack, tenant: &str) -> BTreeMap<[String; 6], Sums> {
    let query = "select array[principal, credential, project, tool, outcome, agent], \
                 array[sum(calls), sum(units), sum(bytes_out), sum(tokens)]::bigint[] \
                 from usage_hours where tenant_id = $1 and calls > 0 \
                 group by principal, credential, project, tool, outcome, agent";
    let rows: Vec<(Vec<String>, Vec<i64>)> = sqlx::query_as(query)
        .bind(stack.tenant_id(tenant))
        .fetch_all(owner)
        .await
        .unwrap();
    let sized =
        |(key, sums): (Vec<String>, Vec<i64>)| (key.try_into().unwrap(), sums.try_into().unwrap());
    rows.into_iter().map(sized).collect()
}

/// The same sums of these records. `projects` are those that the tenant has.
fn expected(records: &[Value], projects: &[&str]) -> BTreeMap<[String; 6], Sums> {
    let mut sums: BTreeMap<[String; 6], Sums> = BTreeMap::new();
    for record in records {
        let text = |name: &str| record[name].as_str().unwrap_or_default().to_owned();
        let project = text("project");
        let project = if projects.contains(&&*project) {
            project
        } else {
            String::new()
        };
        let tool = record["tool"]
            .as_str()
            .unwrap_or(record["method"].as_str().unwrap());
        let key = [
            text("principal"),
            text("credential"),
            project,
            tool.to_owned(),
            text("outcome"),
            text("agent"),
        ];
        let (units, bytes) = (
            record["units"].as_i64().unwrap(),
            record["bytes"].as_i64().unwrap(),
        );
        let of = sums.entry(key).or_default();
        for (sum, more) in of.iter_mut().zip([1, units, bytes, (bytes + 3) / 4]) {
            *sum += more;
        }
    }
    sums
}

#[tokio::test]
async fn usage_equals_the_records_of_calls_of_every_kind() {
    let stack = stack().await;
    let owner = owner(&stack).await;
    let acme = stack.client("acme");
    for path in ["notes.txt", "notes.txt", "absent"] {
        read(&acme, path).await;
    }
    acme.call("grep_codebase", json!({ "pattern": "sesame" }))
        .await;
    acme.rpc("tools/call", json!({ "name": "absent" })).await;
    for uri in [
        "repo://site/notes.txt",
        "repo://a\u{0}b/notes.txt",
        "repo://other/x",
    ] {
        acme.rpc("resources/read", json!({ "uri": uri })).await;
    }
    let reader = stack.keyed("acme", "reader").modern();
    reader.call("hello", json!({})).await;
    read(&stack.client("zeta"), "own.txt").await;

    let told = calls(&stack, "acme", 9).await;
    let kept = sums(&owner, &stack, "acme").await;
    assert_eq!(kept, expected(&told, &["site"]));
    let of = |tool: &str, outcome: &str| -> Vec<Sums> {
        let rows = kept
            .iter()
            .filter(|([_, _, _, t, o, _], _)| t == tool && o == outcome);
        rows.map(|(_, sums)| *sums).collect()
    };
    let [[calls, units, bytes, tokens]] = of("grep_codebase", "ok")[..] else {
        panic!("{kept:?}");
    };
    assert_eq!((calls, units), (1, 5), "a search costs five units");
    assert!(bytes > 500 && tokens == (bytes + 3) / 4, "{bytes} {tokens}");
    assert_eq!(of("read_file", "ok").concat()[0], 2);
    assert!(kept.keys().any(|[.., agent]| agent == "e2e/1"), "{kept:?}");
    let zeta = self::calls(&stack, "zeta", 1).await;
    assert_eq!(
        sums(&owner, &stack, "zeta").await,
        expected(&zeta, &["shop"])
    );
}

#[tokio::test]
async fn the_size_of_an_answer_is_that_of_its_body() {
    let stack = stack().await;
    let call = json!({ "name": "hello", "arguments": {} });
    let answer = stack.client("acme").rpc("tools/call", call).await;
    let uri = json!({ "uri": "repo://site/notes.txt" });
    let resource = stack.client("acme").rpc("resources/read", uri).await;
    let told = calls(&stack, "acme", 2).await;
    assert_eq!(told[0]["bytes"], answer.body.len());
    assert_eq!(told[1]["bytes"], resource.body.len());
}

#[tokio::test]
async fn calls_are_counted_once_however_often_a_batch_is_written() {
    let stack = stack().await;
    let owner = owner(&stack).await;
    for _ in 0..30 {
        read(&stack.client("acme"), "notes.txt").await;
        // Ends statements and commits whose outcome the gateway never learns.
        owner
            .execute(
                "select pg_terminate_backend(pid) from pg_stat_activity \
                 where usename = 'archway_gateway' and datname = current_database()",
            )
            .await
            .unwrap();
    }
    let told = calls(&stack, "acme", 30).await;
    let before = sums(&owner, &stack, "acme").await;
    assert_eq!(before, expected(&told, &["site"]));
    // The same rows again, as a gateway writes what it is not sure of.
    owner
        .execute("create table again as select * from audit_records; grant select on again to archway_gateway")
        .await
        .unwrap();
    let role = stack.database().url("archway_gateway");
    let gateway = PgPool::connect(&role).await.unwrap();
    let mut tx = gateway.begin().await.unwrap();
    sqlx::query("select set_config('archway.tenant_id', $1, true)")
        .bind(stack.tenant_id("acme").to_string())
        .execute(&mut *tx)
        .await
        .unwrap();
    let again = "insert into audit_records (tenant_id, chain, number, at, record, mac) \
                 select tenant_id, chain, number, at, record, mac from again on conflict do nothing";
    assert_eq!(tx.execute(again).await.unwrap().rows_affected(), 0);
    tx.commit().await.unwrap();
    assert_eq!(sums(&owner, &stack, "acme").await, before);
}

#[tokio::test]
async fn hours_are_kept_for_thirteen_months_and_then_removed() {
    let stack = stack().await;
    let owner = owner(&stack).await;
    let month = "date_trunc('month', now() at time zone 'UTC')";
    let add = format!(
        "insert into usage_hours (tenant_id, hour, calls) select id, \
         ({month} - interval '13 months' - age) at time zone 'UTC', 1 \
         from tenants, unnest(array[interval '0', interval '1 hour', interval '5 years']) age"
    );
    owner.execute(sqlx::AssertSqlSafe(add)).await.unwrap();
    read(&stack.client("acme"), "notes.txt").await;
    calls(&stack, "acme", 1).await;
    let old = "select count(*) from usage_hours where hour < now() - interval '12 months'";
    let old: i64 = sqlx::query_scalar(old).fetch_one(&owner).await.unwrap();
    assert_eq!(old, 2, "the first hour of the month, of two tenants");
}

#[tokio::test]
async fn the_admin_port_has_the_sums_of_the_last_day_by_tenant() {
    let stack = stack().await;
    for _ in 0..3 {
        read(&stack.client("acme"), "notes.txt").await;
    }
    read(&stack.client("zeta"), "own.txt").await;
    let told = calls(&stack, "acme", 3).await;
    calls(&stack, "zeta", 1).await;
    let answer = Request::new("GET", "/usage")
        .send(stack.admin())
        .await
        .json();
    assert_eq!(
        (&answer["calls"], &answer["tenants_with_calls"]),
        (&json!(4), &json!(2))
    );
    let acme = &answer["tenants"][0];
    assert_eq!(
        (&acme["tenant"], &acme["calls"]),
        (&json!("acme"), &json!(3))
    );
    let bytes: i64 = told
        .iter()
        .map(|record| record["bytes"].as_i64().unwrap())
        .sum();
    assert_eq!(acme["bytes_out"], bytes);
    assert_eq!(answer["tenants"][1]["tenant"], "zeta");
}
