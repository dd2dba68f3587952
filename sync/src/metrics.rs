//! Metrics of runs, in the format of Prometheus.

use std::fmt;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use tokio::time::Duration;

use crate::failure::SyncState;

/// Metrics of runs.
pub(crate) struct SyncMetrics {
    registry: Registry,
    runs: Family<RunLabels, Counter>,
    running: Gauge,
    changes: Counter,
    seconds: Histogram,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RunLabels {
    state: &'static str,
}

impl SyncMetrics {
    pub(crate) fn new() -> SyncMetrics {
        let mut registry = Registry::with_prefix("archway_sync");
        let metrics = (
            Family::<RunLabels, Counter>::default(),
            Gauge::default(),
            Counter::default(),
            Histogram::new(exponential_buckets(0.05, 2.0, 16)),
        );
        let (runs, running, changes, seconds) = metrics.clone();
        for state in SyncState::ALL {
            _ = runs.get_or_create(&RunLabels {
                state: state.name(),
            });
        }
        registry.register(
            "runs",
            "Runs that ended, by the state that they left",
            metrics.0,
        );
        registry.register("running", "Runs of git at this moment", metrics.1);
        registry.register("changes", "Runs that brought something new", metrics.2);
        registry.register("run_seconds", "How long runs took", metrics.3);
        SyncMetrics {
            registry,
            runs,
            running,
            changes,
            seconds,
        }
    }

    /// A run begins.
    pub(crate) fn begun(&self) {
        self.running.inc();
    }

    /// A run has ended.
    pub(crate) fn ended(&self, state: SyncState, changed: bool, took: Duration) {
        self.running.dec();
        let labels = RunLabels {
            state: state.name(),
        };
        self.runs.get_or_create(&labels).inc();
        self.seconds.observe(took.as_secs_f64());
        if changed {
            self.changes.inc();
        }
    }

    /// How many runs are under way.
    pub(crate) fn running(&self) -> i64 {
        self.running.get()
    }

    /// The exposition that Prometheus scrapes.
    pub(crate) fn text(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.registry)?;
        Ok(text)
    }
}
