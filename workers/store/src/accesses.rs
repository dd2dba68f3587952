//! File accesses: which principal read which file, counted per day, for ranking.
//!
//! Accesses are recorded outside of calls: a bounded queue, and one writer that batches one second
//! of them. If the queue is full or Postgres is down, accesses are dropped and counted. A lost
//! access costs a little rank, never an answer.

use std::{collections::BTreeMap, time::Duration};

use archway_proto::chain::Chain;
use archway_resilience::Outage;
use prometheus_client::metrics::counter::Counter;
use tokio::{
    sync::mpsc,
    time::{Instant, timeout_at},
};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{StoreError, Stores, TenantStore, failed};

/// Maximum number of queued accesses.
const QUEUE_LENGTH: usize = 4096;
/// How long the writer collects a batch.
const BATCH_TIME: Duration = Duration::from_secs(1);

/// One read of one file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Access {
    /// The tenant whose project it is.
    pub tenant_id: Uuid,
    /// The project of the file.
    pub project_id: Uuid,
    /// The caller that read it.
    pub principal: String,
    /// The path within the project.
    pub path: String,
}

/// The sending side of the queue, for calls.
#[derive(Clone)]
pub struct AccessRecorder {
    queue: mpsc::Sender<Access>,
    dropped: Counter,
}

impl AccessRecorder {
    /// Creates the queue and its writer; both count lost accesses in `dropped`. After `end` the
    /// queue accepts no more, and the writer ends once everything queued is written, even if
    /// senders remain.
    pub fn new(
        stores: Stores,
        end: CancellationToken,
        dropped: Counter,
    ) -> (Self, impl Future<Output = ()> + Send) {
        let (queue, receiver) = mpsc::channel(QUEUE_LENGTH);
        let accesses = AccessRecorder {
            queue,
            dropped: dropped.clone(),
        };
        let incoming = AccessQueue { receiver, end };
        (accesses, write(stores, incoming, dropped))
    }

    /// Queues an access, or drops it if the queue is full.
    pub fn record(&self, access: Access) {
        if self.queue.try_send(access).is_err() {
            self.dropped.inc();
        }
    }
}

/// The receiving side of the queue, for the writer.
struct AccessQueue {
    receiver: mpsc::Receiver<Access>,
    end: CancellationToken,
}

impl AccessQueue {
    /// Waits for an access and moves all queued ones to `batch`. False once the queue is closed and
    /// empty. Cancel-safe.
    async fn next(&mut self, batch: &mut Vec<Access>) -> bool {
        let count = tokio::select! {
            count = self.receiver.recv_many(batch, QUEUE_LENGTH) => count,
            () = self.end.cancelled() => {
                self.receiver.close();
                self.receiver.recv_many(batch, QUEUE_LENGTH).await
            }
        };
        count > 0
    }

    /// Collects accesses for [`BATCH_TIME`], or until the batch has the length of the queue.
    async fn next_batch(&mut self, batch: &mut Vec<Access>) -> bool {
        let any = self.next(batch).await;
        let enough = Instant::now() + BATCH_TIME;
        while batch.len() < QUEUE_LENGTH
            && matches!(timeout_at(enough, self.next(batch)).await, Ok(true))
        {}
        any
    }
}

async fn write(stores: Stores, mut incoming: AccessQueue, dropped: Counter) {
    let mut batch = Vec::with_capacity(QUEUE_LENGTH);
    let outage = Outage::default();
    while incoming.next_batch(&mut batch).await {
        for (tenant, counts) in count(batch.drain(..)) {
            let lost = counts.len() as u64;
            match stores.tenant(tenant).add_accesses(&counts).await {
                Ok(()) => _ = outage.ended(),
                Err(error) => {
                    dropped.inc_by(lost);
                    if outage.failed() {
                        tracing::warn!(error = %Chain(&error), lost, "file accesses were not recorded");
                    }
                }
            }
        }
    }
    tracing::debug!(dropped = dropped.get(), "access recorder ends");
}

/// Sums reads by tenant, file and principal. The order is the same for every writer, so that two
/// workers cannot deadlock on rows.
fn count(batch: impl Iterator<Item = Access>) -> BTreeMap<Uuid, BTreeMap<Access, i64>> {
    let mut tenants: BTreeMap<Uuid, BTreeMap<Access, i64>> = BTreeMap::new();
    for access in batch {
        *tenants
            .entry(access.tenant_id)
            .or_default()
            .entry(access)
            .or_default() += 1;
    }
    tenants
}

impl TenantStore<'_> {
    async fn add_accesses(&self, counts: &BTreeMap<Access, i64>) -> Result<(), StoreError> {
        let what = "recording file accesses";
        let projects: Vec<Uuid> = counts.keys().map(|access| access.project_id).collect();
        let principals: Vec<String> = counts
            .keys()
            .map(|access| access.principal.clone())
            .collect();
        let paths: Vec<String> = counts.keys().map(|access| access.path.clone()).collect();
        let numbers: Vec<i64> = counts.values().copied().collect();
        let mut tx = self.begin().await?;
        sqlx::query!(
            "insert into file_accesses (tenant_id, project_id, principal, path, day, count, last_at) \
             select $1, project_id, principal, path, (now() at time zone 'utc')::date, n, now() \
             from unnest($2::uuid[], $3::text[], $4::text[], $5::bigint[]) \
                 as a (project_id, principal, path, n) \
             on conflict (tenant_id, project_id, principal, path, day) do update \
             set count = file_accesses.count + excluded.count, last_at = excluded.last_at",
            self.tenant,
            &projects,
            &principals,
            &paths,
            &numbers
        )
        .execute(&mut *tx)
        .await
        .map_err(failed(what))?;
        tx.commit().await.map_err(failed(what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StoreConfig;

    fn access(path: &str) -> Access {
        Access {
            tenant_id: Uuid::nil(),
            project_id: Uuid::nil(),
            principal: "key:1".into(),
            path: path.into(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_writer_drains_the_queue_and_ends_while_senders_remain() {
        let unreachable = StoreConfig {
            url: "postgres://localhost/none?host=/nonexistent".into(),
            max_connections: 1,
        };
        let end = CancellationToken::new();
        let stores = Stores::connect(&unreachable).unwrap();
        let (accesses, writer) = AccessRecorder::new(stores, end.clone(), Counter::default());
        accesses.record(access("a"));
        accesses.record(access("b"));
        end.cancel();
        writer.await;
        // Postgres is down, so everything tried is lost.
        assert_eq!(accesses.dropped.get(), 2);
        accesses.record(access("c"));
        assert_eq!(accesses.dropped.get(), 3);
    }

    #[tokio::test]
    async fn recording_never_waits_and_counts_drops_at_a_full_queue() {
        let unreachable = StoreConfig {
            url: "postgres://localhost/none?host=/nonexistent".into(),
            max_connections: 1,
        };
        let stores = Stores::connect(&unreachable).unwrap();
        // No writer runs, so the queue only fills. Recording is not a future, so it cannot wait.
        let dropped = Counter::default();
        let (accesses, _writer) =
            AccessRecorder::new(stores, CancellationToken::new(), dropped.clone());
        for _ in 0..QUEUE_LENGTH + 7 {
            accesses.record(access("a"));
        }
        assert_eq!(dropped.get(), 7);
    }

    #[test]
    fn reads_of_one_file_are_summed() {
        let counted = count([access("a"), access("b"), access("a")].into_iter());
        let numbers: Vec<i64> = counted[&Uuid::nil()].values().copied().collect();
        assert_eq!(numbers, [2, 1]);
    }
}
