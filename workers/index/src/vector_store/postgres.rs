//! Chunks as rows in Postgres, searched exactly in memory.
//!
//! For each project that is searched, this process caches the words and vectors of all chunks
//! ([`view`]). They are read by the first search, and updated when the index has a newer edition.
//! The cache is bounded in bytes; the least recently searched project is evicted first, and read
//! again when needed.

mod encoding;
mod segment;
mod view;
mod tenant_permits;
mod view_cache;

use std::sync::Arc;
use std::thread::available_parallelism;

use archway_store::{Blob, ProjectKey};
use archway_store::{EncodedText, StoreError, Stores};
use futures::future::BoxFuture;
use prometheus_client::metrics::gauge::Gauge;
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

use super::{
    Candidates, IndexedText, NearestQuery, ProjectMemory, SearchedProject, VectorStore,
    VectorStoreError,
};
use crate::embed::Model;
use tenant_permits::TenantPermits;
use view::View;
use view_cache::ViewCache;

/// The memory for the views of all projects.
#[derive(Clone, Debug, Default)]
pub struct MemoryBudget {
    /// The limit, in bytes.
    pub bytes: usize,
    /// Bytes in use.
    pub used: Gauge,
}

/// Chunks as rows in Postgres, searched in this process' memory.
pub struct PostgresStore {
    stores: Stores,
    /// Store, model and format: rows of other combinations are ignored.
    made_by: String,
    /// Numbers of a vector; 0 if words alone are stored.
    dimensions: usize,
    views: Arc<ViewCache>,
    /// Searches in flight, each on a thread of its own.
    searches: TenantPermits,
}

impl PostgresStore {
    /// The rows of `made_by`, cached within `budget`; with the vectors of `model`, or words alone.
    pub fn new(
        stores: Stores,
        made_by: &str,
        model: Option<&Model>,
        budget: MemoryBudget,
    ) -> PostgresStore {
        // Twice the number of cores, half of them per tenant, so that no tenant waits for another's
        // longest search.
        let each = available_parallelism().map_or(1, usize::from);
        PostgresStore {
            views: Arc::new(ViewCache::new(stores.clone(), made_by.to_owned(), budget)),
            stores,
            made_by: made_by.to_owned(),
            dimensions: model.map_or(0, |model| model.dimensions),
            searches: TenantPermits::new(2 * each, each),
        }
    }

    async fn find(
        &self,
        tenant: Uuid,
        projects: &[SearchedProject],
        query: &NearestQuery,
    ) -> Result<Candidates, VectorStoreError> {
        let (views, unsearched) = self.views(tenant, projects, query).await?;
        let permit = self.searches.acquire(tenant).await.map_err(task_failed)?;
        let query = query.clone();
        let search = move || {
            // The thread stays busy even if the caller is gone.
            let _until_finished = permit;
            view::nearest(&views, &query)
        };
        let found = blocking(search).await??;
        Ok(Candidates {
            unsearched,
            ..found
        })
    }

    /// The views of these projects, the small ones first, as far as memory and half of the time suffice, and
    /// the projects left out. A view that is cached costs no time.
    async fn views(
        &self,
        tenant: Uuid,
        projects: &[SearchedProject],
        query: &NearestQuery,
    ) -> Result<(SearchedViews, Vec<Uuid>), VectorStoreError> {
        let now = Instant::now();
        let half_time = now + query.deadline.saturating_duration_since(now) / 2;
        let mut room = self.views.limit();
        let (mut views, mut unsearched) = (Vec::with_capacity(projects.len()), Vec::new());
        let mut failure = None;
        for asked in smallest_first(projects, query.required) {
            let is_required = query.required == Some(asked.project);
            let until = if is_required {
                query.deadline
            } else {
                half_time
            };
            let project_key = ProjectKey {
                tenant,
                project: asked.project,
            };
            let view = self.views.get_within(project_key, asked, room);
            let view = timeout_at(until, view)
                .await
                .unwrap_or_else(|_elapsed| late());
            match view {
                Ok(view) => {
                    room = room.saturating_sub(view.bytes());
                    views.push((asked.project, view));
                }
                Err(error) if is_required => return Err(error),
                Err(error) => {
                    unsearched.push(asked.project);
                    failure.get_or_insert(error);
                }
            }
        }
        match failure {
            Some(failure) if views.is_empty() => Err(failure),
            _ => Ok((views, unsearched)),
        }
    }
}

/// The views of projects that are searched.
type SearchedViews = Vec<(Uuid, Arc<View>)>;

/// The required project, then the others by size, so that a large one makes none of them late.
fn smallest_first(projects: &[SearchedProject], required: Option<Uuid>) -> Vec<&SearchedProject> {
    let mut projects: Vec<&SearchedProject> = projects.iter().collect();
    projects.sort_by_key(|it| (required != Some(it.project), it.chunks));
    projects
}

fn late<T>() -> Result<T, VectorStoreError> {
    Err(VectorStoreError::Late("reading the index of a project"))
}

impl VectorStore for PostgresStore {
    // The rows are in the database that records them, and are lost together with the record. So they
    // need neither an id nor verification.
    fn identity(&self) -> BoxFuture<'_, Result<Option<Uuid>, VectorStoreError>> {
        Box::pin(async { Ok(Some(Uuid::nil())) })
    }

    fn prepare(&self) -> BoxFuture<'_, Result<Uuid, VectorStoreError>> {
        Box::pin(async { Ok(Uuid::nil()) })
    }

    fn upsert<'a>(
        &'a self,
        project_key: ProjectKey,
        texts: &'a [IndexedText],
    ) -> BoxFuture<'a, Result<(), VectorStoreError>> {
        Box::pin(async move {
            let row = |text: &IndexedText| EncodedText {
                blob: text.blob,
                bytes: encoding::encode(&text.chunks, self.dimensions > 0),
                chunks: i32::try_from(text.chunks.len()).unwrap_or(i32::MAX),
            };
            let rows: Vec<EncodedText> = texts.iter().map(row).collect();
            let store = self.stores.tenant(project_key.tenant);
            let put = store.put_pieces(project_key.project, &self.made_by, &rows);
            put.await.map_err(unavailable)
        })
    }

    fn remove<'a>(
        &'a self,
        project_key: ProjectKey,
        blobs: &'a [Blob],
    ) -> BoxFuture<'a, Result<(), VectorStoreError>> {
        Box::pin(async move {
            let store = self.stores.tenant(project_key.tenant);
            let removed = store.remove_pieces(project_key.project, &self.made_by, blobs);
            removed.await.map_err(unavailable)
        })
    }

    fn nearest<'a>(
        &'a self,
        tenant: Uuid,
        projects: &'a [SearchedProject],
        query: &'a NearestQuery,
    ) -> BoxFuture<'a, Result<Candidates, VectorStoreError>> {
        Box::pin(async move {
            let found = self.find(tenant, projects, query);
            timeout_at(query.deadline, found)
                .await
                .unwrap_or_else(|_elapsed| late())
        })
    }

    fn project_memory(&self) -> Option<ProjectMemory> {
        Some(segment::memory(self.views.limit(), self.dimensions))
    }

    fn count(&self, project_key: ProjectKey) -> BoxFuture<'_, Result<u64, VectorStoreError>> {
        Box::pin(async move {
            let store = self.stores.tenant(project_key.tenant);
            let chunks = store.count_pieces(project_key.project, &self.made_by).await;
            Ok(u64::try_from(chunks.map_err(unavailable)?).unwrap_or(0))
        })
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, VectorStoreError> {
    tokio::task::spawn_blocking(work).await.map_err(task_failed)
}

/// A task that ended without a result.
fn task_failed(error: impl std::error::Error + Send + Sync + 'static) -> VectorStoreError {
    VectorStoreError::Unavailable {
        what: "searching in memory",
        source: error.into(),
    }
}

fn unavailable(error: StoreError) -> VectorStoreError {
    VectorStoreError::Unavailable {
        what: "rows of the index",
        source: error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_required_project_is_first_and_a_large_one_last() {
        let project = |id: u128, chunks| SearchedProject {
            project: Uuid::from_u128(id),
            edition: 1,
            store_id: Uuid::nil(),
            chunks,
        };
        let all = [
            project(1, 900),
            project(2, 5),
            project(3, 70),
            project(4, 8_000),
        ];
        let order = |required: Option<u128>| {
            let order = smallest_first(&all, required.map(Uuid::from_u128));
            order
                .iter()
                .map(|it| it.project.as_u128())
                .collect::<Vec<_>>()
        };
        assert_eq!(order(None), [2, 3, 1, 4]);
        assert_eq!(order(Some(4)), [4, 2, 3, 1]);
    }
}
