//! Metrics of tool calls, by tool.
//!
//! Prometheus gets counters and histograms. `/status` gets sums, which those do not provide.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use archway_proto::fault::Fault;
use parking_lot::RwLock;
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, histogram::Histogram},
    registry::{Registry, Unit},
};
use serde::Serialize;

use super::OutcomeClass;

/// How a tool call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// With a result.
    Ok,
    /// With a result that is an error (`isError`).
    Failed(Fault),
    /// With a protocol error.
    Refused,
    /// Its client disconnected.
    Cancelled,
}

impl Outcome {
    /// `ok`, the code of a fault, `refused`, or `cancelled`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::Failed(fault) => fault.code(),
            Outcome::Refused => "refused",
            Outcome::Cancelled => "cancelled",
        }
    }

    fn class(self) -> OutcomeClass {
        OutcomeClass::of(self.name())
    }

    /// Whether nothing was done for the call because its caller may not make it, or not now.
    pub(crate) fn is_refusal(self) -> bool {
        matches!(self, Outcome::Refused | Outcome::Failed(Fault::RateLimited))
    }

    fn is_timeout(self) -> bool {
        let late = [Fault::DeadlineExceeded, Fault::SearchTimeout];
        matches!(self, Outcome::Failed(fault) if late.contains(&fault))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    tool: Arc<str>,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ToolLabel {
    tool: Arc<str>,
}

/// Metrics of tool calls. Tools come from the catalog or are `unknown`, so labels are few.
pub(crate) struct ToolMetrics {
    calls: Family<CallLabels, Counter>,
    durations: Family<ToolLabel, Histogram, fn() -> Histogram>,
    counters: RwLock<BTreeMap<Arc<str>, Arc<ToolCounters>>>,
}

/// Totals of one tool since the gateway started.
#[derive(Debug, Default)]
struct ToolCounters {
    invocations: AtomicU64,
    denied: AtomicU64,
    failures: AtomicU64,
    timeouts: AtomicU64,
    total_us: AtomicU64,
}

/// Totals of one tool, as in `/status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ToolSums {
    /// Calls, however they ended.
    pub(crate) invocations: u64,
    /// Calls that their client may not make, or not like this or now: no failures of the service.
    pub(crate) denied: u64,
    /// Calls that the service could not answer, or not in time.
    pub(crate) failures: u64,
    /// Failures by timeout.
    pub(crate) timeouts: u64,
    /// The sum of all durations.
    pub(crate) total_ms: u64,
}

impl ToolMetrics {
    pub(super) fn new(registry: &mut Registry) -> ToolMetrics {
        let metrics = ToolMetrics {
            calls: Family::default(),
            durations: Family::new_with_constructor(buckets as fn() -> _),
            counters: RwLock::default(),
        };
        let help = "Time from body read to result built, by tool";
        let durations = metrics.durations.clone();
        registry.register_with_unit("tool_call_duration", help, Unit::Seconds, durations);
        let help = "Tool calls by tool and outcome";
        registry.register("tool_calls", help, metrics.calls.clone());
        metrics
    }

    /// Counts a call.
    pub(crate) fn call(&self, tool: &Arc<str>, outcome: Outcome, took: Duration) {
        let labels = CallLabels {
            tool: tool.clone(),
            outcome: outcome.name(),
        };
        self.calls.get_or_create(&labels).inc();
        let label = ToolLabel { tool: tool.clone() };
        let duration = self.durations.get_or_create(&label);
        duration.observe(took.as_secs_f64());
        self.counters_of(tool).count(outcome, took);
    }

    fn counters_of(&self, tool: &Arc<str>) -> Arc<ToolCounters> {
        if let Some(counters) = self.counters.read().get(tool) {
            return counters.clone();
        }
        let mut counters = self.counters.write();
        counters.entry(tool.clone()).or_default().clone()
    }

    /// The totals of all tools that were called.
    pub(crate) fn sums(&self) -> BTreeMap<Arc<str>, ToolSums> {
        let counters = self.counters.read();
        let sums = counters.iter();
        sums.map(|(tool, counters)| (tool.clone(), counters.sums()))
            .collect()
    }
}

impl ToolCounters {
    fn count(&self, outcome: Outcome, took: Duration) {
        self.invocations.fetch_add(1, Relaxed);
        let class = outcome.class();
        self.denied
            .fetch_add((class == OutcomeClass::Denied).into(), Relaxed);
        self.failures
            .fetch_add((class == OutcomeClass::Failed).into(), Relaxed);
        self.timeouts
            .fetch_add(outcome.is_timeout().into(), Relaxed);
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.total_us.fetch_add(us, Relaxed);
    }

    fn sums(&self) -> ToolSums {
        ToolSums {
            invocations: self.invocations.load(Relaxed),
            denied: self.denied.load(Relaxed),
            failures: self.failures.load(Relaxed),
            timeouts: self.timeouts.load(Relaxed),
            total_ms: self.total_us.load(Relaxed) / 1000,
        }
    }
}

/// 1 ms to about 33 s: from a cached answer to the longest deadline.
fn buckets() -> Histogram {
    Histogram::new(prometheus_client::metrics::histogram::exponential_buckets(
        0.001, 2.0, 16,
    ))
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;

    use super::*;

    #[test]
    fn a_call_shows_up_under_its_tool_and_outcome() {
        let mut registry = Registry::default();
        let metrics = ToolMetrics::new(&mut registry);
        metrics.call(&Arc::from("hello"), Outcome::Ok, Duration::from_millis(3));
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        let count = r#"tool_calls_total{tool="hello",outcome="ok"} 1"#;
        assert!(text.contains(count), "{text}");
        assert!(text.contains(r#"tool_call_duration_seconds_count{tool="hello"} 1"#));
    }

    #[test]
    fn a_timeout_is_a_failure_of_the_tool_and_a_refusal_is_not() {
        let metrics = ToolMetrics::new(&mut Registry::default());
        let tool = Arc::from("grep_codebase");
        for outcome in [
            Outcome::Ok,
            Outcome::Failed(Fault::RateLimited),
            Outcome::Failed(Fault::SearchTimeout),
            Outcome::Failed(Fault::InvalidPattern),
            Outcome::Refused,
            Outcome::Cancelled,
        ] {
            metrics.call(&tool, outcome, Duration::from_micros(1500));
        }
        let sums = ToolSums {
            invocations: 6,
            denied: 3,
            failures: 1,
            timeouts: 1,
            total_ms: 9,
        };
        assert_eq!(metrics.sums(), BTreeMap::from([(tool, sums)]));
    }
}
