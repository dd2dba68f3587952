//! What is counted of the service that makes vectors.

use std::time::Duration;

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::{Registry, Unit},
};

use super::buckets;

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// With vectors.
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

/// What is counted of the embedding service; all stays 0 where none is asked.
#[derive(Clone)]
pub(crate) struct EmbedderMetrics {
    requests: Family<OutcomeLabel, Counter>,
    durations: Histogram,
    texts: Counter,
    texts_refused: Counter,
    tokens: Counter,
    queries: Family<OutcomeLabel, Counter>,
    circuit: Gauge,
}

impl Default for EmbedderMetrics {
    fn default() -> Self {
        EmbedderMetrics {
            requests: Family::default(),
            durations: buckets(),
            texts: Counter::default(),
            texts_refused: Counter::default(),
            tokens: Counter::default(),
            queries: Family::default(),
            circuit: Gauge::default(),
        }
    }
}

impl EmbedderMetrics {
    pub(crate) fn register(&self, registry: &mut Registry) {
        let help = "Requests to the embedding service, by outcome";
        registry.register("embedder_requests", help, self.requests.clone());
        registry.register_with_unit(
            "embedder_request_duration",
            "Time until the embedding service answered, or failed to",
            Unit::Seconds,
            self.durations.clone(),
        );
        let help = "Texts that the embedding service made vectors of";
        registry.register("embedder_texts", help, self.texts.clone());
        let help = "Texts that it refused, which are found by their words alone";
        registry.register("embedder_texts_refused", help, self.texts_refused.clone());
        let help = "Tokens that the embedding service says it read";
        registry.register("embedder_tokens", help, self.tokens.clone());
        let help = "Vectors of queries that were looked for among kept ones";
        registry.register("embedder_query_lookups", help, self.queries.clone());
        let help = "Whether the embedding service is asked: 0 closed, 1 half-open, 2 open";
        registry.register("embedder_circuit_state", help, self.circuit.clone());
    }

    /// A request ended.
    pub(crate) fn asked(&self, asked: Asked, took: Duration) {
        let outcome = match asked {
            Asked::Answered => "answered",
            Asked::Limited => "limited",
            Asked::Failed => "failed",
            Asked::Unreachable => "unreachable",
            Asked::Late => "late",
            Asked::Refused => "refused",
            Asked::Unusable => "unusable",
        };
        self.requests.get_or_create(&OutcomeLabel { outcome }).inc();
        self.durations.observe(took.as_secs_f64());
    }

    /// It made vectors of so many texts, and says that they were so many tokens.
    pub(crate) fn read(&self, texts: usize, tokens: u64) {
        self.texts.inc_by(texts.try_into().unwrap_or(u64::MAX));
        self.tokens.inc_by(tokens);
    }

    /// It refuses a text, while it takes others.
    pub(crate) fn text_refused(&self) {
        self.texts_refused.inc();
    }

    /// The vector of a query was looked for.
    pub(crate) fn query_kept(&self, is_there: bool) {
        let outcome = if is_there { "hit" } else { "miss" };
        self.queries.get_or_create(&OutcomeLabel { outcome }).inc();
    }

    /// Whether it is asked.
    pub(crate) fn circuit(&self, state: i64) {
        self.circuit.set(state);
    }
}
