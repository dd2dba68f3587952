//! What a worker's index is made of, as its operator says it.

use std::sync::Arc;

use tokio::sync::Notify;

use crate::index::config::{IndexConfig, IndexParts};
use crate::index::embed::Embedder;
use crate::index::home::qdrant::QdrantHome;
use crate::index::home::{ExactHome, Home, Room};
use crate::index::indexer::{Indexer, Tools};
use crate::index::meaning::Meaning;
use crate::metrics::IndexMetrics;
use crate::repo::{Mounts, RepoError, Repos};
use crate::store::Stores;

/// How many connections indexing has.
const CONNECTIONS: u32 = 3;
/// Changes with how texts are cut, how words are counted, and what vectors are made of: all is
/// indexed anew then.
const FORM: u32 = 1;

/// The parts of an index.
pub(crate) struct Index {
    stores: Stores,
    home: Arc<dyn Home>,
    embedder: Arc<Embedder>,
    made_by: String,
    wake: Arc<Notify>,
}

impl Index {
    /// Opens the home that is configured. It is not asked yet.
    pub(crate) fn open(
        config: &IndexConfig,
        stores: &Stores,
        parts: IndexParts,
        metrics: &IndexMetrics,
    ) -> Index {
        let model = parts.embedder.model();
        let name = model.map_or_else(
            || "none".to_owned(),
            |model| format!("{}@{}", model.name, model.dimensions),
        );
        let (made_by, home): (String, Arc<dyn Home>) = match &parts.qdrant {
            Some(server) => {
                let home = QdrantHome::open(server, model);
                (format!("qdrant {name} {FORM}"), Arc::new(home))
            }
            None => {
                let made_by = format!("postgres {name} {FORM}");
                let room = Room {
                    bytes: config.index_memory_bytes,
                    taken: metrics.memory.clone(),
                };
                let home = ExactHome::new(stores.clone(), &made_by, model, room);
                (made_by, Arc::new(home))
            }
        };
        Index {
            stores: stores.clone(),
            home,
            embedder: Arc::new(parts.embedder),
            made_by,
            wake: Arc::default(),
        }
    }

    /// What calls ask.
    pub(crate) fn meaning(&self) -> Meaning {
        Meaning::new(
            self.stores.clone(),
            Arc::clone(&self.home),
            Arc::clone(&self.embedder),
            self.made_by.clone(),
            Arc::clone(&self.wake),
        )
    }

    /// What keeps it up to date.
    ///
    /// # Errors
    /// If its thread can't be started.
    pub(super) fn indexer(
        &self,
        repos: &Arc<Repos>,
        mounts: &Mounts,
        metrics: IndexMetrics,
    ) -> Result<Indexer, RepoError> {
        let with = Tools {
            repos: Arc::clone(repos),
            mounts: mounts.clone(),
            stores: self.stores.apart(CONNECTIONS),
            home: Arc::clone(&self.home),
            embedder: Arc::clone(&self.embedder),
            made_by: self.made_by.clone(),
            metrics,
        };
        Indexer::new(with, Arc::clone(&self.wake))
    }
}
