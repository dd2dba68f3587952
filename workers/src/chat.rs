//! The optional chat model. Each request has one task, and the answer is unverified text.
//!
//! A request waits for a permit: few run at once, one tenant holds at most half of the permits, and
//! they are granted round robin over tenants. Each caller also has a
//! fallback that needs no model. So requests are not retried, a `Retry-After` is not waited out,
//! and half of a call's time is left to the call whatever the service does.

mod config;
mod metrics;
mod service;

use std::{sync::Arc, time::Duration};

use archway_index::openai::{Failure, RequestOutcome, Unavailable, Unreadable};
use archway_proto::chain::Chain;
use archway_repo::Cancel;
use archway_resilience::LogLimit;
use serde_json::Value;
use tokio::time::Instant;
use uuid::Uuid;

use crate::{
    blocking::FairQueue,
    metrics::{Metrics, WaitKind},
};

pub use config::ChatConfig;
pub(crate) use metrics::ChatMetrics;
pub use service::ChatService;

/// Maximum number of concurrent requests: a self-hosted model handles few.
const MAX_REQUESTS: usize = 8;
/// Maximum number of concurrent requests of one tenant.
const MAX_REQUESTS_PER_TENANT: usize = 4;

/// Minimum time between two log lines about failed requests: agents must not be able to fill the
/// log. Metrics count all failures.
const LOG_INTERVAL: Duration = Duration::from_secs(60);

/// The chat model, shared by all calls.
pub(crate) struct Chat {
    service: ChatService,
    queue: Arc<FairQueue>,
    log_limit: LogLimit,
}

/// A request to the chat model.
pub(crate) struct ChatRequest {
    /// Instructions for the data. They contain only Archway's own text.
    pub(crate) instructions: &'static str,
    /// Text that others wrote. It is sent as JSON, so that it can't end a string early.
    pub(crate) data: Value,
    /// The name of the answer's schema.
    pub(crate) form: &'static str,
    /// The JSON schema of the answer.
    pub(crate) schema: Value,
}

/// Why there is no answer. Contains nothing that was sent or answered.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChatError {
    /// Other requests held all permits.
    #[error("the chat model was busy with other calls")]
    QueueTimeout,
    /// The circuit is open after repeated failures.
    #[error("the chat model's circuit is open after failures")]
    CircuitOpen,
    /// The service asked for a pause.
    #[error("the chat model accepts no requests at the moment")]
    Busy,
    /// The caller went away.
    #[error("the call ended")]
    Cancelled,
    /// The request failed.
    #[error("the chat model did not answer")]
    Failed(#[source] Failure<Unreadable>),
}

impl Chat {
    /// Wraps `service` in a fair queue.
    pub(crate) fn new(service: ChatService, metrics: &Metrics) -> Self {
        let waits = metrics.waits(WaitKind::Chat);
        Chat {
            service,
            queue: FairQueue::new(MAX_REQUESTS, MAX_REQUESTS_PER_TENANT, waits),
            log_limit: LogLimit::every(LOG_INTERVAL),
        }
    }

    /// The name of the model.
    pub(crate) fn model(&self) -> &str {
        self.service.model()
    }

    /// The metrics of the service.
    pub(crate) fn metrics(&self) -> &ChatMetrics {
        self.service.metrics()
    }

    /// Returns the model's answer to `tenant`, within the service's timeout and half of the call's
    /// remaining time.
    ///
    /// # Errors
    /// If the request was not sent, or got no answer. Failures are logged at most once a minute.
    pub(crate) async fn ask(
        &self,
        tenant: Uuid,
        request: &ChatRequest,
        cancel: &Cancel,
    ) -> Result<String, ChatError> {
        let answer = tokio::select! {
            answer = self.answer(tenant, request, cancel.deadline) => answer,
            () = cancel.token.cancelled() => Err(ChatError::Cancelled),
        };
        if let Err(error @ ChatError::Failed(_)) = &answer
            && let Some(suppressed) = self.log_limit.allow()
        {
            let error = Chain(error);
            tracing::warn!(%error, suppressed, "the chat model did not answer");
        }
        answer
    }

    async fn answer(
        &self,
        tenant: Uuid,
        request: &ChatRequest,
        deadline: Instant,
    ) -> Result<String, ChatError> {
        let now = Instant::now();
        let half = deadline.saturating_duration_since(now) / 2;
        let until = now + half.min(self.service.timeout());
        let permit = self.queue.acquire(tenant, until).await;
        let _permit = permit.ok_or(ChatError::QueueTimeout)?;
        self.service.send(request, until).await
    }
}

impl ChatError {
    /// The error as one word, for results.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            ChatError::QueueTimeout => "crowded",
            ChatError::CircuitOpen => "resting",
            ChatError::Busy => RequestOutcome::Limited.name(),
            ChatError::Cancelled => "cancelled",
            ChatError::Failed(failure) => failure.outcome().name(),
        }
    }
}

impl From<Unavailable> for ChatError {
    fn from(unavailable: Unavailable) -> Self {
        match unavailable {
            Unavailable::CircuitOpen { .. } => ChatError::CircuitOpen,
            Unavailable::Paused { .. } => ChatError::Busy,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::{FutureExt as _, future::join_all};
    use serde_json::json;
    use tokio::net::TcpListener;
    use tokio_util::sync::CancellationToken;

    use super::*;

    const LOUD: Uuid = Uuid::from_u128(1);
    const CALM: Uuid = Uuid::from_u128(2);

    /// A chat model that never answers, and its listening socket.
    async fn silent() -> (Chat, Metrics, TcpListener) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let config = ChatConfig {
            chat_url: Some(format!("http://{}/v1", listener.local_addr().unwrap())),
            chat_model: Some("silent".to_owned()),
            chat_timeout: 60,
            ..ChatConfig::default()
        };
        let service = ChatService::open(&config).unwrap();
        let metrics = Metrics::new();
        let chat = Chat::new(service.expect("a service is configured"), &metrics);
        (chat, metrics, listener)
    }

    fn request() -> ChatRequest {
        ChatRequest {
            instructions: "Say aye.",
            data: json!({}),
            form: "aye",
            schema: json!({}),
        }
    }

    fn cancel(left: Duration) -> Cancel {
        Cancel::new(Instant::now() + left, CancellationToken::new())
    }

    #[tokio::test]
    async fn half_of_a_calls_time_is_left_to_the_call() {
        let (chat, _metrics, _listener) = silent().await;
        let left = Duration::from_secs(6);
        let (cancel, started) = (cancel(left), Instant::now());
        let late = chat.ask(LOUD, &request(), &cancel).await.unwrap_err();
        assert_eq!(late.code(), "late");
        let took = started.elapsed();
        assert!(took >= left / 2 && took < left, "{took:?}");
    }

    #[tokio::test]
    async fn a_cancelled_call_stops_waiting() {
        let (chat, _metrics, _listener) = silent().await;
        let cancel = cancel(Duration::from_secs(60));
        let (request, token) = (request(), cancel.token.clone());
        let mut asking = Box::pin(chat.ask(LOUD, &request, &cancel));
        assert!(asking.as_mut().now_or_never().is_none());
        token.cancel();
        assert_eq!(asking.await.unwrap_err().code(), "cancelled");
    }

    #[tokio::test]
    async fn one_tenant_never_holds_all_permits() {
        let (chat, metrics, listener) = silent().await;
        let (request, cancel) = (request(), cancel(Duration::from_secs(60)));
        let ask = |tenant| chat.ask(tenant, &request, &cancel);
        let all = join_all((0..2 * MAX_REQUESTS).map(|_| ask(LOUD)).chain([ask(CALM)]));
        // Each request that has a permit connects.
        let connected = async {
            let mut sockets = Vec::new();
            for _ in 0..=MAX_REQUESTS_PER_TENANT {
                sockets.push(listener.accept().await.unwrap());
            }
            metrics.text().unwrap()
        };
        tokio::select! {
            _ = all => panic!("no request is answered"),
            text = connected => {
                let waiting = r#"archway_worker_calls_waiting{of="chat"} 12"#;
                assert!(text.contains(waiting), "{text}");
            }
        }
    }
}
