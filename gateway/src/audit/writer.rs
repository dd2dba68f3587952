//! The one who writes records: chains them, and brings them to Postgres in batches.
//!
//! What a reader would get wrong: a record is chained once and written until Postgres has it. A batch
//! whose outcome is unknown is written again, row for row the same, and rows that are there are passed
//! over. So a chain has no gap that its own records don't tell of.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Range,
    sync::Arc,
    time::{Duration, SystemTime},
};

use archway_proto::{chain::Chain as Causes, misleading::visible_json};
use tokio::{sync::mpsc, time::Instant};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    Audit,
    chain::{Chain, Row},
    record::{Record, Told},
    tally::Tally,
};
use crate::{
    metrics::AuditMetrics,
    secrets::RootSecret,
    store::{AuditRows, StoreError, Stores, micros},
};

/// Records of one batch, at most.
const BATCH: usize = 1_024;
/// How long more are waited for once there is one.
const GATHER: Duration = Duration::from_millis(100);
/// How often counts are looked for while no record comes.
const TICK: Duration = Duration::from_secs(1);
/// A chain without calls for so long ends; the next call begins another.
const IDLE: Duration = Duration::from_secs(3600);
/// Chains that are open at a time. Beyond, the one that is asked for least lately ends.
const MOST_CHAINS: usize = 10_000;
/// How long what could not be written is left alone.
const FIRST_RETRY: Duration = Duration::from_millis(100);
const LONGEST_RETRY: Duration = Duration::from_secs(5);
/// How often the same rows are refused before they are given up: nothing may stop the others.
const MOST_REFUSALS: u32 = 3;
/// How far a record's moment may lie before now and behind it, in microseconds: only of months that
/// are near are there partitions, and clocks jump.
const FARTHEST: (i64, i64) = (30 * 86_400_000_000, 3_600_000_000);
/// How long a gateway that ends goes on writing.
const FAREWELL: Duration = Duration::from_secs(2);

/// The queue's end that is written from.
pub(crate) struct Writer {
    incoming: mpsc::Receiver<Record>,
    /// What came and is not chained yet.
    batch: Vec<Record>,
    tally: Arc<Tally>,
    stores: Stores,
    secret: Arc<RootSecret>,
    gateway: String,
    metrics: AuditMetrics,
    chains: HashMap<Uuid, Open>,
    /// The month whose partition is known to be there, in microseconds since 1970.
    month: Range<i64>,
}

/// A chain that goes on.
struct Open {
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
            tally: audit.tally.clone(),
            stores,
            secret: audit.secret.clone(),
            gateway,
            metrics: audit.metrics.clone(),
            chains: HashMap::new(),
            month: 0..0,
        }
    }

    /// Writes what comes until `end`, then what is left, and the end of each chain: for two seconds,
    /// whatever Postgres does.
    pub(crate) async fn keep(&mut self, end: &CancellationToken) {
        let farewell = async {
            end.cancelled().await;
            tokio::time::sleep(FAREWELL).await;
        };
        tokio::select! {
            () = self.write_all(end) => return,
            () = farewell => {}
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

    /// Waits for the next batch, or for a while if none comes.
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

    /// Chains what came and what was counted meanwhile, and writes it.
    async fn take(&mut self, end: &CancellationToken) {
        let mut rows = Rows::new();
        let now = micros(SystemTime::now());
        for record in std::mem::take(&mut self.batch) {
            let at = micros(record.at).clamp(now - FARTHEST.0, now + FARTHEST.1);
            self.append(record.who.tenant_id(), at, &record.told(), &mut rows);
        }
        for counted in self.tally.take() {
            self.append(counted.tenant, now, &counted.told(), &mut rows);
        }
        self.end_idle(&mut rows);
        self.write(rows, end).await;
    }

    /// Appends to the tenant's chain, which begins if there is none.
    fn append(&mut self, tenant: Uuid, at: i64, told: &Told<'_>, rows: &mut Rows) {
        // Its MAC covers these bytes, so what misleads is shown from the beginning.
        let text = |told: &Told<'_>| {
            let told = serde_json::to_string(told).unwrap_or_default();
            visible_json(&told).into_owned()
        };
        let rows = rows.entry(tenant).or_default();
        let open = self.chains.entry(tenant).or_insert_with(|| {
            let begin = Told::Begin {
                gateway: &self.gateway,
                version: env!("CARGO_PKG_VERSION"),
            };
            let mut chain = Chain::new(tenant);
            rows.push(chain.append(at, text(&begin), &self.secret));
            let used = Instant::now();
            Open { chain, used }
        });
        open.used = Instant::now();
        rows.push(open.chain.append(at, text(told), &self.secret));
    }

    /// Ends the chains that nobody asked for lately, and those that are too many.
    fn end_idle(&mut self, rows: &mut Rows) {
        let used = |(tenant, open): (&Uuid, &Open)| (open.used, *tenant);
        let mut chains: Vec<(Instant, Uuid)> = self.chains.iter().map(used).collect();
        let excess = chains.len().saturating_sub(MOST_CHAINS);
        if excess > 0 {
            chains.sort_unstable();
        }
        for (place, (used, tenant)) in chains.into_iter().enumerate() {
            if place < excess || used.elapsed() > IDLE {
                self.close(tenant, rows);
            }
        }
    }

    fn close(&mut self, tenant: Uuid, rows: &mut Rows) {
        if let Some(mut open) = self.chains.remove(&tenant) {
            let end = serde_json::to_string(&Told::End {}).unwrap_or_default();
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

    /// Writes one tenant's rows, however often it takes.
    async fn write_of(&mut self, tenant: Uuid, rows: &[Row], end: &CancellationToken) {
        let (mut wait, mut refusals) = (FIRST_RETRY, 0);
        while let Err(error) = self.try_write(tenant, rows).await {
            // It may be the partition that is not there any more.
            self.month = 0..0;
            if error.is_missing_reference() {
                // The tenant was erased, and its records with it.
                self.chains.remove(&tenant);
                return;
            }
            self.metrics.failures.inc();
            let count = rows.len();
            tracing::warn!(error = %Causes(&error), count, "audit records can't be written yet");
            refusals += u32::from(error.is_refusal());
            if refusals >= MOST_REFUSALS {
                self.give_up(tenant, count as u64);
                return;
            }
            pause(wait, end).await;
            wait = (wait * 2).min(LONGEST_RETRY);
        }
        self.metrics.written.inc_by(rows.len() as u64);
    }

    /// Gives up rows that Postgres refuses: what comes next begins another chain, which tells of them.
    fn give_up(&mut self, tenant: Uuid, count: u64) {
        self.chains.remove(&tenant);
        self.tally.lost(tenant, count);
        self.metrics.missing.inc_by(count);
        tracing::error!(count, "audit records were given up: Postgres refuses them");
    }

    async fn try_write(&mut self, tenant: Uuid, rows: &[Row]) -> Result<(), StoreError> {
        // Of a batch that spans ends of months, each: Postgres takes none of it if one is missing.
        for row in rows {
            if !self.month.contains(&row.at) {
                self.month = self.stores.make_audit_month(row.at).await?;
                // The next one in time: when it begins, nobody waits for it.
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

/// Waits, and shortly once the gateway ends.
async fn pause(wait: Duration, end: &CancellationToken) {
    if end.is_cancelled() {
        return tokio::time::sleep(FIRST_RETRY).await;
    }
    tokio::select! {
        () = tokio::time::sleep(wait) => {}
        () = end.cancelled() => {}
    }
}
