//! Builds a worker's index from its configuration.

use std::sync::Arc;

use archway_index::chunk_text::short_hash;
use archway_index::config::{IndexConfig, IndexParts};
use archway_index::embed::{Embedder, Model};
use archway_index::indexer::{Indexer, IndexerParts};
use archway_index::metrics::IndexMetrics;
use archway_index::search::IndexSearch;
use archway_index::signals::ProjectSignals;
use archway_index::vector_store::qdrant::QdrantStore;
use archway_index::vector_store::{MemoryBudget, MeteredStore, PostgresStore, VectorStore};
use archway_repo::{Mounts, RepoError, Repos};
use archway_store::Stores;

/// The number of connections for indexing. With the one that listens for changes it has three.
const CONNECTIONS: u32 = 2;
/// Version of the stored form. Changes with how texts are cut, how words are counted, and what
/// vectors are computed from. Everything is then indexed again.
const FORM: u32 = 4;

/// Maximum length in bytes of a model's name that `made_by` contains unchanged. All of `made_by`
/// may have 200.
const LONGEST_NAME: usize = 128;

/// The parts of an index.
pub(crate) struct Index {
    stores: Stores,
    vector_store: Arc<dyn VectorStore>,
    embedder: Arc<Embedder>,
    made_by: String,
    signals: Arc<ProjectSignals>,
}

impl Index {
    /// Opens the configured vector store, without a request to it.
    pub(crate) fn open(
        config: &IndexConfig,
        stores: &Stores,
        parts: IndexParts,
        metrics: &IndexMetrics,
    ) -> Index {
        let model = parts.embedder.model();
        let name = model.map_or_else(|| "none".to_owned(), model_label);
        let (made_by, store): (String, Arc<dyn VectorStore>) = match &parts.qdrant {
            Some(server) => {
                let store = QdrantStore::open(server, model);
                let fingerprint = server.fingerprint();
                (
                    format!("qdrant {fingerprint} {name} {FORM}"),
                    Arc::new(store),
                )
            }
            None => {
                let made_by = format!("postgres {name} {FORM}");
                let budget = MemoryBudget {
                    bytes: config.index_memory_bytes,
                    used: metrics.memory.clone(),
                };
                let store = PostgresStore::new(stores.clone(), &made_by, model, budget);
                (made_by, Arc::new(store))
            }
        };
        Index {
            stores: stores.clone(),
            vector_store: Arc::new(MeteredStore::new(store, metrics.clone())),
            embedder: Arc::new(parts.embedder),
            made_by,
            signals: Arc::default(),
        }
    }

    /// The search that calls use.
    pub(crate) fn search(&self) -> IndexSearch {
        IndexSearch::new(
            self.stores.clone(),
            Arc::clone(&self.vector_store),
            Arc::clone(&self.embedder),
            self.made_by.clone(),
            Arc::clone(&self.signals),
        )
    }

    /// The indexer that keeps the index up to date.
    ///
    /// # Errors
    /// If its thread can't be started.
    pub(super) fn indexer(
        &self,
        repos: &Arc<Repos>,
        mounts: &Mounts,
        metrics: IndexMetrics,
    ) -> Result<Indexer, RepoError> {
        let parts = IndexerParts {
            repos: Arc::clone(repos),
            mounts: mounts.clone(),
            max_folders: crate::mount_report::MAX_FOLDERS,
            stores: self.stores.with_own_pool(CONNECTIONS),
            vector_store: Arc::clone(&self.vector_store),
            embedder: Arc::clone(&self.embedder),
            made_by: self.made_by.clone(),
            metrics,
        };
        Indexer::new(parts, Arc::clone(&self.signals))
    }
}

/// The model's label in `made_by`: its name and its dimensions, once each.
fn model_label(model: &Model) -> String {
    let dimensions = format!("@{}", model.dimensions);
    let name = model.name.strip_suffix(&dimensions).unwrap_or(&model.name);
    match name.len() > LONGEST_NAME {
        true => {
            let start = name.get(..name.floor_char_boundary(LONGEST_NAME));
            let start = start.unwrap_or_default();
            format!("{start}~{}{dimensions}", short_hash(name))
        }
        false => format!("{name}{dimensions}"),
    }
}

#[cfg(test)]
mod tests {
    use archway_index::vector_store::qdrant::{QdrantConfig, QdrantServer};
    use archway_store::StoreConfig;
    use secrecy::SecretString;

    use super::*;
    use crate::metrics::Metrics;

    fn model(name: &str) -> Model {
        Model {
            name: name.to_owned(),
            dimensions: 1536,
        }
    }

    #[test]
    fn a_model_label_has_the_name_and_the_dimensions_once_and_is_bounded() {
        assert_eq!(model_label(&model("text@1536")), "text@1536");
        assert_eq!(model_label(&model("text")), "text@1536");
        let long = |end: &str| model_label(&model(&format!("{}{end}@1536", "\u{e9}".repeat(100))));
        assert!(long("a").len() <= 160, "{}", long("a"));
        assert_ne!(long("a"), long("b"));
    }

    #[tokio::test]
    async fn the_mark_depends_on_the_qdrant_server_and_on_the_collection_prefix() {
        let made_by = |url: &str, prefix: &str| {
            let qdrant = QdrantConfig {
                qdrant_url: Some(url.to_owned()),
                qdrant_collection: prefix.to_owned(),
                ..QdrantConfig::default()
            };
            let config = IndexConfig::default();
            let mut parts = IndexParts::read(&config).unwrap();
            parts.qdrant = Some(QdrantServer::read(&qdrant).unwrap());
            let store = StoreConfig {
                url: SecretString::from("postgres://nobody@127.0.0.1:1/none"),
                max_connections: 1,
            };
            let stores = Stores::connect(&store).unwrap();
            Index::open(&config, &stores, parts, &Metrics::new().index()).made_by
        };
        let mine = made_by("http://one:6334", "archway");
        assert_eq!(mine, made_by("http://one:6334", "archway"));
        assert_ne!(mine, made_by("http://two:6334", "archway"));
        assert_ne!(mine, made_by("http://one:6334", "other"));
        assert!(
            mine.starts_with("qdrant ") && !mine.contains("one"),
            "{mine}"
        );
    }
}
