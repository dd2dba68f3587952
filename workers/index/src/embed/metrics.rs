//! What is counted of the service that makes vectors.

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

/// What is counted of the embedding service; all stays 0 where none is asked.
#[derive(Clone, Default)]
pub struct EmbedderMetrics {
    requests: ServiceMetrics,
    texts: Counter,
    texts_refused: Counter,
    tokens: Counter,
    queries: Family<OutcomeLabel, Counter>,
}

impl EmbedderMetrics {
    /// Registers them, under the prefix that `registry` has.
    pub fn register(&self, registry: &mut Registry) {
        self.requests
            .register(registry, "embedder", "the embedding service");
        let help = "Texts that the embedding service made vectors of";
        registry.register("embedder_texts", help, self.texts.clone());
        let help = "Texts that it refused, which are found by their words alone";
        registry.register("embedder_texts_refused", help, self.texts_refused.clone());
        let help = "Tokens that the embedding service says it read";
        registry.register("embedder_tokens", help, self.tokens.clone());
        let help = "Vectors of queries that were looked for among kept ones";
        registry.register("embedder_query_lookups", help, self.queries.clone());
    }

    /// Where requests to it are counted.
    pub(crate) fn requests(&self) -> ServiceMetrics {
        self.requests.clone()
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
}
