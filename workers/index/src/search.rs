//! Searches the index, and reports its state.
//!
//! Without Postgres, the last known state is used for as long as it is cached. Without the embedder,
//! results are ranked by words only. The same holds while any text of a searched project lacks
//! vectors: next to texts that have them, it would seem unrelated to everything. Only complete indexes are
//! searched: a match in a text that no document has, whether not yet or no longer, is dropped.

mod rows;

use std::collections::HashMap;
use std::sync::Arc;

use archway_proto::chain::Chain;
use archway_store::ProjectKey;
use archway_store::{IndexRow, StoreError, Stores};
use moka::sync::Cache;
use tokio::time::{Duration, Instant, timeout_at};
use uuid::Uuid;

use super::chunk::Kind;
use super::documents::{DocumentCache, Documents};
use super::embed::Embedder;
use super::fuse::{Candidate, Fusion, WEIGHTS};
use super::reading::{Place, Reading};
use super::signals::ProjectSignals;
use super::terms;
use super::vector_store::{
    AllowedBlobs, Candidates, Filter, Hit, NearestQuery, SearchedProject, VectorStore,
    VectorStoreError,
};

/// Depth of each list, of which code, and tests with documents, take their parts.
const DEPTH: usize = 400;
/// How long a query waits for Postgres if it has a cached state.
const STATE_TIMEOUT: Duration = Duration::from_millis(250);
/// How long a state is cached.
const STATE_LIFETIME: Duration = Duration::from_secs(10 * 60);
/// How long a query waits for its vector, at most half of its remaining time: the words still have
/// to be searched.
const VECTOR_TIMEOUT: Duration = Duration::from_secs(4);
/// Projects with a cached state.
const MAX_PROJECTS: u64 = 10_000;

/// Searches the index.
pub struct IndexSearch {
    stores: Stores,
    vector_store: Arc<dyn VectorStore>,
    embedder: Arc<Embedder>,
    made_by: String,
    documents: DocumentCache,
    rows: Cache<ProjectKey, IndexRow>,
    /// Signals to the indexer.
    signals: Arc<ProjectSignals>,
}

/// A complete index and its documents.
#[derive(Clone)]
pub struct SearchableIndex {
    /// The project.
    pub project: Uuid,
    /// State of the index.
    pub row: IndexRow,
    /// The files and notes that have each text.
    pub documents: Arc<Documents>,
}

/// A query and its bounds.
pub struct SearchQuery<'a> {
    /// The query's text.
    pub text: &'a str,
    /// Only these kinds.
    pub kinds: Option<Vec<Kind>>,
    /// Whether documents, kinds or modules are restricted: then all that pass are ranked, however
    /// dissimilar.
    pub is_filtered: bool,
    /// Only documents with some texts.
    pub blobs: Option<AllowedBlobs>,
    /// The project without which there is no answer. Others may be left out.
    pub required: Option<Uuid>,
    /// When the answer is no longer needed.
    pub deadline: Instant,
}

/// The results of a query, best first.
pub struct SearchResults {
    /// The chunks.
    pub candidates: Vec<Candidate>,
    /// Whether vectors ranked them.
    pub vectors: VectorUse,
    /// The projects that were not searched, for lack of memory or time.
    pub unsearched: Vec<Uuid>,
}

/// Whether vectors ranked the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VectorUse {
    /// They did.
    Used,
    /// No embedder is configured, or the query has no vector.
    None,
    /// The embedder did not answer.
    Unavailable,
    /// Some texts have no vectors yet.
    Incomplete,
}

impl IndexSearch {
    /// Searches indexes made by `made_by` (store, model and format). `signals` reach the indexer.
    pub fn new(
        stores: Stores,
        vector_store: Arc<dyn VectorStore>,
        embedder: Arc<Embedder>,
        made_by: String,
        signals: Arc<ProjectSignals>,
    ) -> IndexSearch {
        let rows = Cache::builder()
            .time_to_live(STATE_LIFETIME)
            .max_capacity(MAX_PROJECTS);
        IndexSearch {
            stores,
            vector_store,
            embedder,
            made_by,
            documents: DocumentCache::new(),
            rows: rows.build(),
            signals,
        }
    }

    /// The embedder.
    pub fn embedder(&self) -> &Arc<Embedder> {
        &self.embedder
    }

    /// Signals to the indexer: what calls learn about projects.
    pub fn signals(&self) -> &ProjectSignals {
        &self.signals
    }

    /// The searchable index of a project; `None` if it was never complete.
    ///
    /// # Errors
    /// If its documents are not cached and Postgres does not answer.
    pub async fn searchable(
        &self,
        project_key: ProjectKey,
        row: IndexRow,
    ) -> Result<Option<SearchableIndex>, StoreError> {
        if row.edition <= 0 {
            return Ok(None);
        }
        let edition = (row.id, row.edition);
        let documents = self
            .documents
            .get(&self.stores, project_key, edition)
            .await?;
        Ok(Some(SearchableIndex {
            project: project_key.project,
            row,
            documents,
        }))
    }

    /// The chunks of these projects that match a query. The first project's cache of query vectors is
    /// used.
    ///
    /// # Errors
    /// If the store does not answer in time, can't search the required project or any at all, or lost
    /// chunks of a project: its index is then marked as incomplete and rebuilt.
    pub async fn find(
        &self,
        tenant: Uuid,
        projects: &[SearchableIndex],
        query: &SearchQuery<'_>,
    ) -> Result<SearchResults, VectorStoreError> {
        let reading = Reading::of(query.text);
        let mut vectors = VectorUse::Used;
        let mut texts = Vec::with_capacity(reading.texts.len());
        for (nth, (text, _)) in reading.texts.iter().enumerate() {
            let mut dense = None;
            if vectors == VectorUse::Used {
                let (vector, made) = self.vector(tenant, projects, (query, text)).await;
                dense = vector;
                // A name alone may have no vector; the title decides.
                if nth == 0 || made != VectorUse::None {
                    vectors = made;
                }
            }
            texts.push((dense, text.as_str()));
        }
        let texts = texts.into_iter();
        let found = texts.map(|text| self.nearest(tenant, projects, query, text));
        let mut found = futures::future::try_join_all(found).await?;
        let unsearched = found.iter_mut().flat_map(|it| it.unsearched.drain(..));
        let unsearched = unsearched.collect();
        let weights = reading.texts.iter().map(|(_, weight)| *weight);
        let asked = weights.zip(found).collect();
        let documents: HashMap<Uuid, &Documents> = projects
            .iter()
            .map(|index| (index.project, &*index.documents))
            .collect();
        let place = |hit: &Hit| match documents.get(&hit.project) {
            Some(documents) => {
                let documents = documents.of_text(&hit.blob).iter();
                reading.place(documents.map(|(source, name)| (*source, &**name)))
            }
            None => Place::default(),
        };
        let fusion = Fusion {
            reading: &reading,
            weights: &WEIGHTS,
            is_hybrid: vectors == VectorUse::Used,
            all: query.is_filtered,
        };
        Ok(SearchResults {
            candidates: fusion.merge(asked, place),
            vectors,
            unsearched,
        })
    }

    /// The chunks that are nearest to one text of a query.
    async fn nearest(
        &self,
        tenant: Uuid,
        projects: &[SearchableIndex],
        query: &SearchQuery<'_>,
        (dense, text): (Option<Vec<f32>>, &str),
    ) -> Result<Candidates, VectorStoreError> {
        let nearest = NearestQuery {
            dense,
            terms: terms::query_terms(text),
            filter: Filter {
                kinds: query.kinds.clone(),
                blobs: query.blobs.clone(),
            },
            limit: DEPTH,
            required: query.required,
            deadline: query.deadline,
        };
        let searched: Vec<SearchedProject> =
            projects.iter().map(SearchableIndex::as_searched).collect();
        let candidates = self.vector_store.nearest(tenant, &searched, &nearest);
        let candidates = timeout_at(query.deadline, candidates).await;
        let candidates = candidates.map_err(|_elapsed| VectorStoreError::Late("searching it"))?;
        if let Err(VectorStoreError::Lost { projects: lost }) = &candidates {
            let lost = projects
                .iter()
                .filter(|whole| lost.contains(&whole.project));
            self.mark_lost(tenant, lost).await;
        }
        candidates
    }

    /// The vector of a query's text, or why there is none.
    async fn vector(
        &self,
        tenant: Uuid,
        projects: &[SearchableIndex],
        (query, text): (&SearchQuery<'_>, &str),
    ) -> (Option<Vec<f32>>, VectorUse) {
        let Some(first) = projects.first() else {
            return (None, VectorUse::None);
        };
        if projects.iter().any(|project| project.row.lacks_vectors) {
            return (None, VectorUse::Incomplete);
        }
        let project_key = ProjectKey {
            tenant,
            project: first.project,
        };
        let now = Instant::now();
        let until = now + VECTOR_TIMEOUT.min(query.deadline.saturating_duration_since(now) / 2);
        match self.embedder.query(project_key, text, until).await {
            Ok(Some(vector)) => (Some(vector.to_vec()), VectorUse::Used),
            Ok(None) => (None, VectorUse::None),
            Err(error) => {
                tracing::info!(error = %Chain(&error), "ranking a query by words alone");
                (None, VectorUse::Unavailable)
            }
        }
    }
}

impl SearchableIndex {
    fn as_searched(&self) -> SearchedProject {
        SearchedProject {
            project: self.project,
            edition: self.row.edition,
            store_id: self.row.store_id,
            chunks: u64::try_from(self.row.chunks).unwrap_or(0),
        }
    }
}
