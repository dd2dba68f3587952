//! Metrics of the shared store of limits. A gateway without a store exposes none of them.

use std::time::Duration;

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{
        counter::Counter,
        family::Family,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::{Registry, Unit},
};

use super::{ReasonLabel, registered};

/// An empty label set: the metric does not exist before its first use.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct NoLabel {}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ModeLabel {
    mode: &'static str,
}

/// Metrics of the shared store of limits.
pub(crate) struct LimitStoreMetrics {
    up: Family<ModeLabel, Gauge>,
    failures: Family<ReasonLabel, Counter>,
    durations: Family<NoLabel, Histogram, fn() -> Histogram>,
    fallbacks: Family<ModeLabel, Counter>,
}

impl LimitStoreMetrics {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let durations = Family::<NoLabel, _, _>::new_with_constructor(buckets as fn() -> _);
        registry.register_with_unit(
            "limit_store_duration",
            "Time that a message waited for the store of limits",
            Unit::Seconds,
            durations.clone(),
        );
        LimitStoreMetrics {
            up: registered(
                registry,
                "limit_store_up",
                "1 while the store of limits answers, else 0; mode is the value of --limits-when-down",
            ),
            failures: registered(
                registry,
                "limit_store_failures",
                "Failures of the store of limits, by reason",
            ),
            durations,
            fallbacks: registered(
                registry,
                "limit_fallbacks",
                "Messages decided without the store of limits, by mode",
            ),
        }
    }

    /// Sets whether the store is up. `mode` is the value of `--limits-when-down`. Set from the
    /// start, so that alerts see gateways that no longer get messages.
    pub(crate) fn up(&self, mode: &'static str, up: bool) {
        self.up
            .get_or_create(&ModeLabel { mode })
            .set(i64::from(up));
    }

    /// Counts a failure. `reason` is `connection`, `timeout`, `refused` or `garbage`.
    pub(crate) fn failed(&self, reason: &'static str) {
        self.failures.get_or_create(&ReasonLabel { reason }).inc();
    }

    /// Records how long a message waited.
    pub(crate) fn took(&self, took: Duration) {
        let durations = self.durations.get_or_create(&NoLabel {});
        durations.observe(took.as_secs_f64());
    }

    /// Counts a message that was decided without the store. `mode` is `shares`, `closed` or `open`.
    pub(crate) fn fallback(&self, mode: &'static str) {
        self.fallbacks.get_or_create(&ModeLabel { mode }).inc();
    }
}

/// 0.1 ms to about 0.4 s: from a store on this machine to one that is nearly down.
fn buckets() -> Histogram {
    Histogram::new(exponential_buckets(0.000_1, 2.0, 13))
}
