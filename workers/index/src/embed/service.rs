//! The embedding service: sends texts in concurrent batches, with retries.
//!
//! A request waits for a slot, then for the pause that the service requested, and passes the circuit
//! breaker. Queries have slots of their own, so that they never wait for the indexing of a
//! repository.

// In the order of a request's way.
mod bisection;
mod request;
mod answer;

use std::sync::{Arc, atomic::AtomicBool};

use futures::{FutureExt as _, StreamExt as _, TryStreamExt as _, stream};
use tokio::{
    sync::Semaphore,
    time::{Instant, sleep, timeout_at},
};

use super::metrics::EmbedderMetrics;
use super::{EmbedError, EmbedderConfigError, Model, config::ServiceConfig};
use crate::chunk_text::short_hash;
use crate::openai::{FIRST_WAIT, ServiceGate, Unavailable};
use request::EmbeddingsApi;

pub use answer::AnswerError;

/// Concurrent requests of the indexer. More would not be faster if the service's limits or hardware
/// decide, and one project must not use them up.
const INDEX_SLOTS: usize = 3;
/// Concurrent requests for queries.
const QUERY_SLOTS: usize = 16;
/// Logged when the circuit opens.
const OPEN_MESSAGE: &str =
    "the embedding service fails: texts are found by their words alone meanwhile";

/// Why a request failed.
type Failure = crate::openai::Failure<AnswerError>;

/// The sender of a request.
#[derive(Clone, Copy, Debug)]
pub(super) enum RequestKind {
    /// The indexer, in the background.
    Index,
    /// A call that waits.
    Query,
}

/// A client of the embedding service.
pub(super) struct Service {
    model: Model,
    api: EmbeddingsApi,
    batch: usize,
    text_chars: usize,
    query_prefix: String,
    document_prefix: String,
    index: Arc<Semaphore>,
    queries: Arc<Semaphore>,
    gate: ServiceGate,
    metrics: EmbedderMetrics,
    /// Whether a rejected text was logged.
    is_rejection_logged: AtomicBool,
}

impl Service {
    pub(super) fn open(
        config: &ServiceConfig,
        metrics: &EmbedderMetrics,
    ) -> Result<Self, EmbedderConfigError> {
        Ok(Service {
            model: Model {
                name: name(config),
                dimensions: config.dimensions,
            },
            api: EmbeddingsApi::new(config)?,
            batch: config.batch,
            text_chars: config.text_chars,
            query_prefix: config.query_prefix.clone(),
            document_prefix: config.document_prefix.clone(),
            index: Arc::new(Semaphore::new(INDEX_SLOTS)),
            queries: Arc::new(Semaphore::new(QUERY_SLOTS)),
            gate: ServiceGate::new(config.timeout, metrics.requests(), OPEN_MESSAGE),
            metrics: metrics.clone(),
            is_rejection_logged: AtomicBool::new(false),
        })
    }

    pub(super) fn model(&self) -> &Model {
        &self.model
    }

    /// Whether it would reject a request now.
    pub(super) fn is_unavailable(&self) -> bool {
        self.gate.is_unavailable()
    }

    /// The vectors of these texts, in order. `None` for blank texts, which services reject or embed
    /// arbitrarily, and for indexed texts that the service rejects.
    pub(super) async fn texts(
        &self,
        texts: &[String],
        kind: RequestKind,
        deadline: Instant,
    ) -> Result<Vec<Option<Vec<f32>>>, EmbedError> {
        let prefix = match kind {
            RequestKind::Index => &self.document_prefix,
            RequestKind::Query => &self.query_prefix,
        };
        let room = self.text_chars.saturating_sub(prefix.chars().count());
        let sent: Vec<String> = texts
            .iter()
            .filter(|text| !text.trim().is_empty())
            .map(|text| format!("{prefix}{}", cut(text, room)))
            .collect();
        let batches = sent.chunks(self.batch);
        let asked = batches.map(|batch| self.vectors(batch, kind, deadline).boxed());
        let asked: Vec<_> = asked.collect();
        let asked = stream::iter(asked).buffered(INDEX_SLOTS);
        let made: Vec<_> = asked.try_collect().await?;
        let mut made = made.into_iter().flatten();
        let vectors = texts.iter().map(|text| {
            if text.trim().is_empty() {
                None
            } else {
                made.next().flatten()
            }
        });
        Ok(vectors.collect())
    }

    async fn vectors(
        &self,
        texts: &[String],
        kind: RequestKind,
        deadline: Instant,
    ) -> Result<Vec<Option<Vec<f32>>>, EmbedError> {
        match kind {
            RequestKind::Index => self.bisected(texts, deadline).await,
            RequestKind::Query => {
                let made = self.batch(texts, kind, deadline).await?;
                Ok(made.into_iter().map(Some).collect())
            }
        }
    }

    async fn batch(
        &self,
        texts: &[String],
        kind: RequestKind,
        deadline: Instant,
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        let slots = match kind {
            RequestKind::Index => &self.index,
            RequestKind::Query => &self.queries,
        };
        let slot = timeout_at(deadline, slots.acquire()).await;
        let _slot = slot.map_err(|_elapsed| EmbedError::Late)?;
        let mut attempts = 0;
        loop {
            self.gate.wait_for_pause(deadline).await?;
            let failure = match self.attempt(texts, deadline).await? {
                Ok(vectors) => return Ok(vectors),
                Err(failure) => failure,
            };
            attempts += 1;
            match self.gate.retry_delay(&failure, attempts) {
                Some(wait) if Instant::now() + wait < deadline => sleep(wait).await,
                _ => return Err(failure.into()),
            }
        }
    }

    /// Sends one request, unless the circuit is open.
    async fn attempt(
        &self,
        texts: &[String],
        deadline: Instant,
    ) -> Result<Result<Vec<Vec<f32>>, Failure>, EmbedError> {
        let asking = async {
            let answer = self.api.send(texts).await?;
            let tokens = answer.tokens();
            let vectors = answer.vectors(texts.len(), self.model.dimensions)?;
            self.metrics.read(texts.len(), tokens);
            Ok(vectors)
        };
        Ok(self
            .gate
            .attempt(asking, deadline, || self.api.span())
            .await?)
    }
}

impl From<Unavailable> for EmbedError {
    fn from(unavailable: Unavailable) -> Self {
        match unavailable {
            Unavailable::CircuitOpen { retry_after } => EmbedError::CircuitOpen { retry_after },
            Unavailable::Paused { retry_after } => EmbedError::Paused { retry_after },
        }
    }
}

impl From<Failure> for EmbedError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Unreachable(source) => EmbedError::Unreachable(source),
            Failure::Failed { status, .. } => EmbedError::Failed { status },
            Failure::Limited { retry_after } => EmbedError::Paused {
                retry_after: retry_after.unwrap_or(FIRST_WAIT),
            },
            Failure::Refused { status } => EmbedError::Refused { status },
            Failure::Unusable(error) => EmbedError::Unusable(error),
            Failure::Late => EmbedError::Late,
        }
    }
}

/// The name of the model, for indexes. A document prefix changes the vectors, so it is part of the
/// name; a query prefix does not.
fn name(config: &ServiceConfig) -> String {
    let name = format!("{}@{}", config.endpoint.model, config.dimensions);
    if config.document_prefix.is_empty() {
        return name;
    }
    let hash = short_hash(&config.document_prefix);
    let hash = hash.get(..8).unwrap_or_default();
    format!("{name}+{hash}")
}

/// The first `most` characters. A service would reject a longer text, or silently ignore its end.
fn cut(text: &str, most: usize) -> &str {
    let end = text.char_indices().nth(most).map(|(end, _)| end);
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

#[cfg(test)]
mod tests;
