//! What is asked of the index: how it stands, and which chunks answer a query.
//!
//! With Postgres away, how it last stood is gone by for as long as that is remembered; with the
//! embedder away, words alone are. So they are while one text of a project that is asked has no
//! vectors yet: among those that have, it would seem to be about nothing. What is found is of whole
//! indexes only: a text that no document has is passed over, be it not yet or no longer a project's.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use archway_proto::chain::Chain;
use archway_store::{Blob, Shelf};
use archway_store::{IndexRow, StoreError, Stores};
use moka::sync::Cache;
use tokio::sync::Notify;
use tokio::time::{Duration, Instant, timeout, timeout_at};
use uuid::Uuid;

use super::chunk::Kind;
use super::documents::{Documents, KnownDocuments};
use super::embed::Embedder;
use super::fuse::{Candidate, fuse};
use super::terms;
use super::vector_store::{Asked, Filter, Home, HomeError, Question};

/// How many candidates each list has.
const CANDIDATES: usize = 100;
/// How long a query waits for Postgres where it knows how the index stood.
const PATIENCE: Duration = Duration::from_millis(250);
/// How long that is remembered.
const REMEMBERED: Duration = Duration::from_secs(10 * 60);
/// How long a query waits for its vector, and never longer than half of the time that it has: its
/// words are still to be looked up.
const VECTOR: Duration = Duration::from_secs(4);
/// How many projects are remembered.
const MAX_PROJECTS: u64 = 10_000;

/// All that is asked of the index.
pub struct Meaning {
    stores: Stores,
    home: Arc<dyn Home>,
    embedder: Arc<Embedder>,
    made_by: String,
    documents: KnownDocuments,
    rows: Cache<Shelf, IndexRow>,
    /// Wakes the indexer.
    wake: Arc<Notify>,
}

/// A whole index, and its documents.
#[derive(Clone)]
pub struct Whole {
    /// The project.
    pub project: Uuid,
    /// How its index stands.
    pub row: IndexRow,
    /// Which texts its files and notes are.
    pub documents: Arc<Documents>,
}

/// What is looked for.
pub struct Query<'a> {
    /// The query.
    pub text: &'a str,
    /// Of these kinds only.
    pub kinds: Option<Vec<Kind>>,
    /// It asks for some documents, kinds or modules: then all of them are ranked, however far.
    pub is_filtered: bool,
    /// Of the documents that have these texts only.
    pub blobs: Option<Arc<HashSet<Blob>>>,
    /// Until when an answer is of use.
    pub deadline: Instant,
}

/// What answers a query, best first.
pub struct Found {
    /// The chunks.
    pub candidates: Vec<Candidate>,
    /// Vectors counted, too; or why not.
    pub vectors: Vectors,
}

/// Whether vectors counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vectors {
    /// They did.
    Counted,
    /// No embedder is set, or the query says nothing to it.
    None,
    /// The embedder could not be asked.
    Away,
    /// Some texts have none yet.
    Lacking,
}

impl Meaning {
    /// A search over these stores; `made_by` names the form of the index, and `wake` has the
    /// indexer look at once.
    pub fn new(
        stores: Stores,
        home: Arc<dyn Home>,
        embedder: Arc<Embedder>,
        made_by: String,
        wake: Arc<Notify>,
    ) -> Meaning {
        let rows = Cache::builder()
            .time_to_live(REMEMBERED)
            .max_capacity(MAX_PROJECTS);
        Meaning {
            stores,
            home,
            embedder,
            made_by,
            documents: KnownDocuments::new(),
            rows: rows.build(),
            wake,
        }
    }

    /// What makes vectors.
    pub fn embedder(&self) -> &Arc<Embedder> {
        &self.embedder
    }

    /// Something was written that is to be found.
    pub fn was_written(&self) {
        self.wake.notify_one();
    }

    /// How the index of a project stands; `None` before anyone began one.
    ///
    /// # Errors
    /// If Postgres gives no answer, and it is not known how it stood.
    pub async fn row(&self, shelf: Shelf) -> Result<Option<IndexRow>, StoreError> {
        let store = self.stores.tenant(shelf.tenant);
        let read = store.index(shelf.project, &self.made_by);
        let Some(known) = self.rows.get(&shelf) else {
            let row = read.await?;
            return Ok(row.inspect(|row| self.rows.insert(shelf, row.clone())));
        };
        match timeout(PATIENCE, read).await {
            Ok(Ok(Some(row))) => {
                self.rows.insert(shelf, row.clone());
                Ok(Some(row))
            }
            Ok(Ok(None)) => {
                self.rows.invalidate(&shelf);
                Ok(None)
            }
            Ok(Err(_)) | Err(_) => Ok(Some(known)),
        }
    }

    /// How many texts of each of these projects' indexes are at home, and of how many; as it last was
    /// known to be, while Postgres gives no answer.
    pub async fn progress(&self, tenant: Uuid, projects: &[Uuid]) -> HashMap<Uuid, (i64, i64)> {
        let store = self.stores.tenant(tenant);
        let read = store.progress_of_indexes(projects, &self.made_by);
        if let Ok(Ok(read)) = timeout(PATIENCE, read).await {
            return read;
        }
        let known = projects.iter().filter_map(|&project| {
            let row = self.rows.get(&Shelf { tenant, project })?;
            Some((project, (row.done, row.total)))
        });
        known.collect()
    }

    /// What of a project's index there is to search, if it was ever whole.
    ///
    /// # Errors
    /// As [`Meaning::row`].
    pub async fn whole(&self, shelf: Shelf, row: IndexRow) -> Result<Option<Whole>, StoreError> {
        if row.edition <= 0 {
            return Ok(None);
        }
        let edition = (row.id, row.edition);
        let documents = self.documents.get(&self.stores, shelf, edition).await?;
        Ok(Some(Whole {
            project: shelf.project,
            row,
            documents,
        }))
    }

    /// The chunks of these projects that answer a query. The first is the one that is asked about.
    ///
    /// # Errors
    /// If the home gives no answer in time, or has not all of these projects: then they are marked,
    /// and made anew.
    pub async fn find(
        &self,
        tenant: Uuid,
        projects: &[Whole],
        query: &Query<'_>,
    ) -> Result<Found, HomeError> {
        let (dense, vectors) = self.vector(tenant, projects, query).await;
        let is_hybrid = dense.is_some();
        let question = Question {
            dense,
            terms: terms::query_terms(query.text),
            filter: Filter {
                kinds: query.kinds.clone(),
                blobs: query.blobs.clone(),
            },
            most: CANDIDATES,
            deadline: query.deadline,
        };
        let asked: Vec<Asked> = projects.iter().map(Whole::asked).collect();
        let candidates = self.home.nearest(tenant, &asked, &question);
        let candidates = timeout_at(query.deadline, candidates).await;
        let candidates = candidates.map_err(|_elapsed| HomeError::Late("searching it"))?;
        if let Err(HomeError::Lost { projects: lost }) = &candidates {
            let lost = projects
                .iter()
                .filter(|whole| lost.contains(&whole.project));
            self.lose(tenant, lost).await;
        }
        let candidates = candidates?;
        Ok(Found {
            candidates: fuse(candidates, is_hybrid, query.is_filtered),
            vectors,
        })
    }

    /// Marks indexes as not whole, and has them looked at. One that became another edition meanwhile
    /// is left alone: what went may be what it no longer has.
    async fn lose(&self, tenant: Uuid, lost: impl Iterator<Item = &Whole>) {
        let store = self.stores.tenant(tenant);
        for Whole { row, .. } in lost {
            match timeout(PATIENCE, store.mark_lost(row.id, row.edition)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    tracing::debug!(error = %Chain(&error), "a lost index was not marked");
                }
                Err(_elapsed) => tracing::debug!("a lost index was not marked in time"),
            }
        }
        self.wake.notify_one();
    }

    /// The query's vector; without one, why that is.
    async fn vector(
        &self,
        tenant: Uuid,
        projects: &[Whole],
        query: &Query<'_>,
    ) -> (Option<Vec<f32>>, Vectors) {
        let Some(first) = projects.first() else {
            return (None, Vectors::None);
        };
        if projects.iter().any(|project| project.row.lacks_vectors) {
            return (None, Vectors::Lacking);
        }
        let shelf = Shelf {
            tenant,
            project: first.project,
        };
        let now = Instant::now();
        let until = now + VECTOR.min(query.deadline.saturating_duration_since(now) / 2);
        match self.embedder.query(shelf, query.text, until).await {
            Ok(Some(vector)) => (Some(vector.to_vec()), Vectors::Counted),
            Ok(None) => (None, Vectors::None),
            Err(error) => {
                tracing::info!(error = %Chain(&error), "a query is answered by its words alone");
                (None, Vectors::Away)
            }
        }
    }
}

impl Whole {
    fn asked(&self) -> Asked {
        Asked {
            project: self.project,
            edition: self.row.edition,
            home: self.row.home,
            chunks: u64::try_from(self.row.chunks).unwrap_or(0),
        }
    }
}
