//! What is told of the store of limits. Nothing is, in a gateway that has none.

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

/// No label: the metric is not there before it is used.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct NoLabel {}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ModeLabel {
    mode: &'static str,
}

/// The metrics of the store.
pub(crate) struct LimitStore {
    up: Family<ModeLabel, Gauge>,
    failures: Family<ReasonLabel, Counter>,
    durations: Family<NoLabel, Histogram, fn() -> Histogram>,
    fallbacks: Family<ModeLabel, Counter>,
}

impl LimitStore {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let durations = Family::<NoLabel, _, _>::new_with_constructor(buckets as fn() -> _);
        registry.register_with_unit(
            "limit_store_duration",
            "Time that a message waited for the store of limits",
            Unit::Seconds,
            durations.clone(),
        );
        LimitStore {
            up: registered(
                registry,
                "limit_store_up",
                "1 while the store of limits is there, else 0; mode is what is done without it",
            ),
            failures: registered(
                registry,
                "limit_store_failures",
                "Times the store of limits was found to be of no use, by reason",
            ),
            durations,
            fallbacks: registered(
                registry,
                "limit_fallbacks",
                "Messages judged without the store of limits, by mode",
            ),
        }
    }

    /// Says whether the store is there. `mode` is what `--limits-when-down` says: told from the start, so
    /// that an alert knows it of a gateway to which no message comes any more.
    pub(crate) fn up(&self, mode: &'static str, up: bool) {
        self.up
            .get_or_create(&ModeLabel { mode })
            .set(i64::from(up));
    }

    /// Counts a failure. `reason` is `connection`, `timeout`, `refused` or `garbage`.
    pub(crate) fn failed(&self, reason: &'static str) {
        self.failures.get_or_create(&ReasonLabel { reason }).inc();
    }

    /// Notes how long a message waited.
    pub(crate) fn took(&self, took: Duration) {
        let durations = self.durations.get_or_create(&NoLabel {});
        durations.observe(took.as_secs_f64());
    }

    /// Counts a message that was judged without the store. `mode` is `shares`, `closed` or `open`.
    pub(crate) fn fallback(&self, mode: &'static str) {
        self.fallbacks.get_or_create(&ModeLabel { mode }).inc();
    }
}

/// 0.1 ms to about 0.4 s: from a store on this machine to one that is as good as gone.
fn buckets() -> Histogram {
    Histogram::new(exponential_buckets(0.000_1, 2.0, 13))
}
