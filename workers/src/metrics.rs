//! What a worker counts. Labels come from closed sets: a tool of the registry, an outcome.

use std::{sync::Arc, time::Duration};

use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{
        counter::Counter,
        family::Family,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::{Registry, Unit},
};
use tokio::time::Instant;

use archway_history::HistoryMetrics;
use archway_index::metrics::IndexMetrics;

/// The tool label of names that are not in the registry.
pub(crate) const UNKNOWN_TOOL: &str = "unknown";

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    tool: &'static str,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ToolLabel {
    tool: &'static str,
}

/// What a call waits for: the first two before its work on files begins.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Waited {
    /// Heavy work's turn.
    Turn,
    /// A blocking thread.
    Place,
    /// The chat model's turn.
    Chat,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WaitedLabel {
    of: &'static str,
}

/// The worker's counters.
pub(crate) struct Metrics {
    registry: Registry,
    calls: Family<CallLabels, Counter>,
    durations: Family<ToolLabel, Histogram, fn() -> Histogram>,
    in_flight: Gauge,
    waiting: Family<WaitedLabel, Gauge>,
    waits: Family<WaitedLabel, Histogram, fn() -> Histogram>,
    history: HistoryMetrics,
    index: IndexMetrics,
    accesses_dropped: Counter,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("archway_worker");
        registry.register_collector(Box::new(archway_proto::trace::Spans));
        let calls = Family::<CallLabels, Counter>::default();
        let durations = Family::<ToolLabel, _, _>::new_with_constructor(buckets as fn() -> _);
        let in_flight = Gauge::default();
        let help = "Tool calls by tool and outcome";
        registry.register("tool_calls", help, calls.clone());
        registry.register_with_unit(
            "tool_call_duration",
            "Time from call received to result ready, by tool",
            Unit::Seconds,
            durations.clone(),
        );
        let help = "Tool calls that run now";
        registry.register("tool_calls_in_flight", help, in_flight.clone());
        let waiting = Family::<WaitedLabel, Gauge>::default();
        let waits = Family::<WaitedLabel, _, _>::new_with_constructor(buckets as fn() -> _);
        let help =
            "Calls that wait for heavy work's turn, a blocking thread or the chat model's turn";
        registry.register("calls_waiting", help, waiting.clone());
        let help = "Time waited for them, whether they came or not";
        registry.register_with_unit("call_wait", help, Unit::Seconds, waits.clone());
        let history = HistoryMetrics::registered(&mut registry);
        let index = IndexMetrics::registered(&mut registry);
        let accesses_dropped = Counter::default();
        let help = "File accesses that were not recorded: the queue was full, or Postgres away";
        registry.register("file_accesses_dropped", help, accesses_dropped.clone());
        Metrics {
            registry,
            calls,
            durations,
            in_flight,
            waiting,
            waits,
            history,
            index,
            accesses_dropped,
        }
    }

    /// Also exposes what `register` adds: the counters of a service that this worker uses.
    #[must_use]
    pub(crate) fn with(mut self, register: impl FnOnce(&mut Registry)) -> Self {
        register(&mut self.registry);
        self
    }

    /// Where what is kept of histories is counted.
    pub(crate) fn history(&self) -> HistoryMetrics {
        self.history.clone()
    }

    /// Where indexing is counted.
    pub(crate) fn index(&self) -> IndexMetrics {
        self.index.clone()
    }

    /// Where file accesses are counted that were not recorded.
    pub(crate) fn accesses_dropped(&self) -> Counter {
        self.accesses_dropped.clone()
    }

    /// Where those who wait for this are counted.
    pub(crate) fn waits(&self, of: Waited) -> Waits {
        let of = match of {
            Waited::Turn => "turn",
            Waited::Place => "place",
            Waited::Chat => "chat",
        };
        let label = WaitedLabel { of };
        Waits {
            waiting: self.waiting.get_or_create(&label).clone(),
            waits: self.waits.get_or_create(&label).clone(),
        }
    }

    /// Counts a call from here on until what is returned is settled or dropped.
    pub(crate) fn start(self: &Arc<Self>, tool: &'static str) -> Running {
        self.in_flight.inc();
        Running {
            metrics: Arc::clone(self),
            tool,
            started: Instant::now(),
            outcome: "cancelled",
        }
    }

    /// The text that Prometheus scrapes.
    pub(crate) fn text(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

/// Counts those who wait for one thing.
pub(crate) struct Waits {
    waiting: Gauge,
    waits: Histogram,
}

impl Waits {
    /// Somebody need not wait.
    pub(crate) fn none(&self) {
        self.waits.observe(0.0);
    }

    /// Somebody begins to wait.
    pub(crate) fn begin(&self) {
        self.waiting.inc();
    }

    /// Somebody who waited this long no longer does.
    pub(crate) fn end(&self, waited: Duration) {
        self.waiting.dec();
        self.waits.observe(waited.as_secs_f64());
    }
}

/// A call that runs. Dropped unsettled, its caller went away.
pub(crate) struct Running {
    metrics: Arc<Metrics>,
    tool: &'static str,
    started: Instant,
    outcome: &'static str,
}

impl Running {
    /// Ends the call with `ok` or a fault's code.
    pub(crate) fn settle(mut self, outcome: &'static str) {
        self.outcome = outcome;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let (tool, outcome) = (self.tool, self.outcome);
        let metrics = &self.metrics;
        metrics.in_flight.dec();
        metrics
            .calls
            .get_or_create(&CallLabels { tool, outcome })
            .inc();
        let duration = metrics.durations.get_or_create(&ToolLabel { tool });
        duration.observe(self.started.elapsed().as_secs_f64());
    }
}

/// 1 ms to about 33 s: from a cached answer to the longest deadline.
fn buckets() -> Histogram {
    Histogram::new(exponential_buckets(0.001, 2.0, 16))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_counts_while_it_runs_and_then_under_its_outcome() {
        let metrics = Arc::new(Metrics::new());
        let (left, kept) = (metrics.start("hello"), metrics.start("hello"));
        let text = metrics.text().unwrap();
        assert!(
            text.contains("archway_worker_tool_calls_in_flight 2"),
            "{text}"
        );
        kept.settle("ok");
        drop(left);
        let text = metrics.text().unwrap();
        for line in [
            r#"archway_worker_tool_calls_total{tool="hello",outcome="ok"} 1"#,
            r#"archway_worker_tool_calls_total{tool="hello",outcome="cancelled"} 1"#,
            r#"archway_worker_tool_call_duration_seconds_count{tool="hello"} 2"#,
            "archway_worker_tool_calls_in_flight 0",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }
}
