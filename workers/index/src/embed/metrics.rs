//! Metrics of the embedding service.

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family},
    registry::Registry,
};

use crate::openai::ServiceMetrics;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabel {
    outcome: &'static str,
}

/// Metrics of the embedding service; all stay 0 if none is used.
#[derive(Clone, Default)]
pub struct EmbedderMetrics {
    requests: ServiceMetrics,
    texts: Counter,
    texts_refused: Counter,
    tokens: Counter,
    queries: Family<OutcomeLabel, Counter>,
}

impl EmbedderMetrics {
    /// Registers the metrics under the prefix of `registry`.
    pub fn register(&self, registry: &mut Registry) {
        self.requests
            .register(registry, "embedder", "the embedding service");
        let help = "Texts that the embedding service made vectors of";
        registry.register("embedder_texts", help, self.texts.clone());
        let help = "Texts that the embedding service rejected; they match by words alone";
        registry.register("embedder_texts_refused", help, self.texts_refused.clone());
        let help = "Tokens that the embedding service says it read";
        registry.register("embedder_tokens", help, self.tokens.clone());
        let help = "Look-ups of query vectors in the cache, by outcome";
        registry.register("embedder_query_lookups", help, self.queries.clone());
    }

    /// Metrics of the requests.
    pub(crate) fn requests(&self) -> ServiceMetrics {
        self.requests.clone()
    }

    /// Counts texts that got vectors, and their tokens as the service reports them.
    pub(crate) fn read(&self, texts: usize, tokens: u64) {
        self.texts.inc_by(texts.try_into().unwrap_or(u64::MAX));
        self.tokens.inc_by(tokens);
    }

    /// Counts a text that the service rejected while it accepts others.
    pub(crate) fn text_refused(&self) {
        self.texts_refused.inc();
    }

    /// Counts a look-up in the cache of query vectors.
    pub(crate) fn query_lookup(&self, is_hit: bool) {
        let outcome = if is_hit { "hit" } else { "miss" };
        self.queries.get_or_create(&OutcomeLabel { outcome }).inc();
    }
}
