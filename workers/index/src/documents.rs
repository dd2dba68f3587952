//! The names of the documents that have a text, cached per project.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use tokio::sync::Mutex;
use tokio::time::Duration;

use archway_store::{Blob, ProjectKey};
use archway_store::{Document, Source, StoreError, Stores};

/// Memory for the documents of all projects, in KiB.
const MAX_KIB: u64 = 128 << 10;
/// How long an unused project is cached.
const IDLE: Duration = Duration::from_secs(60 * 60);
/// Memory of a document besides its name, in bytes.
const OVERHEAD: usize = 120;

/// A document's source and name.
pub(crate) type DocumentName = (Source, Box<[u8]>);

/// The documents of one edition of a project's index.
#[derive(Debug, Default)]
pub struct Documents {
    edition: i64,
    /// By text; the documents of one text in their order.
    names: HashMap<Blob, Vec<DocumentName>>,
    bytes: usize,
}

impl Documents {
    fn of(edition: i64, documents: Vec<Document>) -> Documents {
        let mut names: HashMap<Blob, Vec<DocumentName>> = HashMap::new();
        let mut bytes = 0;
        for document in documents {
            bytes += document.name.len() + OVERHEAD;
            let name = document.name.into_boxed_slice();
            names
                .entry(document.blob)
                .or_default()
                .push((document.source, name));
        }
        Documents {
            edition,
            names,
            bytes,
        }
    }

    /// The documents with this text, files by path first; empty if this edition has none.
    pub fn of_text(&self, blob: &Blob) -> &[DocumentName] {
        self.names.get(blob).map_or(&[], Vec::as_slice)
    }

    /// All documents, with their texts.
    pub fn iter(&self) -> impl Iterator<Item = (&Blob, Source, &[u8])> {
        self.names.iter().flat_map(|(blob, names)| {
            let names = names.iter();
            names.map(move |(source, name)| (blob, *source, &**name))
        })
    }
}

/// Projects that may be locked for reading at once.
const MAX_READS: u64 = 10_000;

/// A cache of the documents of recently searched projects.
pub(crate) struct DocumentCache {
    cache: Cache<ProjectKey, Arc<Documents>>,
    /// Held while a project is read, so that concurrent calls read it once.
    reading: Cache<ProjectKey, Arc<Mutex<()>>>,
}

impl DocumentCache {
    pub(crate) fn new() -> DocumentCache {
        let weigh = |_: &ProjectKey, documents: &Arc<Documents>| {
            u32::try_from(documents.bytes.div_ceil(1 << 10)).unwrap_or(u32::MAX)
        };
        let cache = Cache::builder()
            .weigher(weigh)
            .max_capacity(MAX_KIB)
            .eviction_policy(EvictionPolicy::lru())
            .time_to_idle(IDLE);
        DocumentCache {
            cache: cache.build(),
            reading: Cache::new(MAX_READS),
        }
    }

    /// The documents of an index, in this edition or a later one.
    ///
    /// # Errors
    /// If they are not cached and Postgres does not answer.
    pub(crate) async fn get(
        &self,
        stores: &Stores,
        project_key: ProjectKey,
        (index, edition): (i64, i64),
    ) -> Result<Arc<Documents>, StoreError> {
        if let Some(cached) = self.cached(project_key, edition) {
            return Ok(cached);
        }
        let alone = self.reading.get_with(project_key, Arc::default);
        let _alone = alone.lock().await;
        if let Some(cached) = self.cached(project_key, edition) {
            return Ok(cached);
        }
        let documents = stores.tenant(project_key.tenant).documents(index).await?;
        let documents = Arc::new(Documents::of(edition, documents));
        self.cache.insert(project_key, Arc::clone(&documents));
        Ok(documents)
    }

    fn cached(&self, project_key: ProjectKey, edition: i64) -> Option<Arc<Documents>> {
        let cached = self.cache.get(&project_key);
        cached.filter(|cached| cached.edition >= edition)
    }
}

/// Documents that are new or have another text, and removed ones; both in order.
pub(super) fn differences(had: &[Document], wanted: &[Document]) -> (Vec<Document>, Vec<Document>) {
    let before: HashMap<_, Blob> = had
        .iter()
        .map(|document| (key(document), document.blob))
        .collect();
    let now: HashSet<_> = wanted.iter().map(key).collect();
    let changed = wanted
        .iter()
        .filter(|document| before.get(&key(document)) != Some(&document.blob));
    let gone = had.iter().filter(|document| !now.contains(&key(document)));
    (changed.cloned().collect(), gone.cloned().collect())
}

fn key(document: &Document) -> (Source, &[u8]) {
    (document.source, &document.name)
}
