//! What a worker reads from files that are out of its reach once it is confined.

use archway_index::{
    config::{IndexConfigError, IndexParts},
    openai::EndpointError,
};
use archway_store::StoreError;
use sqlx::postgres::PgConnectOptions;

use super::WorkerConfig;
use crate::{chat::ChatService, metrics::Metrics};

/// What a worker is made of, read from files: keys, certificates.
pub struct WorkerParts {
    pub(crate) index: IndexParts,
    /// `None`: no chat model is set up.
    pub(crate) chat: Option<ChatService>,
    /// How to connect to Postgres.
    pub(super) database: PgConnectOptions,
}

/// Why there is no worker as it is configured.
#[derive(Debug, thiserror::Error)]
pub enum WorkerPartsError {
    /// The index is not set up right.
    #[error(transparent)]
    Index(#[from] IndexConfigError),
    /// The chat model is not set up right.
    #[error(transparent)]
    Chat(#[from] EndpointError),
    /// The database URL is malformed, or names a file that is of no use.
    #[error("--database-url (ARCHWAY_DATABASE_URL) can't be used")]
    Store(#[from] StoreError),
}

impl WorkerParts {
    /// Reads what is configured; nobody is asked yet. Call it before the process is confined.
    ///
    /// # Errors
    /// If something is missing or can't be used.
    pub fn read(config: &WorkerConfig) -> Result<WorkerParts, WorkerPartsError> {
        Ok(WorkerParts {
            index: IndexParts::read(&config.index)?,
            chat: ChatService::open(&config.chat)?,
            database: config.store.read()?,
        })
    }

    /// What is counted, of the parts too.
    pub(super) fn metrics(&self) -> Metrics {
        let embedder = self.index.embedder.metrics();
        let metrics = Metrics::new().with(|registry| embedder.register(registry));
        match &self.chat {
            Some(chat) => metrics.with(|registry| chat.metrics().register(registry)),
            None => metrics,
        }
    }
}
