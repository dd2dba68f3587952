//! What a worker's index is made of, as its operator says it.

use std::sync::Arc;

use tokio::sync::Notify;

use archway_index::config::{IndexConfig, IndexParts};
use archway_index::embed::{Embedder, Model};
use archway_index::indexer::{Indexer, Tools};
use archway_index::meaning::Meaning;
use archway_index::metrics::IndexMetrics;
use archway_index::named::short_hash;
use archway_index::vector_store::qdrant::QdrantHome;
use archway_index::vector_store::{CountedHome, ExactHome, Home, Room};
use archway_repo::{Mounts, RepoError, Repos};
use archway_store::Stores;

/// How many connections indexing has.
const CONNECTIONS: u32 = 3;
/// Changes with how texts are cut, how words are counted, and what vectors are made of: all is
/// indexed anew then.
const FORM: u32 = 1;

/// The longest name of a model that stands in `made_by` as it is, in bytes: all of that has 200.
const LONGEST_NAME: usize = 128;

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
        let name = model.map_or_else(|| "none".to_owned(), told);
        let (made_by, home): (String, Arc<dyn Home>) = match &parts.qdrant {
            Some(server) => {
                let home = QdrantHome::open(server, model);
                let mark = server.mark();
                (format!("qdrant {mark} {name} {FORM}"), Arc::new(home))
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
            home: Arc::new(CountedHome::new(home, metrics.clone())),
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

/// A model as `made_by` has it: its name and dimensions, once each.
fn told(model: &Model) -> String {
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
    fn a_model_is_told_by_its_name_and_dimensions_once_however_long_it_is() {
        assert_eq!(told(&model("text@1536")), "text@1536");
        assert_eq!(told(&model("text")), "text@1536");
        let long = |end: &str| told(&model(&format!("{}{end}@1536", "\u{e9}".repeat(100))));
        assert!(long("a").len() <= 160, "{}", long("a"));
        assert_ne!(long("a"), long("b"));
    }

    #[tokio::test]
    async fn what_is_at_home_in_one_qdrant_or_installation_is_not_in_another() {
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
