//! Where chunks are kept and the nearest ones found: in Qdrant, or in Postgres and this process'
//! memory.
//!
//! Both homes keep what [`Shelf`] says of whose it is, and answer only within it. They keep no text
//! and no path: a chunk is a place in a blob, and who asks knows which files a project's blobs are.

mod counted;
mod exact;

use std::collections::HashSet;
use std::sync::Arc;

use archway_store::{Blob, Shelf};
use futures::future::BoxFuture;
use tokio::time::Instant;
use uuid::Uuid;

use super::chunk::Kind;
use super::terms::{Term, Terms};
pub use counted::CountedHome;
pub use exact::{ExactHome, Room};

pub mod qdrant;
#[cfg(test)]
mod tests;

/// A blob cut into chunks, at home as one.
#[derive(Clone, Debug, PartialEq)]
pub struct Text {
    /// Which one it is.
    pub blob: Blob,
    /// In the order of the text; none, where nothing is worth finding.
    pub pieces: Vec<Piece>,
}

/// A chunk as a home keeps it.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// What is shown of it.
    pub place: Place,
    /// Its words.
    pub terms: Terms,
    /// Its vector, of length 1; `None` where no embedder is set.
    pub dense: Option<Vec<f32>>,
}

/// Where a chunk stands in its blob, and what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// What it is.
    pub kind: Kind,
    /// What it is called.
    pub symbol: Option<String>,
    /// The type, module or heading that it belongs to.
    pub parent: Option<String>,
    /// Its first byte, and the one after its last.
    pub bytes: (u32, u32),
    /// Its first line and its last, from 1.
    pub lines: (u32, u32),
}

/// A project that is asked, as it stood when it was last whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Which one.
    pub project: Uuid,
    /// How often it was made whole: a home that keeps copies must have this one, or a later one.
    pub edition: i64,
    /// The store that its texts were brought to.
    pub home: Uuid,
    /// How many chunks it had: a store that has fewer lost some.
    pub chunks: u64,
}

/// What is looked for.
#[derive(Clone, Debug)]
pub struct Question {
    /// The vector of the query, of length 1; `None`: only its words count.
    pub dense: Option<Vec<f32>>,
    /// The words of the query; each counts once.
    pub terms: Vec<Term>,
    /// Which chunks may be found at all.
    pub filter: Filter,
    /// How many are found of each list, at most.
    pub most: usize,
    /// Until when an answer is of use.
    pub deadline: Instant,
}

/// Which chunks may be found; the default lets all be.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Of these kinds only.
    pub kinds: Option<Vec<Kind>>,
    /// Of these blobs only.
    pub blobs: Option<Arc<HashSet<Blob>>>,
}

/// The nearest chunks, best first, by vector and by words.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Candidates {
    /// By cosine, -1 to 1.
    pub dense: Vec<Hit>,
    /// By BM25, above 0; a word is as rare as it is in all of the projects that were asked,
    /// whatever the filter lets be.
    pub sparse: Vec<Hit>,
}

/// A chunk that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// The project.
    pub project: Uuid,
    /// The text that it is of.
    pub blob: Blob,
    /// Which of the text's chunks, from 0.
    pub position: u32,
    /// What is shown of it.
    pub place: Place,
    /// How near it is.
    pub score: f32,
}

/// Why a home did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// It can't be reached, or says that it can't now.
    #[error("the index can't be reached: {what}")]
    Away {
        /// What was asked.
        what: &'static str,
        /// Its own word.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// It refused: asking again brings the same.
    #[error("the index refused: {what}")]
    Refused {
        /// What was asked.
        what: &'static str,
        /// Its own word.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// What stands there is not ours, or of another form.
    #[error("{0}")]
    Mismatch(String),
    /// It no longer has all that was brought to it of these projects: what it finds is not all.
    #[error("the index lost chunks that were brought to it")]
    Lost {
        /// Whose chunks are gone.
        projects: Vec<Uuid>,
    },
    /// It did not answer in time.
    #[error("the index did not answer in time: {0}")]
    Late(&'static str),
    /// It holds more than may be held in memory.
    #[error("the index of this project needs {needed} bytes of memory, and may have {allowed}")]
    TooLarge {
        /// What it would take.
        needed: usize,
        /// What all may take together.
        allowed: usize,
    },
}

// Each example that must not compile stands beside the same with the tenant, which does: it fails
// for that reason and no other. As examples they cost seconds; `trybuild`, which compares messages,
// would check all dependencies once more, for minutes.
/// Keeps texts, and finds the nearest of their chunks; whose, it is always told.
///
/// ```no_run
/// # use archway_index::vector_store::{Asked, Home, Question};
/// # use uuid::Uuid;
/// fn search(home: &dyn Home, tenant: Uuid, projects: &[Asked], question: &Question) {
///     drop(home.nearest(tenant, projects, question));
/// }
/// ```
///
/// Without a tenant it does not compile:
///
/// ```compile_fail
/// # use archway_index::vector_store::{Asked, Home, Question};
/// # use uuid::Uuid;
/// fn search(home: &dyn Home, tenant: Uuid, projects: &[Asked], question: &Question) {
///     drop(home.nearest(projects, question));
/// }
/// ```
///
/// Nor do chunks that are counted, kept or removed as a project's alone.
///
/// ```no_run
/// # use archway_index::vector_store::Home;
/// # use archway_store::Shelf;
/// fn count(home: &dyn Home, shelf: Shelf) {
///     drop(home.count(shelf));
/// }
/// ```
/// ```compile_fail
/// # use archway_index::vector_store::Home;
/// # use archway_store::Shelf;
/// fn count(home: &dyn Home, shelf: Shelf) {
///     drop(home.count(shelf.project));
/// }
/// ```
/// ```no_run
/// # use archway_index::vector_store::Home;
/// # use archway_store::Shelf;
/// fn keep(home: &dyn Home, shelf: Shelf) {
///     drop(home.upsert(shelf, &[]));
/// }
/// ```
/// ```compile_fail
/// # use archway_index::vector_store::Home;
/// # use archway_store::Shelf;
/// fn keep(home: &dyn Home, shelf: Shelf) {
///     drop(home.upsert(shelf.project, &[]));
/// }
/// ```
/// ```no_run
/// # use archway_index::vector_store::Home;
/// # use archway_store::Shelf;
/// fn remove(home: &dyn Home, shelf: Shelf) {
///     drop(home.remove(shelf, &[]));
/// }
/// ```
/// ```compile_fail
/// # use archway_index::vector_store::Home;
/// # use archway_store::Shelf;
/// fn remove(home: &dyn Home, shelf: Shelf) {
///     drop(home.remove(&[]));
/// }
/// ```
pub trait Home: Send + Sync + 'static {
    /// Which store keeps the chunks: another id is another store, which has nothing of what was
    /// brought to the first. `None`: there is none now, and all that was kept is lost. A store
    /// that is lost only together with the notes of what it has needs no id: its id is nil.
    fn identity(&self) -> BoxFuture<'_, Result<Option<Uuid>, HomeError>>;

    /// The same, after the store was made where there was none. Nothing else makes one.
    fn prepare(&self) -> BoxFuture<'_, Result<Uuid, HomeError>>;

    /// Keeps texts; one that is there already is replaced.
    fn upsert<'a>(
        &'a self,
        shelf: Shelf,
        texts: &'a [Text],
    ) -> BoxFuture<'a, Result<(), HomeError>>;

    /// Forgets texts; those that are not there are passed over.
    fn remove<'a>(
        &'a self,
        shelf: Shelf,
        blobs: &'a [Blob],
    ) -> BoxFuture<'a, Result<(), HomeError>>;

    /// The nearest chunks of all these projects of one tenant: an answer only if the store proved
    /// that it has all of each, else [`HomeError::Lost`].
    fn nearest<'a>(
        &'a self,
        tenant: Uuid,
        projects: &'a [Asked],
        question: &'a Question,
    ) -> BoxFuture<'a, Result<Candidates, HomeError>>;

    /// How many chunks there are.
    fn count(&self, shelf: Shelf) -> BoxFuture<'_, Result<u64, HomeError>>;
}
