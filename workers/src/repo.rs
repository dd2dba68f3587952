//! The only way to a project's files: tools list, open and search through here, and never see a
//! path of the host.
//!
//! [`Repos`] is all that this worker sees; [`Repo`] is one project as one call sees it, with the
//! commit it was opened at. Everything in here blocks: call it on the blocking pool. What is kept
//! between calls are caches that are checked before they are used, of at most 64 projects.

// In the order a call meets them.
mod mounts;
mod project;
mod path;
mod glob;
mod rules;
mod links;
mod jail;
mod file;
mod fence;
mod git;
mod status;
mod bare;
mod worktree;
mod tracked;
mod folder;
mod ignores;
mod stamp;
mod listing;
mod search;
mod load;
mod contents;
mod pattern;
mod scan;
mod crews;
mod line;
mod cancel;
mod error;
#[cfg(test)]
pub(crate) mod testing;

use std::num::NonZeroUsize;
use std::sync::Arc;

use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use rayon::ThreadPool;
use rayon::prelude::*;
use tokio::time::Duration;

pub use self::cancel::{Cancel, Stopped};
pub use self::error::RepoError;
pub use self::file::RepoFile;
pub use self::glob::{Glob, GlobError};
pub(crate) use self::jail::Jail;
pub use self::line::FoundLine;
pub use self::listing::{Entry, EntryKind, Listing, Stat};
pub use self::mounts::Mounts;
pub use self::path::RepoPath;
pub(crate) use self::project::Key;
pub use self::rules::{Blocked, Kind, Rules};
pub use self::search::{Excluded, Found, Query};
pub(crate) use self::stamp::Seen;
pub(crate) use self::tracked::{Standard, Standing};

use self::contents::Budget;
use self::crews::{Crews, crew};
use self::project::{Project, Snapshot};

/// How many projects are remembered.
const MAX_PROJECTS: u64 = 64;

/// How long a project is remembered that nobody asks for.
const IDLE: Duration = Duration::from_secs(15 * 60);

/// Every repository that this worker can see.
#[derive(Clone)]
pub struct Repos(Arc<Shared>);

struct Shared {
    mounts: Mounts,
    projects: Cache<Key, Arc<Project>>,
    /// Lists and looks: quick work, which must not wait for a slow pattern.
    pool: ThreadPool,
    searchers: Crews,
    budget: Arc<Budget>,
}

/// One project as one call sees it.
#[derive(Clone)]
pub struct Repo {
    shared: Arc<Shared>,
    tenant: Arc<str>,
    rules: Arc<Rules>,
    snapshot: Snapshot,
}

/// Where HEAD stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The commit's full id, in hexadecimal.
    pub commit: String,
    /// Whether the work tree differs from it, as far as the last status says; `None` before the
    /// first of this commit.
    pub dirty: Option<bool>,
}

impl Repos {
    /// The repositories at `mounts`, searched by `threads` threads, which keep up to `kept_bytes`
    /// of file contents between searches. The threads are started by the calling thread, and
    /// confined if it is.
    ///
    /// # Errors
    /// If the threads can't be started.
    pub fn new(
        mounts: Mounts,
        threads: NonZeroUsize,
        kept_bytes: usize,
    ) -> Result<Repos, RepoError> {
        let pool = crew("list", threads, 0)?;
        let searchers = Crews::new(threads)?;
        let projects = Cache::builder()
            .max_capacity(MAX_PROJECTS)
            .eviction_policy(EvictionPolicy::lru())
            .time_to_idle(IDLE)
            .build();
        Ok(Repos(Arc::new(Shared {
            mounts,
            projects,
            pool,
            searchers,
            budget: Budget::new(kept_bytes),
        })))
    }

    /// Whether this worker sees such a project.
    #[cfg(test)]
    fn is_mounted(&self, tenant: &str, project: &str) -> bool {
        self.0.mounts.locate(tenant, project).is_ok()
    }

    /// Where HEAD of a project stands, for lists of many projects: none is remembered for it.
    ///
    /// # Errors
    /// As [`Repos::open`].
    pub fn head(&self, tenant: &str, project: &str) -> Result<Option<Head>, RepoError> {
        self.0.head(tenant, project)
    }

    /// Opens a project as it is now: its folder is found and its HEAD is pinned.
    ///
    /// # Errors
    /// [`RepoError::NotMounted`] if there is no such project, [`RepoError::Outside`] if its
    /// folder is a link that leaves the tenant's.
    pub fn open(&self, tenant: &str, project: &str, rules: Arc<Rules>) -> Result<Repo, RepoError> {
        let snapshot = self.0.snapshot(tenant, project)?;
        Ok(Repo {
            shared: Arc::clone(&self.0),
            tenant: tenant.into(),
            rules,
            snapshot,
        })
    }
}

impl Shared {
    fn snapshot(&self, tenant: &str, project: &str) -> Result<Snapshot, RepoError> {
        let located = self.mounts.locate(tenant, project)?;
        let key = Key::of(tenant, project, &located)?;
        // Calls that come together open one.
        let open = || Project::new(key.clone(), &located, Arc::clone(&self.budget)).map(Arc::new);
        let opened = self.projects.try_get_with_by_ref(&key, open);
        let known = opened.map_err(|error| RepoError::Io {
            what: "opening a project's folder",
            source: std::io::Error::other(error),
        })?;
        known.snapshot(&located)
    }

    /// Where HEAD of a project stands, without remembering the project for it.
    fn head(&self, tenant: &str, project: &str) -> Result<Option<Head>, RepoError> {
        let located = self.mounts.locate(tenant, project)?;
        let key = Key::of(tenant, project, &located)?;
        let project = match self.projects.get(&key) {
            Some(known) => known,
            None => Arc::new(Project::new(key, &located, Arc::clone(&self.budget))?),
        };
        Ok(project.snapshot(&located)?.head())
    }
}

impl Repo {
    /// The project's slug.
    pub fn name(&self) -> &str {
        self.snapshot.project().name()
    }

    /// The commit that this call answers from; `None` without git, or before the first commit.
    pub fn head(&self) -> Option<Head> {
        self.snapshot.head()
    }

    /// Git's data, if the project has any that may be used.
    pub(crate) fn git(&self) -> Option<gix::Repository> {
        self.snapshot.git()
    }

    /// Why git's data is not used, if the project has any.
    pub(crate) fn git_refused(&self) -> Option<&'static str> {
        self.snapshot.refused()
    }

    /// [`Repo::head`]'s commit.
    pub(crate) fn commit(&self) -> Option<gix::ObjectId> {
        self.snapshot.commit()
    }

    /// What tells this project from all others, also from another folder mounted in its place.
    pub(crate) fn key(&self) -> &Key {
        self.snapshot.project().key()
    }

    /// Which paths exist for readers.
    pub(crate) fn rules(&self) -> Arc<Rules> {
        Arc::clone(&self.rules)
    }

    /// Whether there is no work tree: files are HEAD's.
    pub(crate) fn is_bare(&self) -> bool {
        self.snapshot.is_bare()
    }

    /// The same project as of `commit`, whose files are in place of the work tree's. What it says
    /// of HEAD, it says of that commit.
    ///
    /// # Errors
    /// If the project has no repository, or the commit can't be read.
    pub(crate) fn as_of(&self, commit: gix::ObjectId) -> Result<Repo, RepoError> {
        Ok(Repo {
            snapshot: self.snapshot.as_of(commit)?,
            ..self.clone()
        })
    }

    /// Whether HEAD, or the folder that `current` names, is another one than when this was
    /// opened.
    pub fn moved(&self) -> bool {
        match self.shared.snapshot(&self.tenant, self.name()) {
            Ok(now) => !now.is_same(&self.snapshot),
            Err(_) => true,
        }
    }

    /// Whether it is time for another status: true for one caller, which then runs
    /// [`Repo::refresh_status`].
    pub fn claim_status(&self) -> bool {
        self.snapshot.claim_status()
    }

    /// Finds out whether the work tree is dirty. It costs as much as a search: run it off the
    /// path of calls, and only where [`Repo::claim_status`] said so.
    pub fn refresh_status(&self) {
        self.snapshot.refresh_status();
    }

    /// All that can be listed: what is neither blocked nor ignored, hidden files included.
    ///
    /// # Errors
    /// [`RepoError::Stopped`], [`RepoError::TooManyEntries`], or a failure of the file system.
    pub fn listing(&self, cancel: &Cancel) -> Result<Arc<Listing>, RepoError> {
        self.snapshot
            .listing(&self.rules, &self.shared.pool, cancel)
    }

    /// Opens a regular file by its path, or by a link that stays inside. Ignored files are
    /// opened too.
    ///
    /// # Errors
    /// [`RepoError::Blocked`] by the name alone, [`RepoError::Outside`],
    /// [`RepoError::NotFound`], [`RepoError::Unreadable`].
    pub fn open(&self, path: &RepoPath) -> Result<RepoFile, RepoError> {
        either_spelling(path, |path| self.snapshot.open(path, &self.rules))
    }

    /// Where a directory is: the path itself, or what a link leads to.
    ///
    /// # Errors
    /// As [`Repo::open`], with [`RepoError::DirectoryNotFound`].
    pub fn directory(&self, path: &RepoPath) -> Result<RepoPath, RepoError> {
        let found = either_spelling(path, |path| self.snapshot.directory(path, &self.rules));
        match found {
            // A folder may have a name that is blocked for files. Where there is none, the name is
            // denied as everywhere else, whether a file has it or nothing does.
            Err(error) if error.is_absence() => {
                self.rules.admit(path, path, Kind::File)?;
                Err(error)
            }
            found => found,
        }
    }

    /// Size and time of an entry, of what it leads to if it is a link; `None` if it is gone.
    pub fn stat(&self, entry: &Entry) -> Option<Stat> {
        self.snapshot.stat(entry)
    }

    /// [`Repo::stat`] of many entries, in parallel and in their order.
    ///
    /// # Errors
    /// [`RepoError::Stopped`].
    pub fn stats(
        &self,
        entries: &[Entry],
        cancel: &Cancel,
    ) -> Result<Vec<Option<Stat>>, RepoError> {
        let stat = |entry| {
            cancel
                .check()
                .map(|()| self.stat(entry))
                .map_err(RepoError::from)
        };
        self.shared
            .pool
            .install(|| entries.par_iter().map(stat).collect())
    }

    /// What stands in the work tree at each of these paths, which no rule judged: links are not
    /// followed. Nothing stands in a bare repository.
    ///
    /// # Errors
    /// [`RepoError::Stopped`], [`RepoError::Unreadable`], or a failure of the file system.
    pub(crate) fn standing(
        &self,
        paths: &[RepoPath],
        cancel: &Cancel,
    ) -> Result<Vec<Option<Standing>>, RepoError> {
        match self.snapshot.jail() {
            Some(jail) => (self.shared.pool).install(|| tracked::look(jail, paths, cancel)),
            None => Ok(vec![None; paths.len()]),
        }
    }

    /// Gives `piece` the content of the regular file that stands at exactly this path.
    ///
    /// # Errors
    /// As [`Repo::open`], and what `piece` says.
    pub(crate) fn read_standing(
        &self,
        path: &RepoPath,
        piece: impl FnMut(&[u8]) -> Result<(), RepoError>,
    ) -> Result<(), RepoError> {
        self.rules.admit(path, path, Kind::File)?;
        match self.snapshot.jail() {
            Some(jail) => tracked::read(jail, path, piece),
            None => Err(RepoError::NotFound { path: path.clone() }),
        }
    }

    /// Where the link that stands at exactly this path says it leads; it is not followed.
    ///
    /// # Errors
    /// As [`Repo::open`].
    pub(crate) fn link_text(&self, path: &RepoPath) -> Result<Vec<u8>, RepoError> {
        self.rules.admit(path, path, Kind::File)?;
        match self.snapshot.jail() {
            Some(jail) => tracked::link_text(jail, path),
            None => Err(RepoError::NotFound { path: path.clone() }),
        }
    }

    /// Searches what is listed. The same tree gives the same answer every time.
    ///
    /// # Errors
    /// [`RepoError::InvalidPattern`]; [`RepoError::Stopped`] if cancelled, or if the deadline
    /// passed before the search began. Later, the deadline only makes it incomplete.
    pub fn search(&self, query: &Query, cancel: &Cancel) -> Result<Found, RepoError> {
        let listing = self.listing(cancel)?;
        self.shared.searchers.search(&self.tenant, |crew| {
            self.snapshot.search(&listing, query, crew, cancel)
        })
    }
}

/// Tries a path as it is written, then as the name that is shown so: a name that is not UTF-8 is
/// shown with `\xNN`.
fn either_spelling<T>(
    path: &RepoPath,
    attempt: impl Fn(&RepoPath) -> Result<T, RepoError>,
) -> Result<T, RepoError> {
    let error = match attempt(path) {
        Err(error) if error.is_absence() => error,
        outcome => return outcome,
    };
    match path.unescaped() {
        Some(name) => attempt(&name),
        None => Err(error),
    }
}
