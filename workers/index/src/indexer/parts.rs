//! What an indexer works with.

use std::sync::Arc;

use archway_repo::{Mounts, Repos};
use archway_store::Stores;

use crate::embed::Embedder;
use crate::metrics::IndexMetrics;
use crate::vector_store::VectorStore;

/// Dependencies of an indexer.
pub struct IndexerParts {
    /// The repositories to index.
    pub repos: Arc<Repos>,
    /// The folders that this worker mounts.
    pub mounts: Mounts,
    /// How many of them are indexed, at most.
    pub max_folders: usize,
    /// Postgres.
    pub stores: Stores,
    /// Stores the chunks.
    pub vector_store: Arc<dyn VectorStore>,
    /// Makes the vectors.
    pub embedder: Arc<Embedder>,
    /// Store, model and format.
    pub made_by: String,
    /// Counts runs and texts.
    pub metrics: IndexMetrics,
}
