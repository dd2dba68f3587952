//! The only writer of records: chains them and writes them to Postgres in batches.
//!
//! What a reader would get wrong: a record is chained once, and written until Postgres has it. A
//! batch whose outcome is unknown is written again with the same rows, and existing rows are
//! skipped. A chain therefore has no gap that its own records do not report.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Range,
    sync::Arc,
    time::{Duration, SystemTime},
};

use archway_proto::{chain::Chain as CauseChain, misleading::visible_json};
use archway_resilience::Outage;
use tokio::{sync::mpsc, time::Instant};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    Audit,
    chain::{Chain, Row},
    overflow::OverflowCounts,
    record::{Record, RecordBody},
};
use crate::{
    metrics::AuditMetrics,
    secrets::RootSecret,
    store::{AuditRows, StoreError, Stores, micros},
};

/// Records of one batch at most.
const BATCH: usize = 1_024;
/// How long to collect further records after the first.
const GATHER: Duration = Duration::from_millis(100);
/// Interval at which counts are taken while no record arrives.
const TICK: Duration = Duration::from_secs(1);
/// A chain without calls for this long is closed; the next call starts a new one.
const IDLE_CLOSE: Duration = Duration::from_secs(3600);
/// Open chains. Beyond this, the least recently used one is closed.
const MOST_CHAINS: usize = 10_000;
/// Pauses after a failed write, doubled up to the second value.
const FIRST_RETRY: Duration = Duration::from_millis(100);
const LONGEST_RETRY: Duration = Duration::from_secs(5);
/// Refusals of the same rows before they are given up, so that they do not block all others.
const MOST_REFUSALS: u32 = 3;
/// How far a record's time may lie before and after now, in microseconds. Clocks jump, and only
/// months near the present have partitions.
const MAX_CLOCK_SKEW: (i64, i64) = (30 * 86_400_000_000, 3_600_000_000);
/// How long a gateway that shuts down continues to write.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(2);

/// The receiving end of the queue.
pub(crate) struct Writer {
    incoming: mpsc::Receiver<Record>,
    /// Records received and not yet chained.
    batch: Vec<Record>,
    overflow: Arc<OverflowCounts>,
    stores: Stores,
    secret: Arc<RootSecret>,
    gateway: String,
    metrics: AuditMetrics,
    chains: HashMap<Uuid, OpenChain>,
    /// The month whose partition is known to exist, in microseconds since 1970.
    month: Range<i64>,
    outage: Outage,
}

/// A chain that is being written.
struct OpenChain {
    chain: Chain,
    used: Instant,
}

/// Rows by tenant, in the order of their chains.
type Rows = BTreeMap<Uuid, Vec<Row>>;

impl Writer {
    pub(super) fn new(
        audit: &Audit,
        incoming: mpsc::Receiver<Record>,
        stores: Stores,
        gateway: String,
    ) -> Self {
        Writer {
            incoming,
            batch: Vec::with_capacity(BATCH),
            overflow: audit.overflow.clone(),
            stores,
            secret: audit.secret.clone(),
            gateway,
            metrics: audit.metrics.clone(),
            chains: HashMap::new(),
            month: 0..0,
            outage: Outage::default(),
        }
    }

    /// Writes records until `end`, then the remaining ones and the closing record of each chain.
    /// The latter takes at most two seconds, whatever Postgres does.
    pub(crate) async fn run(&mut self, end: &CancellationToken) {
        let shutdown = async {
            end.cancelled().await;
            tokio::time::sleep(SHUTDOWN_LIMIT).await;
        };
        tokio::select! {
            () = self.write_all(end) => return,
            () = shutdown => {}
        }
        let left = (self.batch.len() + self.incoming.len()) as u64;
        self.metrics.missing.inc_by(left);
        tracing::error!(
            left,
            "audit records may be lost: Postgres did not take them in time"
        );
    }

    async fn write_all(&mut self, end: &CancellationToken) {
        while !end.is_cancelled() {
            tokio::select! {
                () = self.gather() => {}
                () = end.cancelled() => break,
            }
            self.take(end).await;
        }
        self.incoming.close();
        while self.incoming.recv_many(&mut self.batch, BATCH).await > 0 {
            self.take(end).await;
        }
        self.take(end).await;
        let mut rows = Rows::new();
        for tenant in self.chains.keys().copied().collect::<Vec<_>>() {
            self.close(tenant, &mut rows);
        }
        self.write(rows, end).await;
    }

    /// Waits for the next batch, for at most [`TICK`].
    async fn gather(&mut self) {
        let first = self.incoming.recv_many(&mut self.batch, BATCH);
        if tokio::time::timeout(TICK, first).await.is_ok() {
            tokio::time::sleep(GATHER).await;
            while self.batch.len() < BATCH {
                match self.incoming.try_recv() {
                    Ok(record) => self.batch.push(record),
                    Err(_none) => break,
                }
            }
        }
    }

    /// Chains the batch and the counts taken so far, and writes them.
    async fn take(&mut self, end: &CancellationToken) {
        let mut rows = Rows::new();
        let now = micros(SystemTime::now());
        for record in std::mem::take(&mut self.batch) {
            let at = micros(record.at).clamp(now - MAX_CLOCK_SKEW.0, now + MAX_CLOCK_SKEW.1);
            self.append(record.who.tenant_id(), at, &record.body(), &mut rows);
        }
        for counted in self.overflow.take() {
            self.append(counted.tenant, now, &counted.body(), &mut rows);
        }
        self.end_idle(&mut rows);
        self.write(rows, end).await;
    }

    /// Appends to the tenant's chain; starts one if there is none.
    fn append(&mut self, tenant: Uuid, at: i64, body: &RecordBody<'_>, rows: &mut Rows) {
        // The MAC covers these bytes, so misleading characters are escaped before it is made.
        let text = |body: &RecordBody<'_>| {
            let body = serde_json::to_string(body).unwrap_or_default();
            visible_json(&body).into_owned()
        };
        let rows = rows.entry(tenant).or_default();
        let open = self.chains.entry(tenant).or_insert_with(|| {
            let begin = RecordBody::Begin {
                gateway: &self.gateway,
                version: env!("CARGO_PKG_VERSION"),
            };
            let mut chain = Chain::new(tenant);
            rows.push(chain.append(at, text(&begin), &self.secret));
            let used = Instant::now();
            OpenChain { chain, used }
        });
        open.used = Instant::now();
        rows.push(open.chain.append(at, text(body), &self.secret));
    }

    /// Closes chains that are idle or exceed the bound.
    fn end_idle(&mut self, rows: &mut Rows) {
        let used = |(tenant, open): (&Uuid, &OpenChain)| (open.used, *tenant);
        let mut chains: Vec<(Instant, Uuid)> = self.chains.iter().map(used).collect();
        let excess = chains.len().saturating_sub(MOST_CHAINS);
        if excess > 0 {
            chains.sort_unstable();
        }
        for (index, (used, tenant)) in chains.into_iter().enumerate() {
            if index < excess || used.elapsed() > IDLE_CLOSE {
                self.close(tenant, rows);
            }
        }
    }

    fn close(&mut self, tenant: Uuid, rows: &mut Rows) {
        if let Some(mut open) = self.chains.remove(&tenant) {
            let end = serde_json::to_string(&RecordBody::End {}).unwrap_or_default();
            let now = micros(SystemTime::now());
            let row = open.chain.append(now, end, &self.secret);
            rows.entry(tenant).or_default().push(row);
        }
    }

    async fn write(&mut self, rows: Rows, end: &CancellationToken) {
        for (tenant, rows) in rows {
            self.write_of(tenant, &rows, end).await;
        }
    }

    /// Writes one tenant's rows, retrying until Postgres takes or finally refuses them.
    async fn write_of(&mut self, tenant: Uuid, rows: &[Row], end: &CancellationToken) {
        let (mut wait, mut refusals) = (FIRST_RETRY, 0);
        while let Err(error) = self.try_write(tenant, rows).await {
            // The partition may have been dropped.
            self.month = 0..0;
            if error.is_missing_reference() {
                // The tenant was erased, and its records with it.
                self.chains.remove(&tenant);
                return;
            }
            self.metrics.failures.inc();
            let count = rows.len();
            if self.outage.failed() {
                tracing::warn!(error = %CauseChain(&error), count, "audit records can't be written yet");
            }
            refusals += u32::from(error.is_refusal());
            if refusals >= MOST_REFUSALS {
                self.give_up(tenant, count as u64);
                return;
            }
            pause(wait, end).await;
            wait = (wait * 2).min(LONGEST_RETRY);
        }
        self.metrics.written.inc_by(rows.len() as u64);
        if self.outage.ended() {
            tracing::info!("audit records are written again");
        }
    }

    /// Gives up rows that Postgres refuses. The tenant's next record starts a new chain, which
    /// reports them as missing.
    fn give_up(&mut self, tenant: Uuid, count: u64) {
        self.chains.remove(&tenant);
        self.overflow.missing(tenant, count);
        self.metrics.missing.inc_by(count);
        tracing::error!(count, "audit records were given up: Postgres refuses them");
    }

    async fn try_write(&mut self, tenant: Uuid, rows: &[Row]) -> Result<(), StoreError> {
        // Each month of the batch: Postgres rejects all rows if one partition is missing.
        for row in rows {
            if !self.month.contains(&row.at) {
                self.month = self.stores.make_audit_month(row.at).await?;
                // Also the next month, so that nothing waits when it begins.
                self.stores.make_audit_month(self.month.end).await.ok();
            }
        }
        let rows = columns(rows);
        self.stores.tenant(tenant).append_audit(&rows).await
    }
}

fn columns(rows: &[Row]) -> AuditRows<'_> {
    let mut columns = AuditRows::default();
    for row in rows {
        columns.chains.push(row.chain);
        columns.numbers.push(row.number);
        columns.moments.push(row.at);
        columns.records.push(&row.record);
        columns.macs.push(&row.mac);
    }
    columns
}

/// Pauses after a failure; only briefly once the gateway shuts down.
async fn pause(wait: Duration, end: &CancellationToken) {
    if end.is_cancelled() {
        return tokio::time::sleep(FIRST_RETRY).await;
    }
    tokio::select! {
        () = tokio::time::sleep(wait) => {}
        () = end.cancelled() => {}
    }
}
