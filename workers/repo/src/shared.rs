//! The state that outlives a call, and how a project is opened from it.

use std::num::NonZeroUsize;
use std::sync::Arc;

use moka::sync::Cache;
use rayon::ThreadPool;
use uuid::Uuid;

use super::absences::Absences;
use super::content_cache::Budget;
use super::error::RepoError;
use super::key::Key;
use super::look::{Look, ProjectFolders};
use super::metrics::RepoMetrics;
use super::mounts::{Located, Mounts};
use super::open_projects::{CacheBytes, OpenProjects};
use super::project::{Project, Snapshot};
use super::rules::Rules;
use super::search_index::{SearchIndex, SearchIndexConfig};
use super::search_pool::{SearchPools, thread_pool};
use super::status::Status;

/// Maximum number of projects whose dirty status is cached.
const MAX_STATUSES: u64 = 10_000;
/// What all clones of [`Repos`](super::Repos) share.
pub(super) struct Shared {
    pub(super) mounts: Mounts,
    pub(super) absences: Absences,
    pub(super) projects: OpenProjects,
    pub(super) statuses: Cache<Key, Arc<Status>>,
    /// Lists and stats: quick work that must not wait behind a slow pattern.
    pub(super) pool: ThreadPool,
    pub(super) search_pools: SearchPools,
    pub(super) search_index: SearchIndex,
    pub(super) budget: Arc<Budget>,
}

impl Shared {
    /// As [`Repos::new`](super::Repos::new).
    pub(super) fn new(
        mounts: Mounts,
        threads: NonZeroUsize,
        cache_bytes: CacheBytes,
        search_index: SearchIndexConfig,
        metrics: RepoMetrics,
    ) -> Result<Shared, RepoError> {
        let pool = thread_pool("list", threads, 0)?;
        let search_pools = SearchPools::new(threads)?;
        let search_index = SearchIndex::start(search_index, &metrics);
        let search_index = search_index.map_err(|source| RepoError::Io {
            what: "starting the thread of the search index",
            source,
        })?;
        Ok(Shared {
            mounts,
            absences: Absences::new(),
            projects: OpenProjects::new(cache_bytes.projects, metrics),
            statuses: Cache::new(MAX_STATUSES),
            pool,
            search_pools,
            search_index,
            budget: Budget::new(cache_bytes.contents),
        })
    }

    pub(super) fn locate(&self, tenant: &str, project: &str) -> Result<Located, RepoError> {
        let found = self.mounts.locate(tenant, project);
        self.absences.record(tenant, project, found)
    }

    pub(super) fn new_project(
        &self,
        key: Key,
        located: &Located,
    ) -> Result<Arc<Project>, RepoError> {
        let status = self.statuses.get_with_by_ref(&key, Arc::default);
        Project::new(key, located, Arc::clone(&self.budget), status).map(Arc::new)
    }

    /// Takes a snapshot of the folder with this name, whichever project's mirror it is.
    pub(super) fn snapshot(&self, tenant: &str, project: &str) -> Result<Snapshot, RepoError> {
        let located = self.locate(tenant, project)?;
        let key = Key::of(tenant, project, &located)?;
        let open = || self.new_project(key.clone(), &located);
        self.projects.get_or_open(&key, open)?.snapshot(&located)
    }

    /// Takes a snapshot without adding the project to the cache.
    pub(super) fn uncached_snapshot(
        &self,
        tenant: &str,
        project: &str,
        located: &Located,
    ) -> Result<Snapshot, RepoError> {
        let key = Key::of(tenant, project, located)?;
        let project = match self.projects.get(&key) {
            Some(project) => project,
            None => self.new_project(key, located)?,
        };
        project.snapshot(located)
    }

    /// Refuses the mirror of another project, which had this name until it was purged: `archway sync` replaces it.
    pub(super) fn of_project(
        &self,
        (tenant, id): (&str, Uuid),
        snapshot: Snapshot,
    ) -> Result<Snapshot, RepoError> {
        let project = snapshot.project().name();
        // Who links a folder names it by its path.
        if !snapshot.is_mirror_of_another(id) || self.mounts.is_linked(tenant, project) {
            return Ok(snapshot);
        }
        tracing::debug!(tenant, project, "a folder has another project's mirror");
        self.absences
            .record(tenant, project, Err(RepoError::NotMounted))
    }

    pub(super) fn look(
        &self,
        tenant: &str,
        snapshot: &Snapshot,
        located: &Located,
        rules: &Arc<Rules>,
    ) -> Result<Look, RepoError> {
        let project = snapshot.project().name();
        let mounted = self.mounts.host_path(tenant, project);
        let mounted = mounted.ok_or(RepoError::NotMounted)?;
        let folders = ProjectFolders {
            mounted: &mounted,
            files: &located.host_path,
        };
        Look::at(snapshot, &folders, rules)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Sandbox, git, repos_at};

    const OWNER: Uuid = Uuid::from_u128(1);
    const OTHER: Uuid = Uuid::from_u128(2);

    #[test]
    fn a_mirror_is_served_as_the_project_that_it_names_alone() {
        let app = Sandbox::new();
        app.file("a", "1").committed();
        git(
            &app.host("acme"),
            &["clone", "-q", "--bare", "app", "mirror"],
        );
        let mirror = app.host("acme/mirror");
        let mark = |value: &str| git(&mirror, &["config", "archway.mirror", value]);
        let rules = Arc::new(Rules::new(&[], &[], None).unwrap());
        let opened = |id| app.repos.open("acme", ("mirror", id), Arc::clone(&rules));
        assert!(opened(OTHER).is_ok(), "a repository that names no project");
        mark("true");
        assert!(opened(OTHER).is_ok(), "a mirror that names no project");
        mark(&OWNER.to_string());
        assert!(opened(OWNER).is_ok());
        let is_absent = |error| matches!(error, Some(RepoError::Absent { .. }));
        let mirror_of = ("mirror", OTHER);
        assert!(is_absent(opened(OTHER).err()));
        assert!(is_absent(app.repos.head("acme", mirror_of).err()));
        assert!(is_absent(
            app.repos.look("acme", mirror_of, &rules, None).err()
        ));
        let uncached = app.repos.open_uncached("acme", mirror_of, &rules);
        assert!(is_absent(uncached.err()));
        let linked = repos_at(Mounts::none().link("dev", "here", mirror));
        assert!(linked.open("dev", ("here", OTHER), rules).is_ok());
    }
}
