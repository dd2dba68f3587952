//! Settings that a worker reads before it is confined, because the files are out of reach later.

use archway_index::{
    config::{IndexConfigError, IndexParts},
    openai::EndpointError,
};
use archway_store::StoreError;
use sqlx::postgres::PgConnectOptions;

use super::WorkerConfig;
use crate::{chat::ChatService, metrics::Metrics};

/// Keys, certificates and connection settings, read from files.
pub struct WorkerParts {
    pub(crate) index: IndexParts,
    /// `None` if no chat model is configured.
    pub(crate) chat: Option<ChatService>,
    /// How to connect to Postgres.
    pub(super) database: PgConnectOptions,
}

/// Why the configuration is unusable.
#[derive(Debug, thiserror::Error)]
pub enum WorkerPartsError {
    /// The index is misconfigured.
    #[error(transparent)]
    Index(#[from] IndexConfigError),
    /// The chat model is misconfigured.
    #[error(transparent)]
    Chat(#[from] EndpointError),
    /// The database URL is malformed, or names a file that can't be used.
    #[error("--database-url (ARCHWAY_DATABASE_URL) can't be used")]
    Store(#[from] StoreError),
}

impl WorkerParts {
    /// Reads the configured files without any request to a server. Call it before the process is
    /// confined.
    ///
    /// # Errors
    /// If a setting is missing or can't be used.
    pub fn read(config: &WorkerConfig) -> Result<WorkerParts, WorkerPartsError> {
        Ok(WorkerParts {
            index: IndexParts::read(&config.index)?,
            chat: ChatService::open(&config.chat)?,
            database: config.store.read()?,
        })
    }

    /// The worker's metrics, with those of its parts.
    pub(super) fn metrics(&self) -> Metrics {
        let embedder = self.index.embedder.metrics();
        let metrics = Metrics::new().with(|registry| embedder.register(registry));
        match &self.chat {
            Some(chat) => metrics.with(|registry| chat.metrics().register(registry)),
            None => metrics,
        }
    }
}
