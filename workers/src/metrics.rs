//! The worker's metrics. Labels come from closed sets: a tool of the registry, an outcome.

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
use archway_repo::metrics::RepoMetrics;

/// The tool label of tools that are not in the registry.
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

/// The resource that a call waits for. The first two come before its work on files.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WaitKind {
    /// A permit for heavy work.
    HeavyPermit,
    /// A blocking thread.
    BlockingThread,
    /// A permit for the chat model.
    Chat,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WaitLabel {
    of: &'static str,
}

/// The worker's metrics.
pub(crate) struct Metrics {
    registry: Registry,
    calls: Family<CallLabels, Counter>,
    durations: Family<ToolLabel, Histogram, fn() -> Histogram>,
    in_flight: Gauge,
    waiting: Family<WaitLabel, Gauge>,
    waits: Family<WaitLabel, Histogram, fn() -> Histogram>,
    history: HistoryMetrics,
    index: IndexMetrics,
    repo: RepoMetrics,
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
        let waiting = Family::<WaitLabel, Gauge>::default();
        let waits = Family::<WaitLabel, _, _>::new_with_constructor(buckets as fn() -> _);
        let help =
            "Calls waiting for heavy work's turn, a blocking thread or the chat model's turn";
        registry.register("calls_waiting", help, waiting.clone());
        let help = "Time that calls waited for them, successfully or not";
        registry.register_with_unit("call_wait", help, Unit::Seconds, waits.clone());
        let history = HistoryMetrics::registered(&mut registry);
        let index = IndexMetrics::registered(&mut registry);
        let repo = RepoMetrics::registered(&mut registry);
        let accesses_dropped = Counter::default();
        let help =
            "File accesses that were not recorded: the queue was full, or Postgres unavailable";
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
            repo,
            accesses_dropped,
        }
    }

    /// Also exposes the metrics that `register` adds: those of a service that this worker uses.
    #[must_use]
    pub(crate) fn with(mut self, register: impl FnOnce(&mut Registry)) -> Self {
        register(&mut self.registry);
        self
    }

    /// The metrics of history caches.
    pub(crate) fn history(&self) -> HistoryMetrics {
        self.history.clone()
    }

    /// The metrics of opened projects.
    pub(crate) fn repo(&self) -> RepoMetrics {
        self.repo.clone()
    }

    /// The metrics of indexing.
    pub(crate) fn index(&self) -> IndexMetrics {
        self.index.clone()
    }

    /// Counts file accesses that were not recorded.
    pub(crate) fn accesses_dropped(&self) -> Counter {
        self.accesses_dropped.clone()
    }

    /// The metrics of one kind of wait.
    pub(crate) fn waits(&self, of: WaitKind) -> WaitMetrics {
        let of = match of {
            WaitKind::HeavyPermit => "turn",
            WaitKind::BlockingThread => "place",
            WaitKind::Chat => "chat",
        };
        let label = WaitLabel { of };
        WaitMetrics {
            waiting: self.waiting.get_or_create(&label).clone(),
            waits: self.waits.get_or_create(&label).clone(),
        }
    }

    /// Counts a call until the returned value is settled or dropped.
    pub(crate) fn start(self: &Arc<Self>, tool: &'static str) -> RunningCall {
        self.in_flight.inc();
        RunningCall {
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

/// The metrics of one kind of wait.
pub(crate) struct WaitMetrics {
    waiting: Gauge,
    waits: Histogram,
}

impl WaitMetrics {
    /// Counts a call that need not wait.
    pub(crate) fn no_wait(&self) {
        self.waits.observe(0.0);
    }

    /// Counts a call that begins to wait.
    pub(crate) fn begin(&self) {
        self.waiting.inc();
    }

    /// Counts a call that stopped waiting.
    pub(crate) fn end(&self, waited: Duration) {
        self.waiting.dec();
        self.waits.observe(waited.as_secs_f64());
    }
}

/// A running call. If it is dropped unsettled, its caller went away.
pub(crate) struct RunningCall {
    metrics: Arc<Metrics>,
    tool: &'static str,
    started: Instant,
    outcome: &'static str,
}

impl RunningCall {
    /// Ends the call with outcome `ok` or a fault's code.
    pub(crate) fn settle(mut self, outcome: &'static str) {
        self.outcome = outcome;
    }
}

impl Drop for RunningCall {
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

/// Buckets from 1 ms to about 33 s: from a cached answer to the longest deadline.
fn buckets() -> Histogram {
    Histogram::new(exponential_buckets(0.001, 2.0, 16))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_counts_while_it_runs_and_then_under_its_outcome() {
        let metrics = Arc::new(Metrics::new());
        let (dropped, settled) = (metrics.start("hello"), metrics.start("hello"));
        let text = metrics.text().unwrap();
        assert!(
            text.contains("archway_worker_tool_calls_in_flight 2"),
            "{text}"
        );
        settled.settle("ok");
        drop(dropped);
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
