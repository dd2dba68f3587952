//! Metrics of runs and mirrors, in the format of Prometheus.

use std::fmt;
use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use tokio::time::Duration;

use crate::failure::SyncState;
use crate::store::MirrorsOverview;

/// Metrics of runs and mirrors.
pub(crate) struct SyncMetrics {
    registry: Registry,
    runs: Family<StateLabels, Counter>,
    running: Gauge,
    changes: Counter,
    seconds: Histogram,
    mirrors: Family<StateLabels, Gauge>,
    oldest_fetch: Gauge<f64, AtomicU64>,
    oldest_readers: Gauge<f64, AtomicU64>,
    volume_used: Gauge<f64, AtomicU64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StateLabels {
    state: &'static str,
}

impl StateLabels {
    fn of(state: SyncState) -> StateLabels {
        StateLabels {
            state: state.name(),
        }
    }
}

impl SyncMetrics {
    pub(crate) fn new() -> SyncMetrics {
        let mut metrics = SyncMetrics {
            registry: Registry::with_prefix("archway_sync"),
            runs: Family::default(),
            running: Gauge::default(),
            changes: Counter::default(),
            seconds: Histogram::new(exponential_buckets(0.05, 2.0, 16)),
            mirrors: Family::default(),
            oldest_fetch: Gauge::default(),
            oldest_readers: Gauge::default(),
            volume_used: Gauge::default(),
        };
        for state in SyncState::ALL {
            _ = metrics.runs.get_or_create(&StateLabels::of(state));
            _ = metrics.mirrors.get_or_create(&StateLabels::of(state));
        }
        metrics.register();
        metrics
    }

    fn register(&mut self) {
        let registry = &mut self.registry;
        let runs = "Runs that ended, by the state that they left";
        registry.register("runs", runs, self.runs.clone());
        let running = "Runs of git at this moment";
        registry.register("running", running, self.running.clone());
        let changes = "Runs that brought something new";
        registry.register("changes", changes, self.changes.clone());
        registry.register("run_seconds", "How long runs took", self.seconds.clone());
        let mirrors = "Mirrors at this place, by state";
        registry.register("mirrors", mirrors, self.mirrors.clone());
        registry.register(
            "oldest_fetch_seconds",
            "Time since the last fetch of the mirror for which it is longest ago",
            self.oldest_fetch.clone(),
        );
        registry.register(
            "oldest_readers_ratio",
            "Age of the oldest answer of a host about who may read a private repository, as a share of the grace",
            self.oldest_readers.clone(),
        );
        registry.register(
            "volume_used_ratio",
            "Share of the volume of mirrors that is used",
            self.volume_used.clone(),
        );
    }

    /// A run begins.
    pub(crate) fn begun(&self) {
        self.running.inc();
    }

    /// A run has ended.
    pub(crate) fn ended(&self, state: SyncState, changed: bool, took: Duration) {
        self.running.dec();
        self.runs.get_or_create(&StateLabels::of(state)).inc();
        self.seconds.observe(took.as_secs_f64());
        if changed {
            self.changes.inc();
        }
    }

    /// How the mirrors are now.
    pub(crate) fn mirrors(&self, mirrors: &MirrorsOverview) {
        for state in SyncState::ALL {
            let labels = StateLabels::of(state);
            let seen = mirrors.states.iter().find(|(name, _)| name == labels.state);
            let count = seen.map_or(0, |(_, count)| i64::try_from(*count).unwrap_or(i64::MAX));
            self.mirrors.get_or_create(&labels).set(count);
        }
        self.oldest_fetch.set(mirrors.oldest_seconds);
        self.oldest_readers.set(mirrors.oldest_readers_share);
    }

    /// The share of the volume that is used now.
    pub(crate) fn volume_used(&self, share: f64) {
        self.volume_used.set(share);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_that_no_mirror_is_in_any_more_is_exposed_as_zero() {
        let metrics = SyncMetrics::new();
        let mut mirrors = MirrorsOverview {
            states: vec![("not_found".to_owned(), 2), ("ok".to_owned(), 3)],
            bytes: 0,
            oldest_seconds: 7.5,
            oldest_readers_share: 0.5,
        };
        metrics.mirrors(&mirrors);
        metrics.volume_used(0.25);
        let text = metrics.text().unwrap();
        for line in [
            "archway_sync_mirrors{state=\"not_found\"} 2\n",
            "archway_sync_mirrors{state=\"failed\"} 0\n",
            "archway_sync_oldest_fetch_seconds 7.5\n",
            "archway_sync_volume_used_ratio 0.25\n",
        ] {
            assert!(text.contains(line), "{line} is not in {text}");
        }
        mirrors.states.remove(0);
        metrics.mirrors(&mirrors);
        let text = metrics.text().unwrap();
        assert!(text.contains("archway_sync_mirrors{state=\"not_found\"} 0\n"));
    }
}
