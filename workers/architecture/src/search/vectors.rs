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
const MAX_LOCKS: u64 = 1000;

/// The vectors of one document's passages, in order.
#[derive(Clone, Debug)]
pub struct DocumentVectors(Arc<[Option<Vec<f32>>]>);

impl DocumentVectors {
    pub(super) fn of(passages: Vec<Option<Vec<f32>>>) -> DocumentVectors {
        DocumentVectors(passages.into())
    }

    /// The cosine of a vector and the most similar passage; 0 if no passage has a vector.
    pub fn similarity(&self, query: &[f32]) -> f32 {
        self.nearest(query).map_or(0.0, |(_, cosine)| cosine)
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
type CacheKey = (Key, ObjectId, bool, String);

/// The cached vectors. Cheap to clone.
#[derive(Clone)]
pub struct Vectors {
    cache: Cache<CacheKey, DocumentVectors>,
    /// Held while one call requests a project's vectors. The next call finds most of them cached.
    request_locks: Cache<Key, Arc<Mutex<()>>>,
}

/// Documents without vectors yet.
pub struct MissingVectors {
    project: Key,
    documents: Vec<Document>,
}

impl Vectors {
    /// Creates an empty cache.
    #[expect(clippy::new_without_default, reason = "it has a size")]
    pub fn new() -> Vectors {
        let weigh = |_: &CacheKey, vectors: &DocumentVectors| {
            let numbers = vectors.0.iter().flatten().map(Vec::len).sum::<usize>();
            u32::try_from(size_of::<f32>() * numbers + 512).unwrap_or(u32::MAX)
        };
        Vectors {
            cache: Cache::builder()
                .max_capacity(CACHE_BYTES)
                .weigher(weigh)
                .time_to_idle(IDLE)
                .build(),
            request_locks: Cache::builder()
                .max_capacity(MAX_LOCKS)
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
    ) -> Result<Result<Option<Vec<DocumentVectors>>, MissingVectors>, Stopped> {
        let Some(model) = embedder.model() else {
            return Ok(Ok(None));
        };
        let mut all = Vec::with_capacity(library.documents().len());
        let mut missing = Vec::new();
        let mut remaining_bytes = MAX_BYTES;
        for document in library.documents() {
            cancel.check()?;
            let cached = self.cache.get(&key(project, document));
            let vectors = cached.or_else(|| {
                let vectors = embedder.embed_locally(&passages::embedding_texts(document))?;
                Some(self.store(project, document, vectors))
            });
            let count = vectors.as_ref().map_or_else(
                || passages::passages(document).len(),
                |vectors| vectors.0.len(),
            );
            let left = remaining_bytes.checked_sub(count * model.dimensions * size_of::<f32>());
            let Some(left) = left else {
                // Too large: all documents are found by words.
                return Ok(Ok(None));
            };
            remaining_bytes = left;
            match vectors {
                Some(vectors) => all.push(vectors),
                None => missing.push(document.clone()),
            }
        }
        Ok(match missing.is_empty() {
            true => Ok(Some(all)),
            false => Err(MissingVectors {
                project: project.clone(),
                documents: missing,
            }),
        })
    }

    /// Requests missing vectors from a service. Returns whether all are available now.
    pub async fn fetch(
        &self,
        missing: MissingVectors,
        embedder: &Embedder,
        until: Instant,
    ) -> bool {
        let request_locks = self
            .request_locks
            .get_with_by_ref(&missing.project, Arc::default);
        let Ok(_one_at_a_time) = timeout_at(until, request_locks.lock()).await else {
            return false;
        };
        let documents = missing.documents.iter();
        let documents: Vec<&Document> = documents
            .filter(|document| !self.cache.contains_key(&key(&missing.project, document)))
            .collect();
        for batch in batches(documents) {
            let embedding_texts: Vec<String> = batch
                .iter()
                .flat_map(|(_, embedding_texts)| embedding_texts.clone())
                .collect();
            let vectors = timeout_at(until, embedder.texts(&embedding_texts, until)).await;
            let vectors = match vectors {
                Ok(Ok(vectors)) => vectors,
                Ok(Err(error)) => {
                    tracing::info!(error = %Chain(&error), "document vectors could not be fetched; searching by words only");
                    return false;
                }
                Err(_elapsed) => return false,
            };
            let mut vectors = vectors.into_iter();
            for (document, embedding_texts) in batch {
                let vectors = vectors.by_ref().take(embedding_texts.len()).collect();
                self.store(&missing.project, document, vectors);
            }
        }
        true
    }

    fn store(
        &self,
        project: &Key,
        document: &Document,
        vectors: Vec<Option<Vec<f32>>>,
    ) -> DocumentVectors {
        let vectors = DocumentVectors::of(vectors);
        self.cache.insert(key(project, document), vectors.clone());
        vectors
    }
}

/// The title is part of the key because vectors depend on it: a document without a heading has its
/// file name as title.
fn key(project: &Key, document: &Document) -> CacheKey {
    let (blob, title) = (document.blob, document.title.clone());
    (project.clone(), blob, document.adr().is_some(), title)
}

/// Groups documents with their texts into batches of about one request each.
fn batches(documents: Vec<&Document>) -> Vec<Vec<(&Document, Vec<String>)>> {
    let mut batches: Vec<Vec<(&Document, Vec<String>)>> = Vec::new();
    let mut texts = BATCH;
    for document in documents {
        let embedding_texts = passages::embedding_texts(document);
        if texts + embedding_texts.len() > BATCH {
            batches.push(Vec::new());
            texts = 0;
        }
        texts += embedding_texts.len();
        if let Some(batch) = batches.last_mut() {
            batch.push((document, embedding_texts));
        }
    }
    batches
}
