//! Stores of chunks, which find the nearest ones to a query: Qdrant, or Postgres searched in this
//! process' memory.
//!
//! Every chunk is stored with its [`ProjectKey`] (tenant and project), and requests are answered only
//! within it. Stores hold neither text nor paths: a chunk is a range of a blob, and callers know
//! which files have that blob.

mod blobs;
mod metered;
mod postgres;

use archway_store::{Blob, ProjectKey};
use futures::future::BoxFuture;
use tokio::time::Instant;
use uuid::Uuid;

use super::chunk::{DeclarationPlace, Kind};
use super::terms::{Term, Terms};
pub use blobs::AllowedBlobs;
pub use metered::MeteredStore;
pub use postgres::{MemoryBudget, PostgresStore};

pub mod qdrant;
#[cfg(test)]
mod tests;

/// The chunks of one blob, stored together.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexedText {
    /// The blob.
    pub blob: Blob,
    /// In the order of the text; empty if the text has nothing worth finding.
    pub chunks: Vec<IndexedChunk>,
}

/// A chunk as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexedChunk {
    /// Where it is, and its name.
    pub location: ChunkLocation,
    /// Its word counts.
    pub terms: Terms,
    /// Its vector, of length 1; `None` where no embedder is set.
    pub dense: Option<Vec<f32>>,
}

/// The location of a chunk in its blob, its kind and its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkLocation {
    /// Its kind.
    pub kind: Kind,
    /// Its name.
    pub symbol: Option<String>,
    /// The type, module or heading that contains it.
    pub parent: Option<String>,
    /// Byte range, end excluded.
    pub bytes: (u32, u32),
    /// First and last line, from 1.
    pub lines: (u32, u32),
    /// The declaration of which it is a part, unless it is all of it.
    pub declaration: Option<DeclarationPlace>,
}

/// A project to search, in the state in which its index was last complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchedProject {
    /// The project.
    pub project: Uuid,
    /// How often the index was completed: cached copies of an older edition are stale.
    pub edition: i64,
    /// Identity of the store that its texts were uploaded to.
    pub store_id: Uuid,
    /// How many chunks it had: a store with fewer has lost some.
    pub chunks: u64,
}

/// A query for the nearest chunks.
#[derive(Clone, Debug)]
pub struct NearestQuery {
    /// Vector of the query, of length 1; `None` to rank by words alone.
    pub dense: Option<Vec<f32>>,
    /// Words of the query; duplicates count once.
    pub terms: Vec<Term>,
    /// Which chunks may match.
    pub filter: Filter,
    /// Length of each list of results, at most.
    pub limit: usize,
    /// The project without which there is no answer.
    pub required: Option<Uuid>,
    /// When the answer is no longer needed.
    pub deadline: Instant,
}

/// Which chunks may match; by default all.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only these kinds.
    pub kinds: Option<Vec<Kind>>,
    /// Only chunks of some blobs.
    pub blobs: Option<AllowedBlobs>,
}

/// The nearest chunks, best first, by vector and by words.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Candidates {
    /// By cosine, -1 to 1.
    pub dense: Vec<Hit>,
    /// By BM25, above 0. Document frequencies are counted over all searched projects, whatever the
    /// filter.
    pub sparse: Vec<Hit>,
    /// The projects that were not searched, for lack of memory or time.
    pub unsearched: Vec<Uuid>,
}

/// A chunk that matches.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// Its project.
    pub project: Uuid,
    /// Its blob.
    pub blob: Blob,
    /// Its index among the blob's chunks, from 0.
    pub position: u32,
    /// Where it is, and its name.
    pub location: ChunkLocation,
    /// Cosine or BM25.
    pub score: f32,
}

/// The memory in which a store searches one project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProjectMemory {
    /// Bytes, at most.
    pub limit: u64,
    /// Bytes of a chunk, its vector included.
    pub per_chunk: u64,
    /// Bytes for each word of a chunk, repeated ones included, on average.
    pub per_word: u64,
}

impl ProjectMemory {
    /// The bytes of a text with so many chunks and words.
    pub fn bytes(&self, chunks: u64, words: u64) -> u64 {
        self.per_chunk * chunks + self.per_word * words
    }
}

/// Why a store did not answer.
#[derive(Debug, thiserror::Error)]
pub enum VectorStoreError {
    /// Unreachable, or out of service.
    #[error("the index can't be reached: {what}")]
    Unavailable {
        /// The operation.
        what: &'static str,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The request was rejected: a retry fails alike.
    #[error("the index refused: {what}")]
    Refused {
        /// The operation.
        what: &'static str,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The collection or its points are another program's, or of another format.
    #[error("{0}")]
    Mismatch(String),
    /// Chunks of these projects are missing: any result would be incomplete.
    #[error("the index lost chunks that were stored in it")]
    Lost {
        /// The projects that lost chunks.
        projects: Vec<Uuid>,
    },
    /// The deadline passed.
    #[error("the index did not answer in time: {0}")]
    Late(&'static str),
    /// A project's index exceeds the memory for all indexes.
    #[error("the index of this project needs {needed} bytes of memory; {allowed} are allowed")]
    TooLarge {
        /// Bytes it needs.
        needed: usize,
        /// Bytes allowed for all projects together.
        allowed: usize,
    },
}

// Each example that must not compile has a twin with the tenant, which compiles: so it fails for
// that reason and no other. Doc tests cost seconds; `trybuild`, which compares messages, would check
// all dependencies once more, for minutes.
/// Stores texts, and finds the nearest chunks. Every method but those about the store itself names
/// the tenant.
///
/// ```no_run
/// # use archway_index::vector_store::{SearchedProject, VectorStore, NearestQuery};
/// # use uuid::Uuid;
/// fn search(store: &dyn VectorStore, tenant: Uuid, projects: &[SearchedProject], query: &NearestQuery) {
///     drop(store.nearest(tenant, projects, query));
/// }
/// ```
///
/// Without a tenant it does not compile:
///
/// ```compile_fail
/// # use archway_index::vector_store::{SearchedProject, VectorStore, NearestQuery};
/// # use uuid::Uuid;
/// fn search(store: &dyn VectorStore, tenant: Uuid, projects: &[SearchedProject], query: &NearestQuery) {
///     drop(store.nearest(projects, query));
/// }
/// ```
///
/// Counting, storing and removing need the tenant, too: a project's id alone does not compile.
///
/// ```no_run
/// # use archway_index::vector_store::VectorStore;
/// # use archway_store::ProjectKey;
/// fn count(store: &dyn VectorStore, project_key: ProjectKey) {
///     drop(store.count(project_key));
/// }
/// ```
/// ```compile_fail
/// # use archway_index::vector_store::VectorStore;
/// # use archway_store::ProjectKey;
/// fn count(store: &dyn VectorStore, project_key: ProjectKey) {
///     drop(store.count(project_key.project));
/// }
/// ```
/// ```no_run
/// # use archway_index::vector_store::VectorStore;
/// # use archway_store::ProjectKey;
/// fn keep(store: &dyn VectorStore, project_key: ProjectKey) {
///     drop(store.upsert(project_key, &[]));
/// }
/// ```
/// ```compile_fail
/// # use archway_index::vector_store::VectorStore;
/// # use archway_store::ProjectKey;
/// fn keep(store: &dyn VectorStore, project_key: ProjectKey) {
///     drop(store.upsert(project_key.project, &[]));
/// }
/// ```
/// ```no_run
/// # use archway_index::vector_store::VectorStore;
/// # use archway_store::ProjectKey;
/// fn remove(store: &dyn VectorStore, project_key: ProjectKey) {
///     drop(store.remove(project_key, &[]));
/// }
/// ```
/// ```compile_fail
/// # use archway_index::vector_store::VectorStore;
/// # use archway_store::ProjectKey;
/// fn remove(store: &dyn VectorStore, project_key: ProjectKey) {
///     drop(store.remove(&[]));
/// }
/// ```
pub trait VectorStore: Send + Sync + 'static {
    /// Identity of the store. A different id means a different store, which has nothing of what was
    /// uploaded to the first; `None` means that the store is gone, with all its chunks. Rows in the
    /// database that also records them are lost only together with the record, so they need no id:
    /// theirs is nil.
    fn identity(&self) -> BoxFuture<'_, Result<Option<Uuid>, VectorStoreError>>;

    /// As [`identity`](VectorStore::identity), after creating the store if it is missing. No other
    /// method creates it.
    fn prepare(&self) -> BoxFuture<'_, Result<Uuid, VectorStoreError>>;

    /// Stores texts, replacing those with the same blobs.
    fn upsert<'a>(
        &'a self,
        project_key: ProjectKey,
        texts: &'a [IndexedText],
    ) -> BoxFuture<'a, Result<(), VectorStoreError>>;

    /// Removes texts; missing ones are ignored.
    fn remove<'a>(
        &'a self,
        project_key: ProjectKey,
        blobs: &'a [Blob],
    ) -> BoxFuture<'a, Result<(), VectorStoreError>>;

    /// The nearest chunks of these projects of one tenant. Answers only if all chunks of each project
    /// were proven to be present, else [`VectorStoreError::Lost`].
    fn nearest<'a>(
        &'a self,
        tenant: Uuid,
        projects: &'a [SearchedProject],
        query: &'a NearestQuery,
    ) -> BoxFuture<'a, Result<Candidates, VectorStoreError>>;

    /// The memory for one project; `None` if a search needs none in this process.
    fn project_memory(&self) -> Option<ProjectMemory>;

    /// How many chunks the project has.
    fn count(&self, project_key: ProjectKey) -> BoxFuture<'_, Result<u64, VectorStoreError>>;
}
