//! Metrics of indexing.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

/// How a run ended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RunOutcome {
    /// The index is complete.
    Complete,
    /// The index is as before.
    Failed,
    /// Another worker took the lease.
    LeaseLost,
    /// The worker stopped first.
    Stopped,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RunLabel {
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StoreLabels {
    operation: &'static str,
    outcome: &'static str,
}

/// Metrics of indexing.
#[derive(Clone)]
pub struct IndexMetrics {
    runs: Family<RunLabel, Histogram, fn() -> Histogram>,
    texts: Counter,
    chunks: Counter,
    /// Texts that active runs have still to upload.
    left: Gauge,
    /// Bytes of indexes cached in memory.
    pub memory: Gauge,
    /// Time of the last scan, in seconds since 1970.
    looked: Gauge,
    under_way: Gauge,
    lost: Counter,
    store: Family<StoreLabels, Counter>,
    /// 1 if this worker has an indexer.
    indexing: Gauge,
    /// Projects that could not be read by the last scan.
    unreadable: Gauge,
}

impl IndexMetrics {
    /// Registers the metrics under the prefix of `registry`.
    pub fn registered(registry: &mut Registry) -> IndexMetrics {
        let metrics = IndexMetrics {
            runs: Family::new_with_constructor(buckets as fn() -> _),
            texts: Counter::default(),
            chunks: Counter::default(),
            left: Gauge::default(),
            memory: Gauge::default(),
            looked: Gauge::default(),
            under_way: Gauge::default(),
            lost: Counter::default(),
            store: Family::default(),
            indexing: Gauge::default(),
            unreadable: Gauge::default(),
        };
        let help = "Duration of the indexer's runs, by outcome";
        registry.register_with_unit("index_run", help, Unit::Seconds, metrics.runs.clone());
        let help = "Texts that were cut, embedded and stored";
        registry.register("index_texts", help, metrics.texts.clone());
        let help = "Chunks of these texts";
        registry.register("index_chunks", help, metrics.chunks.clone());
        let help = "Texts that active runs have still to store";
        registry.register("index_texts_left", help, metrics.left.clone());
        let help = "Memory of the indexes cached for searches";
        let memory = metrics.memory.clone();
        registry.register_with_unit("index_memory", help, Unit::Bytes, memory);
        let help = "When due projects were last scanned, in seconds since 1970; every 2 to 10 s";
        let looked = metrics.looked.clone();
        registry.register_with_unit("index_looked_timestamp", help, Unit::Seconds, looked);
        let help = "Active runs of the indexer";
        registry.register("index_runs_under_way", help, metrics.under_way.clone());
        let help = "Indexes whose store had lost chunks, and which were rebuilt";
        registry.register("index_losses", help, metrics.lost.clone());
        metrics.register_state(registry);
        metrics
    }

    /// Metrics of whether and where indexing happens.
    fn register_state(&self, registry: &mut Registry) {
        let help = "Requests to the store of indexes, by operation and outcome";
        registry.register("index_store_requests", help, self.store.clone());
        let help = "1 if this worker updates indexes, else 0";
        registry.register("indexing", help, self.indexing.clone());
        let help = "Projects with an index that the last scan could not read";
        registry.register("index_projects_unreadable", help, self.unreadable.clone());
    }

    /// Records that this worker has an indexer.
    pub(crate) fn indexing(&self) {
        self.indexing.set(1);
    }

    /// Sets the number of unreadable projects.
    pub(crate) fn unreadable(&self, projects: usize) {
        self.unreadable
            .set(i64::try_from(projects).unwrap_or(i64::MAX));
    }

    /// Counts a request to the store: `search`, `count`, `upsert` or `remove`.
    pub(crate) fn store_request(&self, operation: &'static str, outcome: &'static str) {
        let labels = StoreLabels { operation, outcome };
        self.store.get_or_create(&labels).inc();
    }

    /// Records a scan of all projects.
    pub(crate) fn scanned(&self) {
        self.looked.set(jiff::Timestamp::now().as_second());
    }

    /// Counts an active run until the guard is dropped.
    pub(crate) fn active_run(&self) -> GaugeShare {
        GaugeShare::of(&self.under_way, 1)
    }

    /// Counts an index that lost chunks.
    pub(crate) fn chunks_lost(&self) {
        self.lost.inc();
    }

    pub(crate) fn run_ended(&self, how: RunOutcome, took: Duration) {
        let outcome = match how {
            RunOutcome::Complete => "whole",
            RunOutcome::Failed => "failed",
            RunOutcome::LeaseLost => "lost",
            RunOutcome::Stopped => "ended",
        };
        let runs = self.runs.get_or_create(&RunLabel { outcome });
        runs.observe(took.as_secs_f64());
    }

    /// Counts texts to upload, until the guard is dropped.
    pub(crate) fn remaining_texts(&self, texts: usize) -> GaugeShare {
        GaugeShare::of(&self.left, texts)
    }

    /// Counts uploaded texts and their chunks.
    pub(crate) fn uploaded(&self, texts: usize, chunks: usize) {
        self.texts.inc_by(texts as u64);
        self.chunks.inc_by(chunks as u64);
    }
}

/// A share of a gauge, taken back on drop: the texts that a run has still to upload, or the run.
pub(crate) struct GaugeShare {
    gauge: Gauge,
    count: i64,
}

impl GaugeShare {
    fn of(gauge: &Gauge, count: usize) -> GaugeShare {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        gauge.inc_by(count);
        GaugeShare {
            gauge: gauge.clone(),
            count,
        }
    }

    /// Reduces the share by uploaded texts.
    pub(crate) fn uploaded(&mut self, texts: usize) {
        let texts = i64::try_from(texts).unwrap_or(i64::MAX).min(self.count);
        self.gauge.dec_by(texts);
        self.count -= texts;
    }
}

impl Drop for GaugeShare {
    fn drop(&mut self) {
        self.gauge.dec_by(self.count);
    }
}

/// From 10 ms to 1.5 hours.
fn buckets() -> Histogram {
    Histogram::new(exponential_buckets(0.01, 3.0, 13))
}
