//! A chat model, where an operator has set one up: it is asked one thing in one request, and answers
//! in words that nobody has judged yet.
//!
//! A question passes its turn (so many at once, of which one tenant has half, and round robin over
//! tenants), then the way to the service. What a reader would get wrong: whoever asks has an answer
//! already. So nothing is asked again, no pause of the service's is waited for, and half of a call's
//! time is left to it whatever the service does.

mod config;
mod metrics;
mod service;
mod complaints;

use std::sync::Arc;

use archway_index::openai::{Failure, RequestOutcome, Unavailable, Unreadable};
use archway_proto::chain::Chain;
use archway_repo::Cancel;
use serde_json::Value;
use tokio::time::Instant;
use uuid::Uuid;

use crate::{
    blocking::Queue,
    metrics::{Metrics, Waited},
};

use complaints::Complaints;
pub use config::ChatConfig;
pub(crate) use metrics::ChatMetrics;
pub use service::ChatService;

/// Questions at once: a model on hardware of one's own answers few.
const PLACES: usize = 8;
/// Of one tenant.
const PLACES_EACH: usize = 4;

/// A chat model, for all calls.
pub(crate) struct Chat {
    service: ChatService,
    turns: Arc<Queue>,
    complaints: Complaints,
}

/// What a chat model is asked.
pub(crate) struct Question {
    /// What to do with the data, in our words alone.
    pub(crate) instructions: &'static str,
    /// What others wrote: it is sent as JSON, whose strings nothing in them can end.
    pub(crate) data: Value,
    /// What the answer's form is called.
    pub(crate) form: &'static str,
    /// The JSON schema of the answer.
    pub(crate) schema: Value,
}

/// Why there is no answer. Carries nothing of what was sent or answered.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChatError {
    /// Others had all turns.
    #[error("the chat model had no turn for this call")]
    Crowded,
    /// It failed so often that it is left alone.
    #[error("the chat model rests after failures")]
    Resting,
    /// It takes no more requests now.
    #[error("the chat model takes no more requests for now")]
    Busy,
    /// Nobody waits for it.
    #[error("the call ended")]
    Cancelled,
    /// It was asked.
    #[error("the chat model did not answer")]
    Failed(#[source] Failure<Unreadable>),
}

impl Chat {
    /// Gives turns to those who ask `service`.
    pub(crate) fn new(service: ChatService, metrics: &Metrics) -> Self {
        let waits = metrics.waits(Waited::Chat);
        Chat {
            service,
            turns: Queue::new(PLACES, PLACES_EACH, waits),
            complaints: Complaints::default(),
        }
    }

    /// What the model is called.
    pub(crate) fn model(&self) -> &str {
        self.service.model()
    }

    /// What is counted of it.
    pub(crate) fn metrics(&self) -> &ChatMetrics {
        self.service.metrics()
    }

    /// What it says to a question of `tenant`, within its own time and half of what is left to the
    /// call.
    ///
    /// # Errors
    /// If it was not asked, or gave no answer. That is said in the log once a minute at most.
    pub(crate) async fn ask(
        &self,
        tenant: Uuid,
        question: &Question,
        cancel: &Cancel,
    ) -> Result<String, ChatError> {
        let answer = tokio::select! {
            answer = self.answer(tenant, question, cancel.deadline) => answer,
            () = cancel.token.cancelled() => Err(ChatError::Cancelled),
        };
        if let Err(error @ ChatError::Failed(_)) = &answer
            && let Some(untold) = self.complaints.tell()
        {
            let error = Chain(error);
            tracing::warn!(%error, untold, "the chat model was asked in vain");
        }
        answer
    }

    async fn answer(
        &self,
        tenant: Uuid,
        question: &Question,
        deadline: Instant,
    ) -> Result<String, ChatError> {
        let now = Instant::now();
        let half = deadline.saturating_duration_since(now) / 2;
        let until = now + half.min(self.service.timeout());
        let turn = self.turns.take(tenant, until).await;
        let _turn = turn.ok_or(ChatError::Crowded)?;
        self.service.ask(question, until).await
    }
}

impl ChatError {
    /// One word for it, for results.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            ChatError::Crowded => "crowded",
            ChatError::Resting => "resting",
            ChatError::Busy => RequestOutcome::Limited.name(),
            ChatError::Cancelled => "cancelled",
            ChatError::Failed(failure) => failure.outcome().name(),
        }
    }
}

impl From<Unavailable> for ChatError {
    fn from(unavailable: Unavailable) -> Self {
        match unavailable {
            Unavailable::CircuitOpen { .. } => ChatError::Resting,
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

    /// A chat model that nobody ever hears of, and the socket that it stands behind.
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
        let chat = Chat::new(service.expect("there is one"), &metrics);
        (chat, metrics, listener)
    }

    fn question() -> Question {
        Question {
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
    async fn half_of_a_calls_time_is_left_to_it() {
        let (chat, _metrics, _listener) = silent().await;
        let left = Duration::from_secs(6);
        let (cancel, started) = (cancel(left), Instant::now());
        let late = chat.ask(LOUD, &question(), &cancel).await.unwrap_err();
        assert_eq!(late.word(), "late");
        let took = started.elapsed();
        assert!(took >= left / 2 && took < left, "{took:?}");
    }

    #[tokio::test]
    async fn a_call_that_ends_waits_no_longer() {
        let (chat, _metrics, _listener) = silent().await;
        let cancel = cancel(Duration::from_secs(60));
        let (question, token) = (question(), cancel.token.clone());
        let mut asking = Box::pin(chat.ask(LOUD, &question, &cancel));
        assert!(asking.as_mut().now_or_never().is_none());
        token.cancel();
        assert_eq!(asking.await.unwrap_err().word(), "cancelled");
    }

    #[tokio::test]
    async fn one_tenant_never_has_all_turns() {
        let (chat, metrics, listener) = silent().await;
        let (question, cancel) = (question(), cancel(Duration::from_secs(60)));
        let ask = |tenant| chat.ask(tenant, &question, &cancel);
        let all = join_all((0..2 * PLACES).map(|_| ask(LOUD)).chain([ask(CALM)]));
        // Each that has its turn connects.
        let connected = async {
            let mut sockets = Vec::new();
            for _ in 0..=PLACES_EACH {
                sockets.push(listener.accept().await.unwrap());
            }
            // While they are open.
            metrics.text().unwrap()
        };
        tokio::select! {
            _ = all => panic!("nobody is answered"),
            text = connected => {
                let waiting = r#"archway_worker_calls_waiting{of="chat"} 12"#;
                assert!(text.contains(waiting), "{text}");
            }
        }
    }
}
