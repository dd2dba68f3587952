//! The collection: one for each embedding model, made or checked before it is first used, and again
//! after the server was away or lost it.
//!
//! Several workers may make it at once: who comes second finds it made, and adds what is missing.

use std::sync::atomic::{AtomicBool, Ordering};

use qdrant_client::qdrant::{
    CollectionInfo, CreateCollection, Distance, GetCollectionInfoRequest, HealthCheckRequest,
    HnswConfigDiff, Modifier, SparseVectorConfig, SparseVectorParams, VectorParams,
    VectorParamsMap, VectorsConfig, vectors_config,
};
use tokio::sync::Mutex;

use super::{
    config::is_plain,
    fields::FIELDS,
    line::{Asking, Failure, Line},
    point::{DENSE, TEXT},
};
use crate::index::{embed::Model, home::HomeError};

/// The form of ids, payloads and words: another one gets collections of its own.
pub(super) const FORM: u32 = 1;
/// The first version that counts the words of one tenant alone.
const LEAST_VERSION: (u32, u32) = (1, 19);
/// Neighbours of a chunk in the graph of its tenant and project. There is no graph of all tenants:
/// nobody asks it.
const NEIGHBOURS: u64 = 16;
/// Kilobytes of vectors up to which all of them are looked at rather than a graph: 50,000 vectors
/// of 256 dimensions, some 10 ms.
const EXACT_UP_TO: u64 = 50_000;
/// A model's name as part of the collection's.
const LONGEST_NAME: usize = 100;

/// A collection, and whether it was found as it should be.
pub(super) struct Collection {
    pub(super) name: String,
    dimensions: Option<u64>,
    ready: AtomicBool,
    /// Held by who looks after it.
    making: Mutex<()>,
}

impl Collection {
    /// The collection of a model's vectors; without one, of words alone.
    pub(super) fn new(prefix: &str, model: Option<&Model>) -> Self {
        Collection {
            name: name(prefix, model),
            dimensions: model.map(|model| model.dimensions as u64),
            ready: AtomicBool::new(false),
            making: Mutex::new(()),
        }
    }

    /// Whether it has vectors of meaning.
    pub(super) fn is_dense(&self) -> bool {
        self.dimensions.is_some()
    }

    /// It may no longer be as it was.
    pub(super) fn forget(&self) {
        self.ready.store(false, Ordering::Relaxed);
    }

    /// Makes or checks it, unless that was done.
    pub(super) async fn ensure(&self, line: &Line, asking: Asking) -> Result<(), HomeError> {
        if self.ready.load(Ordering::Relaxed) {
            return Ok(());
        }
        let waiting = tokio::time::timeout_at(asking.until, self.making.lock());
        let _making = waiting
            .await
            .map_err(|_elapsed| HomeError::Late(asking.what))?;
        if self.ready.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.check_server(line, asking).await?;
        let info = match self.info(line, asking).await {
            Err(failure) if failure.is_missing() => self.make(line, asking).await?,
            other => other.map_err(|failure| failure.of(asking.what))?,
        };
        self.check(&info)?;
        self.index_fields(&info, line, asking).await?;
        self.ready.store(true, Ordering::Relaxed);
        Ok(())
    }

    async fn check_server(&self, line: &Line, asking: Asking) -> Result<(), HomeError> {
        let health = line.ask(asking, HealthCheckRequest {}, |to, request| async move {
            to.server().health_check(request).await
        });
        let version = health.await.map_err(|it| it.of(asking.what))?.version;
        if parsed(&version).is_some_and(|version| version >= LEAST_VERSION) {
            return Ok(());
        }
        let (major, minor) = LEAST_VERSION;
        let shown: String = version.chars().take(20).collect();
        Err(HomeError::Mismatch(format!(
            "Qdrant is version {shown:?}, which mixes the word counts of all tenants: \
             version {major}.{minor} or later is needed"
        )))
    }

    async fn info(&self, line: &Line, asking: Asking) -> Result<CollectionInfo, Failure> {
        let which = GetCollectionInfoRequest {
            collection_name: self.name.clone(),
        };
        let info = line.ask(asking, which, |to, request| async move {
            to.collections().get(request).await
        });
        Ok(info.await?.result.unwrap_or_default())
    }

    /// Makes it, unless somebody else does meanwhile.
    async fn make(&self, line: &Line, asking: Asking) -> Result<CollectionInfo, HomeError> {
        let made = line.ask(asking, self.wanted(), |to, request| async move {
            to.collections().create(request).await
        });
        let made = made.await.map(|_made| ());
        if made.is_ok() {
            tracing::info!(collection = %self.name, "a collection was made in Qdrant");
        }
        match self.info(line, asking).await {
            Ok(info) => Ok(info),
            Err(failure) => Err(made.err().unwrap_or(failure).of(asking.what)),
        }
    }

    fn wanted(&self) -> CreateCollection {
        let dense = self.dimensions.map(|size| VectorParams {
            size,
            distance: Distance::Cosine.into(),
            ..VectorParams::default()
        });
        let dense = dense.map(|params| (DENSE.to_owned(), params));
        let text = SparseVectorParams {
            modifier: Some(Modifier::Idf.into()),
            ..SparseVectorParams::default()
        };
        let map = dense.into_iter().collect();
        CreateCollection {
            collection_name: self.name.clone(),
            hnsw_config: Some(HnswConfigDiff {
                m: Some(0),
                payload_m: Some(NEIGHBOURS),
                full_scan_threshold: Some(EXACT_UP_TO),
                ..HnswConfigDiff::default()
            }),
            vectors_config: Some(VectorsConfig {
                config: Some(vectors_config::Config::ParamsMap(VectorParamsMap { map })),
            }),
            sparse_vectors_config: Some(SparseVectorConfig {
                map: [(TEXT.to_owned(), text)].into(),
            }),
            ..CreateCollection::default()
        }
    }

    fn check(&self, info: &CollectionInfo) -> Result<(), HomeError> {
        let params = info.config.as_ref().and_then(|it| it.params.as_ref());
        let vectors = params.and_then(|it| it.vectors_config.as_ref());
        let dense = match vectors.and_then(|it| it.config.as_ref()) {
            Some(vectors_config::Config::ParamsMap(named)) => named.map.get(DENSE),
            _ => None,
        };
        if let Some(size) = self.dimensions {
            let dense = dense.ok_or_else(|| self.mismatch("has no vectors named \"dense\""))?;
            if dense.size != size {
                let has = format!("has vectors of {} numbers, not {size}", dense.size);
                return Err(self.mismatch(&has));
            }
            if dense.distance != i32::from(Distance::Cosine) {
                return Err(self.mismatch("compares vectors otherwise than by cosine"));
            }
        }
        let sparse = params.and_then(|it| it.sparse_vectors_config.as_ref());
        let text = sparse.and_then(|it| it.map.get(TEXT));
        let text = text.ok_or_else(|| self.mismatch("has no sparse vectors named \"text\""))?;
        if text.modifier != Some(Modifier::Idf.into()) {
            return Err(self.mismatch("does not weigh words by how rare they are (modifier IDF)"));
        }
        Ok(())
    }

    fn mismatch(&self, what: &str) -> HomeError {
        let name = &self.name;
        HomeError::Mismatch(format!(
            "the collection {name:?} in Qdrant {what}: it is not of this program's making; delete \
             it, or name others with --qdrant-collection (ARCHWAY_QDRANT_COLLECTION)"
        ))
    }

    /// Makes what requests filter by quick to find.
    async fn index_fields(
        &self,
        info: &CollectionInfo,
        line: &Line,
        asking: Asking,
    ) -> Result<(), HomeError> {
        for field in FIELDS {
            if let Some(there) = info.payload_schema.get(field.name) {
                if there.data_type != i32::from(field.schema()) {
                    let has = format!("has another kind of index on {:?}", field.name);
                    return Err(self.mismatch(&has));
                }
                continue;
            }
            let making = line.ask(asking, field.index(&self.name), |to, request| async move {
                to.points().create_field_index(request).await
            });
            making.await.map_err(|failure| failure.of(asking.what))?;
        }
        Ok(())
    }
}

/// What a model's collection is called. Names that had to be changed get a hash of what they were.
fn name(prefix: &str, model: Option<&Model>) -> String {
    let Some(Model { name, dimensions }) = model else {
        return format!("{prefix}-words-v{FORM}");
    };
    let plain: String = name
        .bytes()
        .map(|byte| {
            if is_plain(byte) {
                char::from(byte)
            } else {
                '-'
            }
        })
        .take(LONGEST_NAME)
        .collect();
    if plain == *name {
        return format!("{prefix}-{plain}-{dimensions}d-v{FORM}");
    }
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{prefix}-{plain}-{hash:016x}-{dimensions}d-v{FORM}")
}

/// The first two numbers of a version.
fn parsed(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.trim_start_matches('v').split('.');
    let mut next = || numbers.next()?.parse().ok();
    Some((next()?, next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name_of_model: &str) -> String {
        let model = Model {
            name: name_of_model.to_owned(),
            dimensions: 256,
        };
        name("archway", Some(&model))
    }

    #[test]
    fn a_collection_is_named_for_its_model_its_dimensions_and_its_form() {
        assert_eq!(
            named("archway-code-256"),
            "archway-archway-code-256-256d-v1"
        );
        assert_eq!(name("archway", None), "archway-words-v1");
    }

    #[test]
    fn names_of_models_that_no_collection_may_have_stay_apart() {
        let (one, other) = (named("baai/bge:large"), named("baai-bge/large"));
        assert_ne!(one, other);
        for name in [one, other, named(&"ü".repeat(500))] {
            assert!(name.bytes().all(is_plain) && name.len() < 255, "{name}");
        }
    }

    #[test]
    fn versions_are_told_apart_by_their_first_two_numbers() {
        for (version, good) in [
            ("1.19.0", true),
            ("1.19.1-dev", true),
            ("v1.20", true),
            ("2.0.0", true),
            ("1.18.9", false),
            ("1.9.0", false),
            ("", false),
            ("latest", false),
        ] {
            let parsed = parsed(version).is_some_and(|version| version >= LEAST_VERSION);
            assert_eq!(parsed, good, "{version}");
        }
    }
}
