//! What is counted of indexing.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

/// How a run of the indexer ended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ran {
    /// The index is whole.
    Whole,
    /// It is as it was.
    Failed,
    /// Another worker took it over.
    Lost,
    /// The worker ended first.
    Ended,
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

/// What is counted of indexing.
#[derive(Clone)]
pub struct IndexMetrics {
    runs: Family<RunLabel, Histogram, fn() -> Histogram>,
    texts: Counter,
    chunks: Counter,
    /// Texts that runs under way have still to bring home.
    left: Gauge,
    /// What indexes take that are held in memory.
    pub memory: Gauge,
    /// When projects were last looked at, in seconds since 1970.
    looked: Gauge,
    under_way: Gauge,
    lost: Counter,
    store: Family<StoreLabels, Counter>,
    /// 1 where an indexer runs.
    indexing: Gauge,
    /// Projects that could not be read when they were last looked at.
    unreadable: Gauge,
}

impl IndexMetrics {
    /// Registers them, under the prefix that `registry` has.
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
        let help = "Time that a run of the indexer took, by outcome";
        registry.register_with_unit("index_run", help, Unit::Seconds, metrics.runs.clone());
        let help = "Texts that were cut, embedded and brought home";
        registry.register("index_texts", help, metrics.texts.clone());
        let help = "Chunks of these texts";
        registry.register("index_chunks", help, metrics.chunks.clone());
        let help = "Texts that runs under way have still to bring home";
        registry.register("index_texts_left", help, metrics.left.clone());
        let help = "Memory of the indexes that are held here to be searched";
        let memory = metrics.memory.clone();
        registry.register_with_unit("index_memory", help, Unit::Bytes, memory);
        let help = "When all projects were last looked at, in seconds since 1970; every 2 to 10 s";
        let looked = metrics.looked.clone();
        registry.register_with_unit("index_looked_timestamp", help, Unit::Seconds, looked);
        let help = "Runs of the indexer under way";
        registry.register("index_runs_under_way", help, metrics.under_way.clone());
        let help = "Indexes whose home had lost chunks, and which were made anew";
        registry.register("index_losses", help, metrics.lost.clone());
        metrics.register_state(registry);
        metrics
    }

    /// What says whether indexing is done at all, and with what.
    fn register_state(&self, registry: &mut Registry) {
        let help = "What was asked of where indexes are kept, by operation and outcome";
        registry.register("index_store_requests", help, self.store.clone());
        let help = "1 where this worker keeps indexes up to date, else 0";
        registry.register("indexing", help, self.indexing.clone());
        let help = "Projects with an index that could not be read when they were last looked at";
        registry.register("index_projects_unreadable", help, self.unreadable.clone());
    }

    /// An indexer is there.
    pub(crate) fn indexing(&self) {
        self.indexing.set(1);
    }

    /// So many projects can't be read.
    pub(crate) fn unreadable(&self, projects: usize) {
        self.unreadable
            .set(i64::try_from(projects).unwrap_or(i64::MAX));
    }

    /// A request to where indexes are kept ended: `search`, `count`, `upsert` or `remove`.
    pub(crate) fn store_asked(&self, operation: &'static str, outcome: &'static str) {
        let labels = StoreLabels { operation, outcome };
        self.store.get_or_create(&labels).inc();
    }

    /// All projects were looked at.
    pub(crate) fn looked(&self) {
        self.looked.set(jiff::Timestamp::now().as_second());
    }

    /// A run is under way, until what is returned is dropped.
    pub(crate) fn under_way(&self) -> Left {
        Left::of(&self.under_way, 1)
    }

    /// A home lost chunks.
    pub(crate) fn lost(&self) {
        self.lost.inc();
    }

    pub(crate) fn ran(&self, how: Ran, took: Duration) {
        let outcome = match how {
            Ran::Whole => "whole",
            Ran::Failed => "failed",
            Ran::Lost => "lost",
            Ran::Ended => "ended",
        };
        let runs = self.runs.get_or_create(&RunLabel { outcome });
        runs.observe(took.as_secs_f64());
    }

    /// So many texts are to be brought home, until what is returned is dropped.
    pub(crate) fn left(&self, texts: usize) -> Left {
        Left::of(&self.left, texts)
    }

    /// So many texts went home, with so many chunks.
    pub(crate) fn brought(&self, texts: usize, chunks: usize) {
        self.texts.inc_by(texts as u64);
        self.chunks.inc_by(chunks as u64);
    }
}

/// What a gauge counts of a run: texts that it has still to bring home, or the run itself.
pub(crate) struct Left {
    gauge: Gauge,
    count: i64,
}

impl Left {
    fn of(gauge: &Gauge, count: usize) -> Left {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        gauge.inc_by(count);
        Left {
            gauge: gauge.clone(),
            count,
        }
    }

    /// So many of them are there.
    pub(crate) fn brought(&mut self, texts: usize) {
        let texts = i64::try_from(texts).unwrap_or(i64::MAX).min(self.count);
        self.gauge.dec_by(texts);
        self.count -= texts;
    }
}

impl Drop for Left {
    fn drop(&mut self) {
        self.gauge.dec_by(self.count);
    }
}

/// From 10 ms to an hour and a half.
fn buckets() -> Histogram {
    Histogram::new(exponential_buckets(0.01, 3.0, 13))
}
