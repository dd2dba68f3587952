//! The metrics of the chat model.

use prometheus_client::{metrics::counter::Counter, registry::Registry};

use archway_index::openai::ServiceMetrics;

/// The metrics of the chat model.
#[derive(Clone, Default)]
pub(crate) struct ChatMetrics {
    requests: ServiceMetrics,
    tokens: Counter,
    count_unusable: Counter,
}

impl ChatMetrics {
    pub(crate) fn register(&self, registry: &mut Registry) {
        self.requests.register(registry, "chat", "the chat model");
        let help = "Tokens that the chat model reports to have read and written";
        registry.register("chat_tokens", help, self.tokens.clone());
        let help = "Answers of the chat model that do not match the requested schema";
        registry.register("chat_answers_unusable", help, self.count_unusable.clone());
    }

    /// The metrics of its requests.
    pub(crate) fn requests(&self) -> ServiceMetrics {
        self.requests.clone()
    }

    /// Counts the tokens that the service reports for a request and its answer.
    pub(crate) fn add_tokens(&self, tokens: u64) {
        self.tokens.inc_by(tokens);
    }

    /// Counts an answer that does not match the requested schema. The service is not to blame: the
    /// text that it was sent may have caused this.
    pub(crate) fn count_unusable(&self) {
        self.count_unusable.inc();
    }
}
