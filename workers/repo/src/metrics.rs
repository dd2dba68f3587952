//! Metrics of opened projects.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// Metrics of opened projects.
#[derive(Clone, Debug, Default)]
pub struct RepoMetrics {
    open: Gauge,
    evicted: Counter,
}

impl RepoMetrics {
    /// Registers the metrics under the prefix of `registry`.
    pub fn registered(registry: &mut Registry) -> RepoMetrics {
        let metrics = RepoMetrics::default();
        let help = "Projects that are open for calls";
        registry.register("open_projects", help, metrics.open.clone());
        let help = "Projects closed to make room for others; the next call opens them again";
        registry.register("open_projects_evicted", help, metrics.evicted.clone());
        metrics
    }

    pub(super) fn project_opened(&self) {
        self.open.inc();
    }

    pub(super) fn project_closed(&self) {
        self.open.dec();
    }

    pub(super) fn project_evicted(&self) {
        self.evicted.inc();
        self.open.dec();
    }

    /// Open and evicted projects.
    #[cfg(test)]
    pub(super) fn counts(&self) -> (i64, u64) {
        (self.open.get(), self.evicted.get())
    }
}
