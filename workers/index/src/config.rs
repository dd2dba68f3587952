//! Configuration of the index.

use super::embed::{Embedder, EmbedderConfig, EmbedderConfigError};
use super::vector_store::qdrant::{QdrantConfig, QdrantConfigError, QdrantServer};

/// Configuration of the index.
#[derive(Clone, Debug, clap::Args)]
pub struct IndexConfig {
    /// Whether this worker updates the indexes of its projects; every worker searches them.
    #[arg(
        long,
        env = "ARCHWAY_INDEXING",
        value_name = "BOOL",
        default_value = "true",
        action = clap::ArgAction::Set,
        value_parser = clap::builder::BoolishValueParser::new()
    )]
    pub indexing: bool,
    /// Bytes of memory for indexes that `context_search` reads, all projects together. A chunk (a
    /// function, a section of a document) takes about 800. Not used with Qdrant.
    #[arg(long, env = "ARCHWAY_INDEX_MEMORY_BYTES", value_name = "BYTES", default_value_t = 512 << 20)]
    pub index_memory_bytes: usize,
    /// The vector store.
    #[command(flatten)]
    pub qdrant: QdrantConfig,
    /// The embedder.
    #[command(flatten)]
    pub embedder: EmbedderConfig,
}

/// Why the configuration of the index is invalid.
#[derive(Debug, thiserror::Error)]
pub enum IndexConfigError {
    /// The embedder's options are invalid.
    #[error(transparent)]
    Embedder(#[from] EmbedderConfigError),
    /// Qdrant's options are invalid.
    #[error(transparent)]
    Qdrant(#[from] QdrantConfigError),
}

/// The parts of the index that are read from files: keys and certificates.
pub struct IndexParts {
    /// Makes the vectors.
    pub embedder: Embedder,
    /// `None`: Postgres stores the index.
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
    /// Reads the files that the configuration names; connects to nothing. Call it before the process
    /// is confined.
    ///
    /// # Errors
    /// If something is missing or invalid.
    pub fn read(config: &IndexConfig) -> Result<IndexParts, IndexConfigError> {
        let qdrant = config.qdrant.is_set();
        let qdrant = qdrant.then(|| QdrantServer::read(&config.qdrant));
        Ok(IndexParts {
            embedder: Embedder::open(&config.embedder)?,
            qdrant: qdrant.transpose()?,
        })
    }
}
