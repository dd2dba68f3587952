//! Metrics of histories.

use std::time::Duration;

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{
        counter::Counter,
        family::Family,
        histogram::{Histogram, exponential_buckets},
    },
    registry::{Registry, Unit},
};

/// How a build of a commit-graph or ledger ended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BuildOutcome {
    /// A new one exists.
    Made,
    /// There are no commits, too many, or none that are new.
    Unfit,
    /// The worker shut down, or the build took too long.
    Stopped,
    /// The repository could not be read.
    Failed,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BuildLabels {
    part: &'static str,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LookupLabels {
    kind: &'static str,
    outcome: &'static str,
}

/// Metrics of histories.
#[derive(Clone)]
pub struct HistoryMetrics {
    builds: Family<BuildLabels, Histogram, fn() -> Histogram>,
    lookups: Family<LookupLabels, Counter>,
}

impl HistoryMetrics {
    /// Registers the metrics under the prefix of `registry`.
    pub fn registered(registry: &mut Registry) -> Self {
        let builds = Family::<BuildLabels, _, _>::new_with_constructor(long_buckets as fn() -> _);
        let lookups = Family::<LookupLabels, Counter>::default();
        let help = "Time to build a project's commit-graph or ledger, by outcome";
        registry.register_with_unit("history_build", help, Unit::Seconds, builds.clone());
        let help = "Lookups of cached answers about histories";
        registry.register("history_lookups", help, lookups.clone());
        HistoryMetrics { builds, lookups }
    }

    /// Records the end of a build.
    pub(crate) fn record_build(&self, part: &'static str, outcome: BuildOutcome, took: Duration) {
        let outcome = match outcome {
            BuildOutcome::Made => "made",
            BuildOutcome::Unfit => "unfit",
            BuildOutcome::Stopped => "stopped",
            BuildOutcome::Failed => "failed",
        };
        let builds = self.builds.get_or_create(&BuildLabels { part, outcome });
        builds.observe(took.as_secs_f64());
    }

    /// Records a cache lookup.
    pub(crate) fn record_lookup(&self, kind: &'static str, is_hit: bool) {
        for (outcome, count) in [("hit", u64::from(is_hit)), ("miss", u64::from(!is_hit))] {
            // Both begin with the first lookup: their share is shown.
            let lookups = self.lookups.get_or_create(&LookupLabels { kind, outcome });
            lookups.inc_by(count);
        }
    }
}

/// Buckets from 10 ms to about 44 minutes: builds stop after half an hour.
fn long_buckets() -> Histogram {
    Histogram::new(exponential_buckets(0.01, 2.0, 19))
}
