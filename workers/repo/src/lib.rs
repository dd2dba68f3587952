//! The only way to a project's files: tools list, open and search through here, and never see a
//! path of the host.
//!
//! [`Repos`] is all that this worker sees; [`Repo`] is one project as one call sees it, with the
//! commit it was opened at. Everything in here blocks: call it on the blocking pool. What is kept
//! between calls are caches that are checked before they are used, of at most 64 projects.

// In the order a call meets them.
mod mounts;
mod absences;
mod project;
mod repo;
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
mod worktree;
mod manifest_cache;
mod tracked;
mod folder;
mod ignores;
mod stamp;
mod listing;
mod search;
mod content_cache;
mod pattern;
mod scan;
mod search_pool;
mod matched_line;
mod cancel;
mod error;
mod failure;

// What tools and the crates above say and read beside a repository.
pub mod text;
pub mod syntax;
pub mod confine;

#[cfg(any(test, feature = "testing"))]
pub mod testing;

use std::num::NonZeroUsize;
use std::sync::Arc;

use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use rayon::ThreadPool;
use tokio::time::Duration;

pub use self::cancel::{Cancel, Stopped};
pub use self::error::{Absence, RepoError};
pub use self::failure::rfc3339;
pub use self::file::RepoFile;
pub use self::git::head;
pub use self::glob::{Glob, GlobError};
pub use self::jail::Jail;
pub use self::listing::{Entry, EntryKind, Listing, Stat};
pub use self::manifest::Folders;
pub use self::matched_line::MatchedLine;
pub use self::mounts::Mounts;
pub use self::path::{PathError, RepoPath};
pub use self::project::{Head, Key};
pub use self::repo::Repo;
pub use self::rules::{Kind, Rules};
pub use self::search::{Excluded, MatchRange, Matches, Query, SearchTotals};
pub use self::stamp::ObservedState;
pub use self::tracked::{TrackedEntry, TrackedKind};
pub use crate::search_pool::thread_pool;

use self::absences::Absences;
use self::content_cache::Budget;
use self::mounts::Located;
use self::project::{Project, Snapshot};
use self::status::Status;
use crate::search_pool::SearchPools;

/// How many projects are remembered.
const MAX_PROJECTS: u64 = 64;

/// Of how many it is remembered whether their work trees are dirty.
const MAX_STATUSES: u64 = 10_000;

/// How long a project is remembered that nobody asks for.
const IDLE: Duration = Duration::from_secs(15 * 60);

/// Every repository that this worker can see.
#[derive(Clone)]
pub struct Repos(Arc<Shared>);

struct Shared {
    mounts: Mounts,
    absences: Absences,
    projects: Cache<Key, Arc<Project>>,
    statuses: Cache<Key, Arc<Status>>,
    /// Lists and looks: quick work, which must not wait for a slow pattern.
    pool: ThreadPool,
    search_pools: SearchPools,
    budget: Arc<Budget>,
}

impl Repos {
    /// The repositories at `mounts`, searched by `threads` threads, which keep up to `cache_bytes`
    /// of file contents between searches. The threads are started by the calling thread, and
    /// confined if it is.
    ///
    /// # Errors
    /// If the threads can't be started.
    pub fn new(
        mounts: Mounts,
        threads: NonZeroUsize,
        cache_bytes: usize,
    ) -> Result<Repos, RepoError> {
        let pool = thread_pool("list", threads, 0)?;
        let search_pools = SearchPools::new(threads)?;
        let projects = Cache::builder()
            .max_capacity(MAX_PROJECTS)
            .eviction_policy(EvictionPolicy::lru())
            .time_to_idle(IDLE)
            .build();
        Ok(Repos(Arc::new(Shared {
            mounts,
            absences: Absences::new(),
            projects,
            statuses: Cache::new(MAX_STATUSES),
            pool,
            search_pools,
            budget: Budget::new(cache_bytes),
        })))
    }

    /// Whether this worker sees such a project.
    #[cfg(test)]
    fn is_mounted(&self, tenant: &str, project: &str) -> bool {
        self.0.locate(tenant, project).is_ok()
    }

    /// Where HEAD of a project stands, for lists of many projects: none is remembered for it.
    ///
    /// # Errors
    /// As [`Repos::open`].
    pub fn head(&self, tenant: &str, project: &str) -> Result<Option<Head>, RepoError> {
        Ok(self.0.uncached_snapshot(tenant, project)?.head())
    }

    /// Finds out whether the work tree of a project is dirty, if it is time for that: for lists of
    /// many projects, like [`Repos::head`]. It costs as much as a search: run it off the path of calls.
    pub fn refresh_status(&self, tenant: &str, project: &str) {
        let Ok(snapshot) = self.0.uncached_snapshot(tenant, project) else {
            return;
        };
        if snapshot.claim_status() {
            self.0.search_pools.background(|| snapshot.refresh_status());
        }
    }

    /// Where HEAD of a project stands, and which paths exist for its readers, by the operator's
    /// `rules` and what it says about itself; for lists of many projects, like [`Repos::head`].
    ///
    /// # Errors
    /// As [`Repos::open`].
    pub fn head_and_rules(
        &self,
        tenant: &str,
        project: &str,
        rules: &Arc<Rules>,
    ) -> Result<(Option<Head>, Arc<Rules>), RepoError> {
        let snapshot = self.0.uncached_snapshot(tenant, project)?;
        let (_manifest, rules) = snapshot.manifest_and_rules(rules)?;
        Ok((snapshot.head(), rules))
    }

    /// Opens a project as it is now: its folder is found, its HEAD is pinned, and what it says
    /// about itself is added to the operator's `rules`.
    ///
    /// # Errors
    /// [`RepoError::Absent`] if there is no such project, [`RepoError::Outside`] if its
    /// folder is a link that leaves the tenant's; if its `.archway.toml` can't be read, why.
    pub fn open(&self, tenant: &str, project: &str, rules: Arc<Rules>) -> Result<Repo, RepoError> {
        let snapshot = self.0.snapshot(tenant, project)?;
        let (manifest, rules) = snapshot.manifest_and_rules(&rules)?;
        Ok(Repo {
            shared: Arc::clone(&self.0),
            tenant: tenant.into(),
            rules,
            manifest,
            snapshot,
        })
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
        // Calls that come together open one.
        let open = || self.new_project(key.clone(), &located);
        let project = self.projects.try_get_with_by_ref(&key, open);
        let project = project.map_err(|error| RepoError::Io {
            what: "opening a project's folder",
            source: std::io::Error::other(error),
        })?;
        project.snapshot(&located)
    }

    /// A project as it is now, which is not remembered for that.
    fn uncached_snapshot(&self, tenant: &str, project: &str) -> Result<Snapshot, RepoError> {
        let located = self.locate(tenant, project)?;
        let key = Key::of(tenant, project, &located)?;
        let project = match self.projects.get(&key) {
            Some(project) => project,
            None => self.new_project(key, &located)?,
        };
        project.snapshot(&located)
    }
}
