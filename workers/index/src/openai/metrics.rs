//! What is counted of requests to a service: by how they ended, how long they took, and whether it is
//! asked at all.

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

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// With what was asked for.
    Answered,
    /// It takes no more for now.
    Limited,
    /// It says that it failed.
    Failed,
    /// No connection, or one that broke.
    Unreachable,
    /// The time was up.
    Late,
    /// It refuses such requests.
    Refused,
    /// It answered something else.
    Unusable,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabel {
    outcome: &'static str,
}

/// What is counted of requests to one service; all stays 0 where it is not asked.
#[derive(Clone)]
pub struct ServiceMetrics {
    requests: Family<OutcomeLabel, Counter>,
    durations: Histogram,
    circuit: Gauge,
}

impl Default for ServiceMetrics {
    fn default() -> Self {
        ServiceMetrics {
            requests: Family::default(),
            durations: buckets(),
            circuit: Gauge::default(),
        }
    }
}

impl Asked {
    /// Its name, in labels and results.
    pub fn name(self) -> &'static str {
        match self {
            Asked::Answered => "answered",
            Asked::Limited => "limited",
            Asked::Failed => "failed",
            Asked::Unreachable => "unreachable",
            Asked::Late => "late",
            Asked::Refused => "refused",
            Asked::Unusable => "unusable",
        }
    }
}

impl ServiceMetrics {
    /// `prefix` begins the names, `service` is what help calls it.
    pub fn register(&self, registry: &mut Registry, prefix: &str, service: &str) {
        registry.register(
            format!("{prefix}_requests"),
            format!("Requests to {service}, by outcome"),
            self.requests.clone(),
        );
        registry.register_with_unit(
            format!("{prefix}_request_duration"),
            format!("Time until {service} answered, or failed to"),
            Unit::Seconds,
            self.durations.clone(),
        );
        registry.register(
            format!("{prefix}_circuit_state"),
            format!("Whether {service} is asked: 0 closed, 1 half-open, 2 open"),
            self.circuit.clone(),
        );
    }

    /// A request ended.
    pub(crate) fn asked(&self, asked: Asked, took: Duration) {
        let outcome = asked.name();
        self.requests.get_or_create(&OutcomeLabel { outcome }).inc();
        self.durations.observe(took.as_secs_f64());
    }

    /// Whether it is asked.
    pub(crate) fn circuit(&self, state: i64) {
        self.circuit.set(state);
    }
}

/// 1 ms to about 33 s: from a cached answer to the longest deadline.
fn buckets() -> Histogram {
    Histogram::new(exponential_buckets(0.001, 2.0, 16))
}
