//! The one script of the shared store: it does what `local.rs` does, on the store's clock and
//! atomically.
//!
//! All buckets of a call belong to one tenant, whose id is the hash tag of their keys, so they
//! share one slot of a cluster. The server only adds and compares; costs are computed here, so both
//! implementations agree to the microsecond.

use archway_proto::trace::Span;
use opentelemetry::{
    KeyValue,
    trace::{SpanBuilder, SpanKind},
};
use redis::{Script, aio::MultiplexedConnection};
use uuid::Uuid;

use super::failure::StoreFailure;
use crate::limits::cost::{BucketId, Charge, Debts, FULL, MOST_CHARGES, Verdict};

/// The key that [`SpendScript::probe`] charges. It belongs to no tenant.
const PROBE: &str = "archway:{probe}";

/// The script, hashed once.
pub(super) struct SpendScript(Script);

impl SpendScript {
    pub(super) fn new() -> Self {
        SpendScript(Script::new(include_str!("spend.lua")))
    }

    /// Applies all charges or none. One round trip, unless the server has evicted the script.
    pub(super) async fn spend(
        &self,
        connection: &mut MultiplexedConnection,
        tenant: Uuid,
        charges: &[Charge],
    ) -> Result<Verdict, StoreFailure> {
        let buckets = charges
            .iter()
            .map(|charge| (key(tenant, &charge.id), charge.step));
        let answer = self.invoke(connection, buckets).await?;
        verdict(&answer, charges.len()).ok_or(StoreFailure::UnexpectedAnswer)
    }

    /// Charges one microsecond to a bucket that nobody uses. Proves that the server has the script,
    /// may run it, and accepts writes.
    pub(super) async fn probe(
        &self,
        connection: &mut MultiplexedConnection,
    ) -> Result<(), StoreFailure> {
        let answer = self.invoke(connection, [(PROBE.to_owned(), 1)]).await?;
        let _any = verdict(&answer, 1).ok_or(StoreFailure::UnexpectedAnswer)?;
        Ok(())
    }

    async fn invoke(
        &self,
        connection: &mut MultiplexedConnection,
        buckets: impl IntoIterator<Item = (String, u64)>,
    ) -> Result<Vec<u64>, StoreFailure> {
        let mut call = self.0.prepare_invoke();
        for (key, step) in buckets {
            call.key(key).arg(step);
        }
        Ok(call.invoke_async(connection).await?)
    }
}

/// The span of one run of the script, if its request is traced.
pub(super) fn span() -> Span {
    Span::child(|| {
        SpanBuilder::from_name("EVALSHA spend")
            .with_kind(SpanKind::Client)
            .with_attributes([
                KeyValue::new("db.system.name", "redis"),
                KeyValue::new("db.operation.name", "EVALSHA"),
                KeyValue::new("db.query.summary", "EVALSHA spend"),
            ])
    })
}

/// The bucket's key in the store.
fn key(tenant: Uuid, id: &BucketId) -> String {
    let id = Uuid::from_bytes(*id.as_bytes());
    format!("archway:{{{}}}:{}", tenant.simple(), id.simple())
}

/// Parses the script's answer for this many charges. `None` if the script cannot have returned it.
fn verdict(answer: &[u64], charges: usize) -> Option<Verdict> {
    let [passed, _judged_at, answer @ ..] = answer else {
        return None;
    };
    let mut debts: Debts = [0; MOST_CHARGES];
    debts
        .get_mut(..charges)?
        .copy_from_slice(answer.get(..charges)?);
    if debts.iter().any(|debt| *debt > FULL) {
        return None;
    }
    match passed {
        1 => Some(Verdict::Passed(debts)),
        0 => Some(Verdict::Refused(debts)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use prometheus_client::metrics::{counter::Counter, gauge::Gauge};
    use proptest::{
        collection::vec, prelude::*, sample::subsequence, strategy::ValueTree,
        test_runner::TestRunner,
    };
    use redis::AsyncTypedCommands;

    use super::*;
    use crate::{
        limits::{cost::Bill, local::Buckets, shared::test_server::RedisServer},
        terms::Level,
    };

    /// Bills over a few buckets, wide and narrow, with pauses in milliseconds.
    fn bills() -> impl Strategy<Value = Vec<(Vec<Charge>, u64)>> {
        let buckets = vec![1_u8, 2, 3, 4, 5, 6];
        let charge = |bucket: u8| {
            let limit = [1, 7, 600, 60_000, 999_983, 1_000_000][usize::from(bucket) - 1];
            (1_u32..12).prop_map(move |cost| Charge::for_tests(bucket, Level::Key, limit, cost))
        };
        let charges = subsequence(buckets, 1..=6)
            .prop_flat_map(move |of| of.into_iter().map(charge).collect::<Vec<_>>());
        vec((charges, 0_u64..4), 1..25)
    }

    #[tokio::test]
    async fn the_script_and_the_local_buckets_agree_to_the_microsecond() {
        let server = RedisServer::start();
        let (script, mut connection) = (SpendScript::new(), server.connect().await);
        let mut runner = TestRunner::deterministic();
        for case in 0..60 {
            let bills = bills().new_tree(&mut runner).unwrap().current();
            let local = Buckets::new(Gauge::default(), Counter::default());
            let tenant = Uuid::from_u128(case);
            for (charges, pause) in bills {
                tokio::time::sleep(Duration::from_millis(pause)).await;
                let buckets = charges
                    .iter()
                    .map(|charge| (key(tenant, &charge.id), charge.step));
                let answer = script.invoke(&mut connection, buckets).await.unwrap();
                let mut bill = Bill::for_tests(&charges);
                bill.tenant = tenant;
                let expected = local.spend(&bill, answer[1]);
                assert_eq!(
                    verdict(&answer, charges.len()),
                    Some(expected),
                    "{answer:?}"
                );
            }
        }
    }

    #[test]
    fn an_impossible_debt_is_an_invalid_answer() {
        assert_eq!(
            verdict(&[0, 7, FULL], 1),
            Some(Verdict::Refused([FULL, 0, 0, 0, 0, 0]))
        );
        for debt in [FULL + 1, u64::MAX] {
            assert_eq!(verdict(&[0, 7, debt], 1), None);
        }
    }

    #[tokio::test]
    async fn a_foreign_value_counts_as_a_full_bucket_and_is_overwritten() {
        let server = RedisServer::start();
        let (script, mut connection) = (SpendScript::new(), server.connect().await);
        let tenant = Uuid::from_u128(1);
        let charge = Charge::for_tests(1, Level::Key, 60, 1);
        let bucket = key(tenant, &charge.id);
        for garbage in ["", "words", "nan", "-inf", "-5", "12e"] {
            connection.set(&bucket, garbage).await.unwrap();
            let answer = script.spend(&mut connection, tenant, &[charge]).await;
            let debts = [charge.step, 0, 0, 0, 0, 0];
            assert_eq!(answer.unwrap(), Verdict::Passed(debts), "{garbage:?}");
        }
        connection.del(&bucket).await.unwrap();
        connection.hset(&bucket, "field", 1).await.unwrap();
        let answer = script.spend(&mut connection, tenant, &[charge]).await;
        assert!(matches!(answer, Ok(Verdict::Passed(_))));
        let again = script.spend(&mut connection, tenant, &[charge]).await;
        let Ok(Verdict::Passed([debt, ..])) = again else {
            panic!("{again:?}");
        };
        assert!(debt > charge.step, "the first call is known: {debt}");
    }

    #[tokio::test]
    async fn a_debt_from_another_clock_ends_within_a_minute() {
        let server = RedisServer::start();
        let (script, mut connection) = (SpendScript::new(), server.connect().await);
        let tenant = Uuid::from_u128(1);
        let charge = Charge::for_tests(1, Level::Key, 60, 1);
        let bucket = key(tenant, &charge.id);
        let nines = "9".repeat(300);
        for ahead in ["9007199254740991", "inf", "1e300", &nines] {
            connection.set(&bucket, ahead).await.unwrap();
            let answer = script.spend(&mut connection, tenant, &[charge]).await;
            let debts = [FULL, 0, 0, 0, 0, 0];
            assert_eq!(answer.unwrap(), Verdict::Refused(debts), "{ahead}");
            // The script clamped it to a valid debt: it shrinks, and its key expires.
            let again = script.spend(&mut connection, tenant, &[charge]).await;
            let Ok(Verdict::Refused([debt, ..])) = again else {
                panic!("{again:?}");
            };
            assert!(debt < FULL, "{ahead}: {debt}");
            let left: i64 = redis::cmd("PTTL")
                .arg(&bucket)
                .query_async(&mut connection)
                .await
                .unwrap();
            assert!((1..=60_002).contains(&left), "{ahead}: {left} ms");
        }
    }

    #[tokio::test]
    async fn a_key_expires_when_its_bucket_is_full() {
        let server = RedisServer::start();
        let (script, mut connection) = (SpendScript::new(), server.connect().await);
        let tenant = Uuid::from_u128(1);
        let charge = Charge::for_tests(1, Level::Key, 60, 1);
        for calls in 1..=3 {
            let spent = script.spend(&mut connection, tenant, &[charge]).await;
            let Ok(Verdict::Passed([debt, ..])) = spent else {
                panic!("{spent:?}");
            };
            let left: u64 = redis::cmd("PTTL")
                .arg(key(tenant, &charge.id))
                .query_async(&mut connection)
                .await
                .unwrap();
            assert!(left <= debt / 1_000 + 2, "{calls}: {left} ms for {debt} µs");
        }
    }
}
