//! The only way to a project's files. Tools list, open and search through this crate, and never see
//! a host path.
//!
//! [`Repos`] holds every project that this worker can see. [`Repo`] is one project as one call sees
//! it, with the commit it was opened at. Everything here blocks: call it on the blocking pool. All
//! state between calls is caches, validated before use.

// In the order in which a call uses them.
mod mounts;
mod folder_list;
mod absences;
mod project;
mod open_projects;
mod repo;
mod look;
mod path;
mod glob;
mod globs;
mod rules;
mod manifest;
mod links;
mod jail;
mod file;
mod boundary;
mod git;
mod status;
mod commit_tree;
mod committed;
mod generated;
mod worktree;
mod manifest_cache;
mod tracked;
mod folder;
mod ignores;
mod stamp;
mod listing;
mod search;
mod search_index;
mod content_cache;
mod pattern;
mod scan;
mod search_pool;
mod matched_line;
mod cancel;
mod error;
mod failure;

// Used by tools and other crates without a repository.
pub mod metrics;
pub mod pack_cache;
mod generational_cache;
mod cache_folder;
pub mod text;
pub mod syntax;
pub mod confine;

#[cfg(any(test, feature = "testing"))]
pub mod testing;

use std::num::NonZeroUsize;
use std::sync::Arc;

use moka::sync::Cache;
use rayon::ThreadPool;
use rustix::fs::AtFlags;

pub use self::cache_folder::{CacheFolder, CacheFolderError};
pub use self::cancel::{Cancel, Stopped};
pub use self::error::{Absence, RepoError};
pub use self::failure::rfc3339;
pub use self::file::RepoFile;
pub use self::folder_list::FolderList;
pub use self::generated::is_generated;
pub use self::generational_cache::GenerationalCache;
pub use self::git::head;
pub use self::glob::{Glob, GlobError};
pub use self::jail::Jail;
pub use self::listing::{Entry, EntryKind, Listing, Stat};
pub use self::look::Look;
pub use self::manifest::Folders;
pub use self::matched_line::MatchedLine;
pub use self::mounts::Mounts;
pub use self::open_projects::CacheBytes;
pub use self::path::{PathError, RepoPath};
pub use self::project::{Head, Key};
pub use self::repo::Repo;
pub use self::rules::{Kind, Rules};
pub use self::search::{Excluded, MatchRange, Matches, Query, SearchTotals};
pub use self::search_index::SearchIndexConfig;
pub use self::stamp::ObservedState;
pub use self::tracked::{TrackedEntry, TrackedKind};
pub use crate::search_pool::thread_pool;

use self::absences::Absences;
use self::content_cache::Budget;
use self::look::ProjectFolders;
use self::metrics::RepoMetrics;
use self::mounts::Located;
use self::open_projects::OpenProjects;
use self::project::{Project, Snapshot};
use self::search_index::SearchIndex;
use self::status::Status;
use crate::search_pool::SearchPools;

/// Maximum number of projects whose dirty status is cached.
const MAX_STATUSES: u64 = 10_000;

/// Every repository that this worker can see. Cheap to clone.
#[derive(Clone)]
pub struct Repos(Arc<Shared>);

struct Shared {
    mounts: Mounts,
    absences: Absences,
    projects: OpenProjects,
    statuses: Cache<Key, Arc<Status>>,
    /// Lists and stats: quick work that must not wait behind a slow pattern.
    pool: ThreadPool,
    search_pools: SearchPools,
    search_index: SearchIndex,
    budget: Arc<Budget>,
}

impl Repos {
    /// Opens the repositories at `mounts`. Searches use `threads` threads. The calling thread starts
    /// these threads, so they inherit its confinement.
    ///
    /// # Errors
    /// If the threads cannot be started.
    pub fn new(
        mounts: Mounts,
        threads: NonZeroUsize,
        cache_bytes: CacheBytes,
        search_index: SearchIndexConfig,
        metrics: RepoMetrics,
    ) -> Result<Repos, RepoError> {
        let pool = thread_pool("list", threads, 0)?;
        let search_pools = SearchPools::new(threads)?;
        let search_index = SearchIndex::start(search_index, &metrics);
        let search_index = search_index.map_err(|source| RepoError::Io {
            what: "starting the thread of the search index",
            source,
        })?;
        Ok(Repos(Arc::new(Shared {
            mounts,
            absences: Absences::new(),
            projects: OpenProjects::new(cache_bytes.projects, metrics),
            statuses: Cache::new(MAX_STATUSES),
            pool,
            search_pools,
            search_index,
            budget: Budget::new(cache_bytes.contents),
        })))
    }

    /// Whether this worker can see the project.
    #[cfg(test)]
    fn is_mounted(&self, tenant: &str, project: &str) -> bool {
        self.0.locate(tenant, project).is_ok()
    }

    /// Returns HEAD of a project. Meant for lists of many projects: it does not fill the project
    /// cache.
    ///
    /// # Errors
    /// As [`Repos::open`].
    pub fn head(&self, tenant: &str, project: &str) -> Result<Option<Head>, RepoError> {
        let located = self.0.locate(tenant, project)?;
        let snapshot = self.0.uncached_snapshot(tenant, project, &located)?;
        Ok(snapshot.head())
    }

    /// Checks whether the work tree of a project is dirty, if a check is due. Like [`Repos::head`],
    /// it is meant for lists of many projects. It costs as much as a search, so run it outside of
    /// calls.
    pub fn refresh_status(&self, tenant: &str, project: &str) {
        let located = self.0.locate(tenant, project);
        let opened = located.and_then(|at| self.0.uncached_snapshot(tenant, project, &at));
        let Ok(snapshot) = opened else {
            return;
        };
        if snapshot.claim_status() {
            self.0.search_pools.background(|| snapshot.refresh_status());
        }
    }

    /// Looks at a project: its HEAD, and the path rules of its readers (the operator's `rules` and
    /// those of its manifest). `None` if nothing has changed since the look `last`, which was by the
    /// same rules of the operator; this costs a few `stat` calls. Does not fill the project cache.
    ///
    /// # Errors
    /// As [`Repos::open`].
    pub fn look(
        &self,
        tenant: &str,
        project: &str,
        rules: &Arc<Rules>,
        last: Option<&Look>,
    ) -> Result<Option<Look>, RepoError> {
        if last.is_some_and(Look::still_holds) {
            return Ok(None);
        }
        let located = self.0.locate(tenant, project)?;
        let snapshot = self.0.uncached_snapshot(tenant, project, &located)?;
        self.0.look(tenant, &snapshot, &located, rules).map(Some)
    }

    /// Returns once the project's folder responds. It opens nothing, so that a hanging file system
    /// stops no other work; errors are found by what follows.
    pub fn reach(&self, tenant: &str, project: &str) {
        if let Ok(located) = self.0.locate(tenant, project) {
            let flags = AtFlags::SYMLINK_NOFOLLOW;
            _ = rustix::fs::statat(&located.folder, c".git", flags);
        }
    }

    /// Opens a project: finds its folder, pins its HEAD and adds the rules of its manifest to the
    /// operator's `rules`.
    ///
    /// # Errors
    /// - [`RepoError::Absent`]: this worker cannot see the project.
    /// - [`RepoError::Outside`]: its folder is a link that leaves the tenant's folder.
    /// - Any other error: `.archway.toml` cannot be read.
    pub fn open(&self, tenant: &str, project: &str, rules: Arc<Rules>) -> Result<Repo, RepoError> {
        let snapshot = self.0.snapshot(tenant, project)?;
        self.0.repo(tenant, snapshot, &rules)
    }

    /// Opens a project for work that is off the path of calls, and looks at it. Does not fill the
    /// project cache.
    ///
    /// # Errors
    /// As [`Repos::open`].
    pub fn open_uncached(
        &self,
        tenant: &str,
        project: &str,
        rules: &Arc<Rules>,
    ) -> Result<(Repo, Look), RepoError> {
        let located = self.0.locate(tenant, project)?;
        let snapshot = self.0.uncached_snapshot(tenant, project, &located)?;
        let look = self.0.look(tenant, &snapshot, &located, rules)?;
        Ok((self.0.repo(tenant, snapshot, rules)?, look))
    }
}

impl Shared {
    fn locate(&self, tenant: &str, project: &str) -> Result<Located, RepoError> {
        let found = self.mounts.locate(tenant, project);
        self.absences.record(tenant, project, found)
    }

    fn new_project(&self, key: Key, located: &Located) -> Result<Arc<Project>, RepoError> {
        let status = self.statuses.get_with_by_ref(&key, Arc::default);
        Project::new(key, located, Arc::clone(&self.budget), status).map(Arc::new)
    }

    fn snapshot(&self, tenant: &str, project: &str) -> Result<Snapshot, RepoError> {
        let located = self.locate(tenant, project)?;
        let key = Key::of(tenant, project, &located)?;
        let open = || self.new_project(key.clone(), &located);
        self.projects.get_or_open(&key, open)?.snapshot(&located)
    }

    /// Takes a snapshot without adding the project to the cache.
    fn uncached_snapshot(
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

    fn look(
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

    fn repo(
        self: &Arc<Self>,
        tenant: &str,
        snapshot: Snapshot,
        rules: &Arc<Rules>,
    ) -> Result<Repo, RepoError> {
        let (manifest, rules) = snapshot.manifest_and_rules(rules)?;
        Ok(Repo {
            shared: Arc::clone(self),
            tenant: tenant.into(),
            rules,
            manifest,
            snapshot,
        })
    }
}
