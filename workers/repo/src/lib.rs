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
mod key;
mod shared;
mod project;
mod open_projects;
mod weight;
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
mod submodules;
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
mod file_text;
mod pattern;
mod scan;
mod search_pool;
mod seen_file;
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

use rustix::fs::AtFlags;
use uuid::Uuid;

pub use self::cache_folder::{CacheFolder, CacheFolderError};
pub use self::cancel::{Cancel, Stopped};
pub use self::error::{Absence, RepoError};
pub use self::failure::{may_pass_when_opened_anew, rfc3339};
pub use self::file::RepoFile;
pub use self::folder_list::FolderList;
pub use self::generated::is_generated;
pub use self::generational_cache::GenerationalCache;
pub use self::git::head;
pub use self::glob::{Glob, GlobError};
pub use self::jail::Jail;
pub use self::key::Key;
pub use self::listing::{Entry, EntryKind, Listing, Stat};
pub use self::look::Look;
pub use self::manifest::Folders;
pub use self::matched_line::MatchedLine;
pub use self::mounts::Mounts;
pub use self::open_projects::CacheBytes;
pub use self::path::{PathError, RepoPath};
pub use self::project::Head;
pub use self::repo::Repo;
pub use self::rules::{Kind, Rules};
pub use self::search::{Excluded, MatchRange, Matches, Query, SearchPattern, SearchTotals};
pub use self::search_index::SearchIndexConfig;
pub use self::stamp::ObservedState;
pub use self::submodules::Submodule;
pub use self::tracked::{TrackedEntry, TrackedKind};
pub use crate::search_pool::{lower_priority_for_background, thread_pool};

use self::metrics::RepoMetrics;
use self::mounts::Located;
use self::project::Snapshot;
use self::shared::Shared;

/// Every repository that this worker can see. Cheap to clone.
#[derive(Clone)]
pub struct Repos(Arc<Shared>);

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
        let shared = Shared::new(mounts, threads, cache_bytes, search_index, metrics)?;
        Ok(Repos(Arc::new(shared)))
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
    pub fn head(&self, tenant: &str, project: (&str, Uuid)) -> Result<Option<Head>, RepoError> {
        Ok(self.uncached(tenant, project)?.0.head())
    }

    /// A project as it is now, and its place. Does not fill the project cache.
    fn uncached(
        &self,
        tenant: &str,
        (project, id): (&str, Uuid),
    ) -> Result<(Snapshot, Located), RepoError> {
        let located = self.0.locate(tenant, project)?;
        let snapshot = self.0.uncached_snapshot(tenant, project, &located)?;
        Ok((self.0.of_project((tenant, id), snapshot)?, located))
    }

    /// Checks whether the work tree of a project is dirty, if a check is due. Like [`Repos::head`],
    /// it is meant for lists of many projects. It costs as much as a search, so run it outside of
    /// calls.
    pub fn refresh_status(&self, tenant: &str, project: (&str, Uuid), rules: &Arc<Rules>) {
        if let Ok((snapshot, _)) = self.uncached(tenant, project)
            && snapshot.claim_status()
            && let Ok(repo) = Repo::new(&self.0, tenant, snapshot, rules)
        {
            repo.refresh_status();
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
        project: (&str, Uuid),
        rules: &Arc<Rules>,
        last: Option<&Look>,
    ) -> Result<Option<Look>, RepoError> {
        if last.is_some_and(Look::still_holds) {
            return Ok(None);
        }
        let (snapshot, located) = self.uncached(tenant, project)?;
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

    /// Opens a project by its slug and id: finds its folder, pins its HEAD and adds the rules of its
    /// manifest to the operator's `rules`.
    ///
    /// # Errors
    /// - [`RepoError::Absent`]: this worker cannot see the project, or the folder has the mirror of
    ///   another project.
    /// - [`RepoError::Outside`]: its folder is a link that leaves the tenant's folder.
    /// - Any other error: `.archway.toml` cannot be read.
    pub fn open(
        &self,
        tenant: &str,
        (project, id): (&str, Uuid),
        rules: Arc<Rules>,
    ) -> Result<Repo, RepoError> {
        let snapshot = self.0.snapshot(tenant, project)?;
        let snapshot = self.0.of_project((tenant, id), snapshot)?;
        Repo::new(&self.0, tenant, snapshot, &rules)
    }

    /// Opens a project for work that is off the path of calls, and looks at it. Does not fill the
    /// project cache.
    ///
    /// # Errors
    /// As [`Repos::open`].
    pub fn open_uncached(
        &self,
        tenant: &str,
        project: (&str, Uuid),
        rules: &Arc<Rules>,
    ) -> Result<(Repo, Look), RepoError> {
        let (snapshot, located) = self.uncached(tenant, project)?;
        let look = self.0.look(tenant, &snapshot, &located, rules)?;
        Ok((Repo::new(&self.0, tenant, snapshot, rules)?, look))
    }
}
