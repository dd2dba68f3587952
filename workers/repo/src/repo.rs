//! One project as one call sees it: what tools list, open and search.
//!
//! What a reader would get wrong: the commit is pinned, the work tree is not. A call that has read
//! asks [`Repo::moved`] whether it was one state that it saw.

use std::sync::Arc;
use std::time::SystemTime;

use rayon::prelude::*;

use super::Shared;
use super::cancel::Cancel;
use super::error::RepoError;
use super::file::RepoFile;
use super::listing::{Entry, Listing, Stat};
use super::manifest::{self, Manifest};
use super::path::RepoPath;
use super::project::{Head, Key, Snapshot};
use super::rules::{Blocked, Kind, Rules};
use super::search::{MatchRange, Matches, Query};
use super::tracked::{self, TrackedEntry};

/// One project as one call sees it.
#[derive(Clone)]
pub struct Repo {
    pub(super) shared: Arc<Shared>,
    pub(super) tenant: Arc<str>,
    pub(super) rules: Arc<Rules>,
    pub(super) manifest: Arc<Manifest>,
    pub(super) snapshot: Snapshot,
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
    pub fn git(&self) -> Option<gix::Repository> {
        self.snapshot.git()
    }

    /// Why git's data is not used, if the project has any.
    pub fn git_refused(&self) -> Option<&'static str> {
        self.snapshot.refused()
    }

    /// [`Repo::head`]'s commit.
    pub fn commit(&self) -> Option<gix::ObjectId> {
        self.snapshot.commit()
    }

    /// What tells this project from all others, also from another folder mounted in its place.
    pub fn key(&self) -> &Key {
        self.snapshot.project().key()
    }

    /// What the repository said about itself when this was opened, whatever commit this is of.
    pub fn manifest(&self) -> Arc<Manifest> {
        Arc::clone(&self.manifest)
    }

    /// What is wrong with what the repository says about itself; nothing, to readers who may not
    /// see where it says so.
    pub fn warnings(&self) -> &[String] {
        let place = RepoPath::trusted(manifest::NAME.as_bytes());
        match self.rules.check(&place, Kind::File) {
            Ok(()) => self.manifest.warnings(),
            Err(Blocked) => &[],
        }
    }

    /// Which paths exist for readers: the operator's rules, and what the repository closes.
    pub fn rules(&self) -> Arc<Rules> {
        Arc::clone(&self.rules)
    }

    /// Whether there is no work tree: files are HEAD's.
    pub fn is_bare(&self) -> bool {
        self.snapshot.is_bare()
    }

    /// The same project as of `commit`, whose files are in place of the work tree's. What it says
    /// of HEAD, it says of that commit. The path rules are those of now: what is closed today was
    /// not open yesterday.
    ///
    /// # Errors
    /// If the project has no repository, or the commit can't be read.
    pub fn as_of(&self, commit: gix::ObjectId) -> Result<Repo, RepoError> {
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
        let pools = &self.shared.search_pools;
        pools.background(|| self.snapshot.refresh_status());
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
        let opened = either_spelling(path, |path| self.snapshot.open(path, &self.rules));
        opened.map_err(|error| {
            self.rules
                .blocked_if_closed(error, (path, path), Kind::Directory)
        })
    }

    /// Where a directory is: the path itself, or what a link leads to.
    ///
    /// # Errors
    /// As [`Repo::open`], with [`RepoError::DirectoryNotFound`].
    pub fn directory(&self, path: &RepoPath) -> Result<RepoPath, RepoError> {
        let found = either_spelling(path, |path| self.snapshot.directory(path, &self.rules));
        // A folder may have a name that is blocked for files. Where there is none, the name is
        // denied as everywhere else, whether a file has it or nothing does.
        found.map_err(|error| {
            self.rules
                .blocked_if_closed(error, (path, path), Kind::File)
        })
    }

    /// Size and time of an entry, of what it leads to if it is a link; `None` if it is gone.
    pub(crate) fn stat(&self, entry: &Entry) -> Option<Stat> {
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

    /// When each of these folders was last changed, in parallel and in their order; `None` if it is
    /// gone. In a bare repository, when HEAD was committed.
    ///
    /// # Errors
    /// [`RepoError::Stopped`].
    pub fn folder_times(
        &self,
        folders: &[RepoPath],
        cancel: &Cancel,
    ) -> Result<Vec<Option<SystemTime>>, RepoError> {
        let time = |folder| {
            let checked = cancel.check().map_err(RepoError::from);
            checked.map(|()| self.snapshot.folder_time(folder))
        };
        let times = || folders.par_iter().map(time).collect();
        self.shared.pool.install(times)
    }

    /// What stands in the work tree at each of these paths, which no rule judged: links are not
    /// followed. Nothing stands in a bare repository.
    ///
    /// # Errors
    /// [`RepoError::Stopped`], [`RepoError::Unreadable`], or a failure of the file system.
    pub fn tracked_entries(
        &self,
        paths: &[RepoPath],
        cancel: &Cancel,
    ) -> Result<Vec<Option<TrackedEntry>>, RepoError> {
        match self.snapshot.jail() {
            Some(jail) => (self.shared.pool).install(|| tracked::stat_all(jail, paths, cancel)),
            None => Ok(vec![None; paths.len()]),
        }
    }

    /// Gives `piece` the content of the regular file that stands at exactly this path.
    ///
    /// # Errors
    /// As [`Repo::open`], and what `piece` says.
    pub fn read_tracked(
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
    pub fn read_link(&self, path: &RepoPath) -> Result<Vec<u8>, RepoError> {
        self.rules.admit(path, path, Kind::File)?;
        match self.snapshot.jail() {
            Some(jail) => tracked::read_link(jail, path),
            None => Err(RepoError::NotFound { path: path.clone() }),
        }
    }

    /// Searches what is listed, and shows the lines of `range`. The same tree gives the same answer every time.
    ///
    /// # Errors
    /// [`RepoError::InvalidPattern`]; [`RepoError::Stopped`] if cancelled, or if the deadline
    /// passed before the search began. Later, the deadline only makes it incomplete.
    pub fn search(
        &self,
        query: &Query,
        range: MatchRange,
        cancel: &Cancel,
    ) -> Result<Matches, RepoError> {
        let listing = self.listing(cancel)?;
        let threads = self.shared.search_pools.begin(&self.tenant);
        self.snapshot
            .search(&listing, (query, range), &threads, cancel)
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
