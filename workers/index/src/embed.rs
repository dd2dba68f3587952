//! Vectors of texts, near to one another where their texts mean the same.
//!
//! An [`Embedder`] makes them: by a table that is part of the program, or by asking a service (by
//! OpenAI's embeddings API, which many others speak). All have the length 1, so that their dot
//! product is their cosine. A text that says nothing has none: it is found by its words, if at all.

use std::{error::Error, sync::Arc, time::Duration};

use tokio::time::Instant;

use archway_store::Shelf;
use service::{Lane, Service};
use table::Table;

pub use config::{EmbedderConfig, EmbedderConfigError, EmbedderKind};
pub use service::AnswerError;

mod config;
mod metrics;
mod queries;
mod service;
pub mod table;

pub(crate) use metrics::EmbedderMetrics;
use queries::Queries;

/// Texts that a table encodes before others get their turn: about a millisecond's work.
const TURN: usize = 64;

/// What made a vector: vectors of two models can't be compared.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Model {
    /// What it is called, unique with its dimensions: `archway-code-256`.
    pub name: String,
    /// How many numbers a vector has.
    pub dimensions: usize,
}

/// Makes vectors, of one model.
pub struct Embedder {
    source: Source,
    metrics: EmbedderMetrics,
}

enum Source {
    /// Texts are found by their words alone.
    Nothing,
    Table(Box<Table>),
    Service(Box<Service>, Queries),
}

/// Why there are no vectors. Never carries a text, a key or what a service answered.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// There is no connection to it, or each one broke.
    #[error("the embedding service can't be reached")]
    Unreachable(#[source] Box<dyn Error + Send + Sync>),
    /// It says itself that it failed, each time that it was asked.
    #[error("the embedding service failed with status {status}")]
    Failed {
        /// Of HTTP.
        status: u16,
    },
    /// It failed so often that it is not asked.
    #[error(
        "the embedding service failed too often: it is asked again in {} s",
        whole_seconds(*retry_after)
    )]
    CircuitOpen {
        /// After how long it may be asked.
        retry_after: Duration,
    },
    /// It takes no more requests now.
    #[error(
        "the embedding service takes no more requests for {} s",
        whole_seconds(*retry_after)
    )]
    Paused {
        /// After how long it may be asked.
        retry_after: Duration,
    },
    /// It refused: asking again brings the same.
    #[error("the embedding service refused with status {status}: {}", hint(*status))]
    Refused {
        /// Of HTTP.
        status: u16,
    },
    /// What it answered are not the vectors that were asked for.
    #[error("the embedding service's answer can't be used: {0}")]
    Unusable(#[from] AnswerError),
    /// The time was up.
    #[error("the embedding service did not answer in time")]
    Late,
}

impl EmbedError {
    /// After how long it is worth asking again, where that is known.
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
    /// The one that is configured. A service is not asked yet: an outage at start is no reason not
    /// to start. Call it before the process is confined, since it reads the key and the
    /// certificates of authorities.
    ///
    /// # Errors
    /// If something is missing or can't be used.
    pub fn open(config: &EmbedderConfig) -> Result<Self, EmbedderConfigError> {
        let metrics = EmbedderMetrics::default();
        let source = match config.kind() {
            EmbedderKind::None => Source::Nothing,
            EmbedderKind::Table => Source::Table(Box::new(Table::built_in()?)),
            EmbedderKind::Service => {
                let service = Service::open(&config.service()?, &metrics)?;
                Source::Service(Box::new(service), Queries::new())
            }
        };
        Ok(Embedder { source, metrics })
    }

    /// What its vectors are of; `None` where no embedder is set.
    pub fn model(&self) -> Option<&Model> {
        match &self.source {
            Source::Nothing => None,
            Source::Table(table) => Some(table.model()),
            Source::Service(service, _) => Some(service.model()),
        }
    }

    /// Whether a service is set that is not asked now, since it failed or asked for a pause.
    pub(crate) fn is_unavailable(&self) -> bool {
        match &self.source {
            Source::Nothing | Source::Table(_) => false,
            Source::Service(service, _) => service.is_unavailable(),
        }
    }

    /// The vectors of texts, as [`Embedder::texts`], where nobody has to be asked for them; the
    /// calling thread makes them.
    pub fn at_once(&self, texts: &[String]) -> Option<Vec<Option<Vec<f32>>>> {
        match &self.source {
            Source::Nothing => Some(vec![None; texts.len()]),
            Source::Table(table) => Some(texts.iter().map(|text| table.encode(text)).collect()),
            Source::Service(..) => None,
        }
    }

    /// The vector of each text, in their order; none for a text that says nothing, nor for any
    /// where no embedder is set, nor for one that a service refuses while it takes others. Apart from
    /// those it is all of them or an error.
    ///
    /// # Errors
    /// What the service's failure was once asking again did not help, or the deadline is too near.
    pub async fn texts(
        &self,
        texts: &[String],
        deadline: Instant,
    ) -> Result<Vec<Option<Vec<f32>>>, EmbedError> {
        match &self.source {
            Source::Nothing => Ok(vec![None; texts.len()]),
            Source::Table(table) => encode(table, texts, deadline).await,
            Source::Service(service, _) => service.texts(texts, Lane::Index, deadline).await,
        }
    }

    /// The vector of a query about a project, as [`Embedder::texts`]. What a service made of it is
    /// kept for a while, for this project alone.
    ///
    /// # Errors
    /// As [`Embedder::texts`].
    pub async fn query(
        &self,
        shelf: Shelf,
        text: &str,
        deadline: Instant,
    ) -> Result<Option<Arc<[f32]>>, EmbedError> {
        match &self.source {
            Source::Nothing => Ok(None),
            Source::Table(table) => Ok(table.encode(text).map(Arc::from)),
            Source::Service(service, queries) => {
                if let Some(kept) = queries.get(shelf, text) {
                    self.metrics.query_kept(true);
                    return Ok(Some(kept));
                }
                self.metrics.query_kept(false);
                let asked = [text.to_owned()];
                let made = service.texts(&asked, Lane::Query, deadline).await?;
                let made = made.into_iter().next().flatten();
                Ok(made.map(|vector| queries.keep(shelf, text, vector)))
            }
        }
    }

    /// What is counted of it.
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
    for turn in texts.chunks(TURN) {
        if Instant::now() >= deadline {
            return Err(EmbedError::Late);
        }
        vectors.extend(turn.iter().map(|text| table.encode(text)));
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

/// What whoever set the service up can do about a refusal.
fn hint(status: u16) -> &'static str {
    match status {
        300..=399 => "it redirects, which is not followed; name the place itself (--embedder-url)",
        401 | 403 => "check its key (--embedder-key-file)",
        404 | 405 => "check where it is and which model it has (--embedder-url, --embedder-model)",
        _ => {
            "check model, dimensions, and how many texts of which length it takes (--embedder-model, \
             --embedder-ask-dimensions, --embedder-batch, --embedder-text-chars)"
        }
    }
}
