//! Which documents have a text: what a project's index says of names, held while it is asked about.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use tokio::sync::Mutex;
use tokio::time::Duration;

use archway_store::{Blob, Shelf};
use archway_store::{Document, Source, StoreError, Stores};

/// What all projects' documents together may take, in KiB.
const MAX_KIB: u64 = 128 << 10;
/// How long a project's are held that nobody asks about.
const IDLE: Duration = Duration::from_secs(60 * 60);
/// What a document takes besides its name, in bytes.
const OVERHEAD: usize = 120;

/// A document's name, and what it is the name of.
pub(crate) type Name = (Source, Box<[u8]>);

/// The documents of a project, in one edition of its index.
#[derive(Debug, Default)]
pub struct Documents {
    edition: i64,
    /// By text; those of one text in their order.
    names: HashMap<Blob, Vec<Name>>,
    bytes: usize,
}

impl Documents {
    fn of(edition: i64, documents: Vec<Document>) -> Documents {
        let mut names: HashMap<Blob, Vec<Name>> = HashMap::new();
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

    /// What has this text, files by path first; nothing for a text that is not of this edition.
    pub fn of_text(&self, blob: &Blob) -> &[Name] {
        self.names.get(blob).map_or(&[], Vec::as_slice)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (&Blob, Source, &[u8])> {
        self.names.iter().flat_map(|(blob, names)| {
            let names = names.iter();
            names.map(move |(source, name)| (blob, *source, &**name))
        })
    }
}

/// How many projects may be read at once.
const MAX_READING: u64 = 10_000;

/// The documents of projects that were asked about lately.
pub(crate) struct KnownDocuments {
    known: Cache<Shelf, Arc<Documents>>,
    /// Held while a project's are read, so that calls that come together read once.
    reading: Cache<Shelf, Arc<Mutex<()>>>,
}

impl KnownDocuments {
    pub(crate) fn new() -> KnownDocuments {
        let weigh = |_: &Shelf, documents: &Arc<Documents>| {
            u32::try_from(documents.bytes.div_ceil(1 << 10)).unwrap_or(u32::MAX)
        };
        let cache = Cache::builder()
            .weigher(weigh)
            .max_capacity(MAX_KIB)
            .eviction_policy(EvictionPolicy::lru())
            .time_to_idle(IDLE);
        KnownDocuments {
            known: cache.build(),
            reading: Cache::new(MAX_READING),
        }
    }

    /// The documents of an index, in this edition or a later one.
    ///
    /// # Errors
    /// If they are not known, and Postgres gives no answer.
    pub(crate) async fn get(
        &self,
        stores: &Stores,
        shelf: Shelf,
        (index, edition): (i64, i64),
    ) -> Result<Arc<Documents>, StoreError> {
        if let Some(known) = self.known(shelf, edition) {
            return Ok(known);
        }
        let alone = self.reading.get_with(shelf, Arc::default);
        let _alone = alone.lock().await;
        if let Some(known) = self.known(shelf, edition) {
            return Ok(known);
        }
        let documents = stores.tenant(shelf.tenant).documents(index).await?;
        let documents = Arc::new(Documents::of(edition, documents));
        self.known.insert(shelf, Arc::clone(&documents));
        Ok(documents)
    }

    fn known(&self, shelf: Shelf, edition: i64) -> Option<Arc<Documents>> {
        let known = self.known.get(&shelf);
        known.filter(|known| known.edition >= edition)
    }
}

/// Documents that are new or have another text, and those that are gone. Both lists are in order.
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
