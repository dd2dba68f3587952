//! Partitions by month: records that waited while a month ended, and records of a month's first instant.

use std::time::Duration;

use e2e::Stack;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, PgPool};
use tokio::time::Instant;

use super::{calls, kept, read, stack, verified};

async fn owner(stack: &Stack) -> PgPool {
    PgPool::connect_with(stack.database().owner())
        .await
        .unwrap()
}

/// Limits the length of a month. The function is otherwise the real one.
async fn shorten_months(owner: &PgPool, unit: &str) {
    let text = "select pg_get_functiondef('make_audit_month(bigint)'::regprocedure)";
    let mut text: String = sqlx::query_scalar(text).fetch_one(owner).await.unwrap();
    for (month, shorter) in [
        ("date_trunc('month'", format!("date_trunc('{unit}'")),
        ("interval '1 month'", format!("interval '1 {unit}'")),
        ("'YYYY_MM'", "'YYYY_MM_DD_HH24_MI_SS_US'".to_owned()),
    ] {
        assert!(text.contains(month), "{month}: {text}");
        text = text.replace(month, &shorter);
    }
    owner.execute(AssertSqlSafe(text)).await.unwrap();
}

/// Calls for `calling` while nothing can be written, with months of this length. Returns the number of
/// months that the records are in.
async fn months_of_calls_that_waited(unit: &str, span: Duration) -> i64 {
    let stack = stack().await;
    let owner = owner(&stack).await;
    shorten_months(&owner, unit).await;
    let (shut, open) = (
        "revoke insert on audit_records from archway_gateway",
        "grant insert on audit_records to archway_gateway",
    );
    owner.execute(shut).await.unwrap();
    let (begun, mut count) = (Instant::now(), 0);
    while count < 10 || begun.elapsed() < span {
        read(&stack.client("acme"), "notes.txt").await;
        count += 1;
    }
    owner.execute(open).await.unwrap();
    assert_eq!(calls(&stack, "acme", count).await.len(), count, "{unit}");
    let chains = verified(&stack, "acme", None).await;
    assert_eq!(chains.len(), 1, "{unit}: no record was given up");
    assert_eq!((&chains[0].findings, chains[0].missing), (&Vec::new(), 0));
    let months = "select count(distinct tableoid) from audit_records";
    sqlx::query_scalar(months).fetch_one(&owner).await.unwrap()
}

#[tokio::test]
async fn waiting_records_of_this_and_earlier_months_are_all_stored() {
    let months = months_of_calls_that_waited("second", Duration::from_secs(3)).await;
    assert!(months >= 3, "{months} months");
}

#[tokio::test]
async fn records_of_the_first_instant_of_a_month_are_kept() {
    // A month that consists of one instant.
    let months = months_of_calls_that_waited("microsecond", Duration::ZERO).await;
    assert!(months >= 10, "{months} months");
}

#[tokio::test]
async fn a_month_begins_at_its_first_instant_in_utc_and_holds_it() {
    let stack = stack().await;
    let owner = owner(&stack).await;
    let role = stack.database().url("archway_gateway");
    let mut gateway = PgConnection::connect(&role).await.unwrap();
    gateway
        .execute("set timezone = 'Asia/Kathmandu'")
        .await
        .unwrap();
    let first = "select (extract(epoch from date_trunc('month', now() at time zone 'UTC') \
                 at time zone 'UTC') * 1000000)::bigint";
    let first: i64 = sqlx::query_scalar(first).fetch_one(&owner).await.unwrap();
    let acme = stack.tenant_id("acme");
    let mut months = Vec::new();
    for (number, moment) in [first - 1, first].into_iter().enumerate() {
        let made: (i64, i64) = sqlx::query_as("select begins, ends from make_audit_month($1)")
            .bind(moment)
            .fetch_one(&mut gateway)
            .await
            .unwrap();
        months.push(made);
        let add = "insert into audit_records (tenant_id, chain, number, at, record, mac) values \
                   ($1, $1, $2, 'epoch'::timestamptz + $3 * interval '1 microsecond', '{}', sha256('x')) \
                   returning tableoid::regclass::text = 'audit_records_' || \
                             to_char(at at time zone 'UTC', 'YYYY_MM')";
        let add = sqlx::query_scalar(add).bind(acme).bind(number as i64 + 1);
        let in_its_own: bool = add.bind(moment).fetch_one(&owner).await.unwrap();
        assert!(in_its_own, "{moment}");
    }
    assert_eq!((months[0].1, months[1].0), (first, first));
    let kept = kept(&stack, "acme").await.remove(0);
    let moments: Vec<i64> = kept.iter().map(|row| row.at).collect();
    assert_eq!(moments, [first - 1, first]);
}
