//! The cache of project views.
//!
//! A view is read by a task that outlives the call that started it. So a project that takes longer
//! than any call's deadline is ready for a later call. Each project is read once at a time; reads
//! of all tenants together are bounded in number and bytes.

use std::sync::Arc;

use archway_proto::trace;
use archway_store::ProjectKey;
use archway_store::Stores;
use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use tokio::sync::{Mutex, Semaphore};
use tokio::time::{Duration, timeout};

use super::tenant_permits::TenantPermits;
use super::view::View;
use super::{MemoryBudget, blocking, task_failed, unavailable};
use crate::vector_store::{SearchedProject, VectorStoreError};

/// Maximum number of projects with a read lock, and with a known size.
const MAX_PROJECTS: u64 = 10_000;
/// How long an unused view is cached.
const IDLE: Duration = Duration::from_secs(60 * 60);
/// Concurrent reads: in all, and of one tenant.
const READS: (usize, usize) = (4, 2);
/// Timeout of one read.
const READ_TIMEOUT: Duration = Duration::from_secs(5 * 60);

/// The views of all projects.
pub(super) struct ViewCache {
    stores: Stores,
    /// Store, model and format: rows of other combinations are ignored.
    made_by: String,
    budget: MemoryBudget,
    cached: Cache<ProjectKey, Arc<View>>,
    /// Bytes of views by edition, also of ones that are no longer cached.
    sizes: Cache<(ProjectKey, i64), usize>,
    /// One lock per project, held while it is read, so that concurrent calls read it once.
    read_locks: Cache<ProjectKey, Arc<Mutex<()>>>,
    permits: TenantPermits,
    /// KiB of rows that may be read at once, as many as may be cached.
    read_kib: Semaphore,
}

impl ViewCache {
    /// An empty cache of views of the rows of `made_by`.
    pub(super) fn new(stores: Stores, made_by: String, budget: MemoryBudget) -> ViewCache {
        let used = budget.used.clone();
        let cached = Cache::builder()
            .weigher(|_, view: &Arc<View>| kib(view.bytes()))
            .max_capacity(kib(budget.bytes).into())
            .eviction_listener(move |_, view, _| {
                used.dec_by(gauge_bytes(&view));
            })
            .eviction_policy(EvictionPolicy::lru())
            .time_to_idle(IDLE);
        ViewCache {
            stores,
            made_by,
            cached: cached.build(),
            sizes: Cache::new(MAX_PROJECTS),
            read_locks: Cache::new(MAX_PROJECTS),
            permits: TenantPermits::new(READS.0, READS.1),
            read_kib: Semaphore::new(kib(budget.bytes) as usize),
            budget,
        }
    }

    /// The memory for all views, in bytes.
    pub(super) fn limit(&self) -> usize {
        self.budget.bytes
    }

    /// As [`ViewCache::get`], if the view fits into `room`. One that is known to exceed it is not read.
    pub(super) async fn get_within(
        self: &Arc<Self>,
        project_key: ProjectKey,
        asked: &SearchedProject,
        room: usize,
    ) -> Result<Arc<View>, VectorStoreError> {
        let fits = |needed: usize| match needed > room {
            true => Err(VectorStoreError::TooLarge {
                needed,
                allowed: room,
            }),
            false => Ok(()),
        };
        let size = (project_key, asked.edition);
        if let Some(known) = self.sizes.get(&size) {
            fits(known)?;
        }
        let view = self.get(project_key, asked.edition).await?;
        self.sizes.insert(size, view.bytes());
        fits(view.bytes())?;
        Ok(view)
    }

    /// The view of a project in this edition or a later one.
    async fn get(
        self: &Arc<Self>,
        project_key: ProjectKey,
        edition: i64,
    ) -> Result<Arc<View>, VectorStoreError> {
        if let Some(view) = self.cached(project_key, edition) {
            return Ok(view);
        }
        let project_lock = self.read_locks.get_with(project_key, Arc::default);
        let project_lock = project_lock.lock_owned().await;
        if let Some(view) = self.cached(project_key, edition) {
            return Ok(view);
        }
        let permit = self
            .permits
            .acquire(project_key.tenant)
            .await
            .map_err(task_failed)?;
        let views = Arc::clone(self);
        let reading = tokio::spawn(trace::apart(async move {
            let _until_read = (project_lock, permit);
            let read = timeout(READ_TIMEOUT, views.refresh(project_key, edition)).await;
            read.unwrap_or(Err(VectorStoreError::Late(
                "reading the index of a project",
            )))
        }));
        reading.await.map_err(task_failed)?
    }

    fn cached(&self, project_key: ProjectKey, edition: i64) -> Option<Arc<View>> {
        let cached = self.cached.get(&project_key);
        cached.filter(|view| view.edition() >= edition)
    }

    /// Reads the rows that the cached view lacks, and drops removed ones.
    async fn refresh(
        &self,
        project_key: ProjectKey,
        edition: i64,
    ) -> Result<Arc<View>, VectorStoreError> {
        let store = self.stores.tenant(project_key.tenant);
        let stored = store
            .blobs_of_pieces(project_key.project, &self.made_by)
            .await;
        let stored = stored.map_err(unavailable)?;
        self.check_size(stored.iter().map(|(_, bytes)| bytes).sum())?;
        let mut builder = View::builder(self.cached.get(&project_key), &stored, self.budget.bytes);
        let needed = kib(builder.bytes());
        let _budget = self
            .read_kib
            .acquire_many(needed)
            .await
            .map_err(task_failed)?;
        for blobs in builder.missing() {
            let rows = store
                .pieces(project_key.project, &self.made_by, &blobs)
                .await;
            let rows = rows.map_err(unavailable)?;
            builder = blocking(move || builder.add(rows)).await?;
        }
        let view = Arc::new(blocking(move || builder.finish(edition)).await?);
        // Rows are smaller than the segments made of them.
        self.check_size(view.bytes())?;
        self.budget.used.inc_by(gauge_bytes(&view));
        self.cached.insert(project_key, Arc::clone(&view));
        Ok(view)
    }

    /// Rejects a project that exceeds the memory budget of the whole cache.
    fn check_size(&self, needed: usize) -> Result<(), VectorStoreError> {
        let allowed = self.budget.bytes;
        match needed > allowed {
            true => Err(VectorStoreError::TooLarge { needed, allowed }),
            false => Ok(()),
        }
    }
}

/// Memory of a view in bytes, for the gauge.
fn gauge_bytes(view: &View) -> i64 {
    i64::try_from(view.bytes()).unwrap_or(i64::MAX)
}

/// At least 1, so that the number of small views is bounded, too.
fn kib(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(1 << 10).max(1)).unwrap_or(u32::MAX)
}
