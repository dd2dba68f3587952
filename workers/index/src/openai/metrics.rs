//! Metrics of requests to one service: outcomes, durations, and the state of its circuit.

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
pub enum RequestOutcome {
    /// A usable answer.
    Answered,
    /// Rate limit (429).
    Limited,
    /// The service reported an error of its own.
    Failed,
    /// The connection failed or broke.
    Unreachable,
    /// The request timed out.
    Late,
    /// The service rejected the request.
    Refused,
    /// The answer cannot be used.
    Unusable,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabel {
    outcome: &'static str,
}

/// Metrics of requests to one service; all stay 0 where it is not used.
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

impl RequestOutcome {
    /// Label value, also shown in results.
    pub fn name(self) -> &'static str {
        match self {
            RequestOutcome::Answered => "answered",
            RequestOutcome::Limited => "limited",
            RequestOutcome::Failed => "failed",
            RequestOutcome::Unreachable => "unreachable",
            RequestOutcome::Late => "late",
            RequestOutcome::Refused => "refused",
            RequestOutcome::Unusable => "unusable",
        }
    }
}

impl ServiceMetrics {
    /// Registers the metrics: `prefix` starts their names, `service` stands for it in help texts.
    pub fn register(&self, registry: &mut Registry, prefix: &str, service: &str) {
        registry.register(
            format!("{prefix}_requests"),
            format!("Requests to {service}, by outcome"),
            self.requests.clone(),
        );
        registry.register_with_unit(
            format!("{prefix}_request_duration"),
            format!("Duration of requests to {service}, failed ones included"),
            Unit::Seconds,
            self.durations.clone(),
        );
        registry.register(
            format!("{prefix}_circuit_state"),
            format!("Circuit of {service}: 0 closed, 1 half-open, 2 open"),
            self.circuit.clone(),
        );
    }

    /// Counts a request that ended.
    pub(crate) fn record(&self, request: RequestOutcome, took: Duration) {
        let outcome = request.name();
        self.requests.get_or_create(&OutcomeLabel { outcome }).inc();
        self.durations.observe(took.as_secs_f64());
    }

    /// Sets the gauge of the circuit's state.
    pub(crate) fn set_circuit_state(&self, state: i64) {
        self.circuit.set(state);
    }
}

/// 1 ms to about 33 s: from a cached answer to the longest deadline.
fn buckets() -> Histogram {
    Histogram::new(exponential_buckets(0.001, 2.0, 16))
}
