//! What is counted of the chat model.

use prometheus_client::{metrics::counter::Counter, registry::Registry};

use archway_index::openai::ServiceMetrics;

/// What is counted of the chat model.
#[derive(Clone, Default)]
pub(crate) struct ChatMetrics {
    requests: ServiceMetrics,
    tokens: Counter,
    unusable: Counter,
}

impl ChatMetrics {
    pub(crate) fn register(&self, registry: &mut Registry) {
        self.requests.register(registry, "chat", "the chat model");
        let help = "Tokens that the chat model says it read and wrote";
        registry.register("chat_tokens", help, self.tokens.clone());
        let help = "Answers of the chat model that are not of the form it was asked for";
        registry.register("chat_answers_unusable", help, self.unusable.clone());
    }

    /// Where requests to it are counted.
    pub(crate) fn requests(&self) -> ServiceMetrics {
        self.requests.clone()
    }

    /// It says that a question and its answer were so many tokens.
    pub(crate) fn read(&self, tokens: u64) {
        self.tokens.inc_by(tokens);
    }

    /// What it said is not of the form that it was asked for. That is no fault of the service's: what
    /// it was sent may have talked it into it.
    pub(crate) fn unusable(&self) {
        self.unusable.inc();
    }
}
