//! What steers the index, as its operator says it.

use super::embed::{Embedder, EmbedderConfig, EmbedderConfigError};
use super::vector_store::qdrant::{QdrantConfig, QdrantConfigError, QdrantServer};

/// What steers the index.
#[derive(Clone, Debug, clap::Args)]
pub struct IndexConfig {
    /// Whether this worker keeps the indexes of its projects up to date; every worker searches them.
    #[arg(
        long,
        env = "ARCHWAY_INDEXING",
        value_name = "BOOL",
        default_value = "true",
        action = clap::ArgAction::Set,
        value_parser = clap::builder::BoolishValueParser::new()
    )]
    pub indexing: bool,
    /// Indexes of projects held in memory for `context_search`, in bytes, by all projects together. One
    /// chunk (a function, a section of a document) takes about 800. Not where Qdrant keeps them.
    #[arg(long, env = "ARCHWAY_INDEX_MEMORY_BYTES", value_name = "BYTES", default_value_t = 512 << 20)]
    pub index_memory_bytes: usize,
    /// Where it is kept.
    #[command(flatten)]
    pub qdrant: QdrantConfig,
    /// What makes vectors of texts.
    #[command(flatten)]
    pub embedder: EmbedderConfig,
}

/// Why there is no index as it is configured.
#[derive(Debug, thiserror::Error)]
pub enum IndexConfigError {
    /// What makes vectors is not set up right.
    #[error(transparent)]
    Embedder(#[from] EmbedderConfigError),
    /// Qdrant is not set up right.
    #[error(transparent)]
    Qdrant(#[from] QdrantConfigError),
}

/// What an index is made of, read from files: keys, certificates.
pub struct IndexParts {
    /// Makes the vectors.
    pub embedder: Embedder,
    /// `None`: Postgres keeps it.
    pub qdrant: Option<QdrantServer>,
}

impl Default for IndexConfig {
    fn default() -> Self {
        IndexConfig {
            indexing: true,
            index_memory_bytes: 512 << 20,
            qdrant: QdrantConfig::default(),
            embedder: EmbedderConfig::default(),
        }
    }
}

impl IndexParts {
    /// Reads what is configured; nobody is asked yet. Call it before the process is confined.
    ///
    /// # Errors
    /// If something is missing or can't be used.
    pub fn read(config: &IndexConfig) -> Result<IndexParts, IndexConfigError> {
        let qdrant = config.qdrant.is_set();
        let qdrant = qdrant.then(|| QdrantServer::read(&config.qdrant));
        Ok(IndexParts {
            embedder: Embedder::open(&config.embedder)?,
            qdrant: qdrant.transpose()?,
        })
    }
}
