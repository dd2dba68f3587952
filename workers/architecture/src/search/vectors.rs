//! Vectors of documents' passages, cached by content.
//!
//! The built-in table computes vectors immediately. An embedding service is requested for missing
//! vectors in batches, and each batch is cached, so a call that times out leaves less work for the
//! next one. While any vector is missing, search uses words only, so that no document ranks lower
//! because its vector is missing.

use std::sync::Arc;

use archway_index::embed::Embedder;
use archway_proto::chain::Chain;
use archway_repo::{Cancel, Key, Stopped};
use gix::ObjectId;
use moka::sync::Cache;
use tokio::sync::Mutex;
use tokio::time::{Duration, Instant, timeout_at};

use super::passages;
use crate::document::Document;
use crate::library::Library;

/// The size of the cache, in bytes.
const CACHE_BYTES: u64 = 64 << 20;
/// Entries expire if they are not used for this long.
const IDLE: Duration = Duration::from_secs(60 * 60);
/// The largest total size of one project's vectors, in bytes. Larger sets would evict each other.
const MAX_BYTES: usize = 32 << 20;
/// The number of texts in one request to a service.
const BATCH: usize = 64;
/// At most this many projects have a lock for requests.
const MAX_ASKED: u64 = 1000;

/// The vectors of one document's passages, in order.
#[derive(Clone, Debug)]
pub struct OfDocument(Arc<[Option<Vec<f32>>]>);

impl OfDocument {
    pub(super) fn of(passages: Vec<Option<Vec<f32>>>) -> OfDocument {
        OfDocument(passages.into())
    }

    /// The passage that is most similar to a vector, and the cosine.
    pub(super) fn nearest(&self, query: &[f32]) -> Option<(usize, f32)> {
        let cosine = |vector: &Vec<f32>| vector.iter().zip(query).map(|(a, b)| a * b).sum::<f32>();
        let passages = self.0.iter().enumerate();
        let cosines = passages.filter_map(|(at, vector)| Some((at, cosine(vector.as_ref()?))));
        // Among equals the first wins.
        cosines.reduce(|best, next| if next.1 > best.1 { next } else { best })
    }
}

/// The cache key: project, blob, whether it was parsed as a decision, and title.
type Name = (Key, ObjectId, bool, String);

/// The cached vectors. Cheap to clone.
#[derive(Clone)]
pub struct Vectors {
    kept: Cache<Name, OfDocument>,
    /// Held while one call requests a project's vectors. The next call finds most of them cached.
    asking: Cache<Key, Arc<Mutex<()>>>,
}

/// Documents without vectors yet.
pub struct Lacking {
    project: Key,
    documents: Vec<Document>,
}

impl Vectors {
    /// Creates an empty cache.
    #[expect(clippy::new_without_default, reason = "it has a size")]
    pub fn new() -> Vectors {
        let weigh = |_: &Name, vectors: &OfDocument| {
            let numbers = vectors.0.iter().flatten().map(Vec::len).sum::<usize>();
            u32::try_from(size_of::<f32>() * numbers + 512).unwrap_or(u32::MAX)
        };
        Vectors {
            kept: Cache::builder()
                .max_capacity(CACHE_BYTES)
                .weigher(weigh)
                .time_to_idle(IDLE)
                .build(),
            asking: Cache::builder()
                .max_capacity(MAX_ASKED)
                .time_to_idle(IDLE)
                .build(),
        }
    }

    /// The vectors of all documents of a library, in order. `Err` holds the documents for which a
    /// service must be requested first. `None` means that there are no vectors: no model is
    /// configured, or the library is too large.
    ///
    /// # Errors
    /// If the call is cancelled.
    pub fn of(
        &self,
        project: &Key,
        library: &Library,
        embedder: &Embedder,
        cancel: &Cancel,
    ) -> Result<Result<Option<Vec<OfDocument>>, Lacking>, Stopped> {
        let Some(model) = embedder.model() else {
            return Ok(Ok(None));
        };
        let mut all = Vec::with_capacity(library.documents().len());
        let mut lacking = Vec::new();
        let mut room = MAX_BYTES;
        for document in library.documents() {
            cancel.check()?;
            let known = self.kept.get(&key(project, document));
            let made = known.or_else(|| {
                let vectors = embedder.at_once(&passages::readings(document))?;
                Some(self.keep(project, document, vectors))
            });
            let count = made
                .as_ref()
                .map_or_else(|| passages::passages(document).len(), |made| made.0.len());
            let left = room.checked_sub(count * model.dimensions * size_of::<f32>());
            let Some(left) = left else {
                // Too large: all documents are found by words.
                return Ok(Ok(None));
            };
            room = left;
            match made {
                Some(vectors) => all.push(vectors),
                None => lacking.push(document.clone()),
            }
        }
        Ok(match lacking.is_empty() {
            true => Ok(Some(all)),
            false => Err(Lacking {
                project: project.clone(),
                documents: lacking,
            }),
        })
    }

    /// Requests missing vectors from a service. Returns whether all are available now.
    pub async fn fetch(&self, lacking: Lacking, embedder: &Embedder, until: Instant) -> bool {
        let asking = self.asking.get_with_by_ref(&lacking.project, Arc::default);
        let Ok(_one_at_a_time) = timeout_at(until, asking.lock()).await else {
            return false;
        };
        let documents = lacking.documents.iter();
        let documents: Vec<&Document> = documents
            .filter(|document| !self.kept.contains_key(&key(&lacking.project, document)))
            .collect();
        for batch in batches(documents) {
            let readings: Vec<String> = batch
                .iter()
                .flat_map(|(_, readings)| readings.clone())
                .collect();
            let made = timeout_at(until, embedder.texts(&readings, until)).await;
            let made = match made {
                Ok(Ok(made)) => made,
                Ok(Err(error)) => {
                    tracing::info!(error = %Chain(&error), "documents are found by their words alone");
                    return false;
                }
                Err(_elapsed) => return false,
            };
            let mut made = made.into_iter();
            for (document, readings) in batch {
                let vectors = made.by_ref().take(readings.len()).collect();
                self.keep(&lacking.project, document, vectors);
            }
        }
        true
    }

    fn keep(
        &self,
        project: &Key,
        document: &Document,
        vectors: Vec<Option<Vec<f32>>>,
    ) -> OfDocument {
        let vectors = OfDocument::of(vectors);
        self.kept.insert(key(project, document), vectors.clone());
        vectors
    }
}

/// The title is part of the key because vectors depend on it: a document without a heading has its
/// file name as title.
fn key(project: &Key, document: &Document) -> Name {
    let (blob, title) = (document.blob, document.title.clone());
    (project.clone(), blob, document.adr().is_some(), title)
}

/// Groups documents with their texts into batches of about one request each.
fn batches(documents: Vec<&Document>) -> Vec<Vec<(&Document, Vec<String>)>> {
    let mut batches: Vec<Vec<(&Document, Vec<String>)>> = Vec::new();
    let mut texts = BATCH;
    for document in documents {
        let readings = passages::readings(document);
        if texts + readings.len() > BATCH {
            batches.push(Vec::new());
            texts = 0;
        }
        texts += readings.len();
        if let Some(batch) = batches.last_mut() {
            batch.push((document, readings));
        }
    }
    batches
}
