//! Metrics of opened projects.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// Metrics of opened projects.
#[derive(Clone, Debug, Default)]
pub struct RepoMetrics {
    open: Gauge,
    evicted: Counter,
    index_builds: Counter,
    index_failures: Counter,
    index_damaged: Counter,
}

impl RepoMetrics {
    /// Registers the metrics under the prefix of `registry`.
    pub fn registered(registry: &mut Registry) -> RepoMetrics {
        let metrics = RepoMetrics::default();
        let help = "Projects that are open for calls";
        registry.register("open_projects", help, metrics.open.clone());
        let help = "Projects closed to make room for others; the next call opens them again";
        registry.register("open_projects_evicted", help, metrics.evicted.clone());
        let help = "Builds of the search index of a repository";
        registry.register("search_index_builds", help, metrics.index_builds.clone());
        let help = "Builds of the search index that failed; searches read the files instead";
        let failures = metrics.index_failures.clone();
        registry.register("search_index_build_failures", help, failures);
        let help = "Parts of the search index that were damaged and removed";
        registry.register("search_index_damaged", help, metrics.index_damaged.clone());
        metrics
    }

    pub(super) fn search_index_built(&self) {
        self.index_builds.inc();
    }

    pub(super) fn search_index_failed(&self) {
        self.index_failures.inc();
    }

    pub(super) fn search_index_damaged(&self) {
        self.index_damaged.inc();
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

    /// Builds of the index, those that failed, and damaged parts.
    #[cfg(test)]
    pub(super) fn index_counts(&self) -> (u64, u64, u64) {
        (
            self.index_builds.get(),
            self.index_failures.get(),
            self.index_damaged.get(),
        )
    }

    /// Open and evicted projects.
    #[cfg(test)]
    pub(super) fn counts(&self) -> (i64, u64) {
        (self.open.get(), self.evicted.get())
    }
}
