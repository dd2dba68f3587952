//! Vectors of texts, near one another if the texts mean the same.
//!
//! An [`Embedder`] makes them: from a built-in table, or by a service that speaks OpenAI's embeddings
//! API. All have length 1, so that the dot product is the cosine. A text without meaning gets no
//! vector, and matches by its words alone.

use std::{error::Error, sync::Arc, time::Duration};

use tokio::time::Instant;

use archway_store::ProjectKey;
use service::{RequestKind, Service};
use table::Table;

pub use config::{EmbedderConfig, EmbedderConfigError, EmbedderKind};
pub use service::AnswerError;

mod config;
mod metrics;
mod query_cache;
mod service;
pub mod table;

pub(crate) use metrics::EmbedderMetrics;
use query_cache::QueryCache;

/// Texts that the table encodes before it yields: about a millisecond of work.
const TEXTS_PER_YIELD: usize = 64;

/// The model of a vector: vectors of different models cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Model {
    /// Its name, unique together with the dimensions: `archway-code-256`.
    pub name: String,
    /// Number of dimensions.
    pub dimensions: usize,
}

/// Makes the vectors of one model.
pub struct Embedder {
    backend: Backend,
    metrics: EmbedderMetrics,
}

enum Backend {
    /// Words alone rank the texts.
    None,
    Table(Box<Table>),
    Service(Box<Service>, QueryCache),
}

/// Why there are no vectors. Carries neither texts nor keys nor the service's answer.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// No connection, or each one broke.
    #[error("the embedding service can't be reached")]
    Unreachable(#[source] Box<dyn Error + Send + Sync>),
    /// The service reported an error of its own, at each attempt.
    #[error("the embedding service failed with status {status}")]
    Failed {
        /// The HTTP status.
        status: u16,
    },
    /// The circuit is open after repeated failures.
    #[error(
        "the embedding service failed too often; the next attempt is in {} s",
        whole_seconds(*retry_after)
    )]
    CircuitOpen {
        /// Time until the circuit admits a request.
        retry_after: Duration,
    },
    /// Rate limit.
    #[error(
        "the embedding service takes no more requests for {} s",
        whole_seconds(*retry_after)
    )]
    Paused {
        /// How long the service asks to wait.
        retry_after: Duration,
    },
    /// The request was rejected: a retry fails alike.
    #[error("the embedding service refused with status {status}: {}", hint(*status))]
    Refused {
        /// The HTTP status.
        status: u16,
    },
    /// The answer does not hold the requested vectors.
    #[error("the embedding service's answer can't be used: {0}")]
    Unusable(#[from] AnswerError),
    /// The deadline passed.
    #[error("the embedding service did not answer in time")]
    Late,
}

impl EmbedError {
    /// When a retry makes sense, if known.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            EmbedError::CircuitOpen { retry_after } | EmbedError::Paused { retry_after } => {
                Some(*retry_after)
            }
            EmbedError::Unreachable(_)
            | EmbedError::Failed { .. }
            | EmbedError::Refused { .. }
            | EmbedError::Unusable(_)
            | EmbedError::Late => None,
        }
    }
}

impl Embedder {
    /// The configured embedder. Connects to nothing, so an outage does not prevent the start. Reads the
    /// key and the certificates of authorities, so it must be called before the process is confined.
    ///
    /// # Errors
    /// If something is missing or invalid.
    pub fn open(config: &EmbedderConfig) -> Result<Self, EmbedderConfigError> {
        let metrics = EmbedderMetrics::default();
        let backend = match config.kind() {
            EmbedderKind::None => Backend::None,
            EmbedderKind::Table => Backend::Table(Box::new(Table::built_in()?)),
            EmbedderKind::Service => {
                let service = Service::open(&config.service()?, &metrics)?;
                Backend::Service(Box::new(service), QueryCache::new())
            }
        };
        Ok(Embedder { backend, metrics })
    }

    /// The model of its vectors; `None` if no embedder is configured.
    pub fn model(&self) -> Option<&Model> {
        match &self.backend {
            Backend::None => None,
            Backend::Table(table) => Some(table.model()),
            Backend::Service(service, _) => Some(service.model()),
        }
    }

    /// Whether the service would reject a request now, because of failures or a requested pause.
    pub(crate) fn is_unavailable(&self) -> bool {
        match &self.backend {
            Backend::None | Backend::Table(_) => false,
            Backend::Service(service, _) => service.is_unavailable(),
        }
    }

    /// The vectors of texts, as [`Embedder::texts`], made on the calling thread; `None` if a service has
    /// to make them.
    pub fn embed_locally(&self, texts: &[String]) -> Option<Vec<Option<Vec<f32>>>> {
        match &self.backend {
            Backend::None => Some(vec![None; texts.len()]),
            Backend::Table(table) => Some(texts.iter().map(|text| table.encode(text)).collect()),
            Backend::Service(..) => None,
        }
    }

    /// The vectors of texts, in order. `None` for a text without meaning, for one that the service
    /// rejects while it accepts others, and for all if no embedder is configured.
    ///
    /// # Errors
    /// If the service still fails after retries, or the deadline is too near.
    pub async fn texts(
        &self,
        texts: &[String],
        deadline: Instant,
    ) -> Result<Vec<Option<Vec<f32>>>, EmbedError> {
        match &self.backend {
            Backend::None => Ok(vec![None; texts.len()]),
            Backend::Table(table) => encode(table, texts, deadline).await,
            Backend::Service(service, _) => {
                service.texts(texts, RequestKind::Index, deadline).await
            }
        }
    }

    /// The vector of a query about a project, as [`Embedder::texts`]. A service's vectors are cached
    /// per project.
    ///
    /// # Errors
    /// As [`Embedder::texts`].
    pub async fn query(
        &self,
        project_key: ProjectKey,
        text: &str,
        deadline: Instant,
    ) -> Result<Option<Arc<[f32]>>, EmbedError> {
        match &self.backend {
            Backend::None => Ok(None),
            Backend::Table(table) => Ok(table.encode(text).map(Arc::from)),
            Backend::Service(service, queries) => {
                if let Some(cached) = queries.get(project_key, text) {
                    self.metrics.query_lookup(true);
                    return Ok(Some(cached));
                }
                self.metrics.query_lookup(false);
                let texts = [text.to_owned()];
                let made = service.texts(&texts, RequestKind::Query, deadline).await?;
                let made = made.into_iter().next().flatten();
                Ok(made.map(|vector| queries.insert(project_key, text, vector)))
            }
        }
    }

    /// Metrics of the embedding service.
    pub fn metrics(&self) -> &EmbedderMetrics {
        &self.metrics
    }
}

async fn encode(
    table: &Table,
    texts: &[String],
    deadline: Instant,
) -> Result<Vec<Option<Vec<f32>>>, EmbedError> {
    let mut vectors = Vec::with_capacity(texts.len());
    for part in texts.chunks(TEXTS_PER_YIELD) {
        if Instant::now() >= deadline {
            return Err(EmbedError::Late);
        }
        vectors.extend(part.iter().map(|text| table.encode(text)));
        tokio::task::yield_now().await;
    }
    Ok(vectors)
}

fn whole_seconds(duration: Duration) -> u64 {
    duration
        .as_millis()
        .div_ceil(1000)
        .try_into()
        .unwrap_or(u64::MAX)
}

/// Advice for operators on a rejection.
fn hint(status: u16) -> &'static str {
    match status {
        300..=399 => "it redirects, which is not followed; set the final URL (--embedder-url)",
        401 | 403 => "check its key (--embedder-key-file)",
        404 | 405 => "check its URL and model (--embedder-url, --embedder-model)",
        _ => {
            "check the model, the dimensions, and the limits on number and length of texts \
             (--embedder-model, --embedder-ask-dimensions, --embedder-batch, --embedder-text-chars)"
        }
    }
}
