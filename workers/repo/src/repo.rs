//! One project as one call sees it: its files, to list, open and search.
//!
//! The commit is pinned, the work tree is not. After reading, a call checks [`Repo::moved`] to find
//! out whether it saw one state.

use std::sync::Arc;
use std::time::SystemTime;

use rayon::prelude::*;

use super::cancel::Cancel;
use super::error::RepoError;
use super::file::RepoFile;
use super::key::Key;
use super::listing::{Entry, Listing, Stat};
use super::manifest::{self, Manifest};
use super::path::RepoPath;
use super::project::{Head, SearchResources, Snapshot};
use super::rules::{Blocked, Kind, Rules};
use super::search::{MatchRange, Matches, Query};
use super::shared::Shared;
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
    /// A snapshot with the rules of its manifest added to the operator's `rules`.
    pub(super) fn new(
        shared: &Arc<Shared>,
        tenant: &str,
        snapshot: Snapshot,
        rules: &Arc<Rules>,
    ) -> Result<Repo, RepoError> {
        let (manifest, rules) = snapshot.manifest_and_rules(rules)?;
        Ok(Repo {
            shared: Arc::clone(shared),
            tenant: tenant.into(),
            rules,
            manifest,
            snapshot,
        })
    }

    /// The project's slug.
    pub fn name(&self) -> &str {
        self.snapshot.project().name()
    }

    /// The commit that this call answers from; `None` without git, or before the first commit.
    pub fn head(&self) -> Option<Head> {
        self.snapshot.head()
    }

    /// Git's data, if the project has any that can be used.
    pub fn git(&self) -> Option<gix::Repository> {
        self.snapshot.git()
    }

    /// Why existing git data is not used.
    pub fn git_refused(&self) -> Option<&'static str> {
        self.snapshot.refused()
    }

    /// [`Repo::head`]'s commit.
    pub fn commit(&self) -> Option<gix::ObjectId> {
        self.snapshot.commit()
    }

    /// Identifies this project; another folder mounted in its place has another key.
    pub fn key(&self) -> &Key {
        self.snapshot.project().key()
    }

    /// The manifest as of opening, whatever commit this is of.
    pub fn manifest(&self) -> Arc<Manifest> {
        Arc::clone(&self.manifest)
    }

    /// The problems of the manifest; empty for readers that may not see the manifest.
    pub fn warnings(&self) -> &[String] {
        let path = RepoPath::trusted(manifest::NAME.as_bytes());
        match self.rules.check(&path, Kind::File) {
            Ok(()) => self.manifest.warnings(),
            Err(Blocked) => &[],
        }
    }

    /// The path rules: the operator's, and what the repository closes.
    pub fn rules(&self) -> Arc<Rules> {
        Arc::clone(&self.rules)
    }

    /// Whether files come from a commit because there is no work tree.
    pub fn is_bare(&self) -> bool {
        self.snapshot.is_bare()
    }

    /// The same project as of `commit`, whose files replace the work tree's. Today's path rules apply to them, too.
    ///
    /// # Errors
    /// If the project has no repository, or the commit can't be read.
    pub fn as_of(&self, commit: gix::ObjectId) -> Result<Repo, RepoError> {
        Ok(Repo {
            snapshot: self.snapshot.as_of(commit)?,
            ..self.clone()
        })
    }

    /// Closes its git data: who opens the project next sees packs that were replaced meanwhile.
    pub fn close_git(&self) {
        self.snapshot.project().close_git();
    }

    /// Whether HEAD, or the folder that `current` names, has changed since this was opened.
    pub fn moved(&self) -> bool {
        match self.shared.snapshot(&self.tenant, self.name()) {
            Ok(now) => !now.is_same(&self.snapshot),
            Err(_) => true,
        }
    }

    /// Whether a dirty check is due. True for one caller, which then runs [`Repo::refresh_status`].
    pub fn claim_status(&self) -> bool {
        self.snapshot.claim_status()
    }

    /// Checks whether the work tree is dirty but for closed paths, as slowly as a search: outside of calls, after [`Repo::claim_status`].
    pub fn refresh_status(&self) {
        let pools = &self.shared.search_pools;
        pools.background(|| self.snapshot.refresh_status(&self.rules));
    }

    /// All entries that are neither blocked nor ignored, hidden files included.
    ///
    /// # Errors
    /// [`RepoError::Stopped`], [`RepoError::TooManyEntries`], or a failure of the file system.
    pub fn listing(&self, cancel: &Cancel) -> Result<Arc<Listing>, RepoError> {
        let resources = (&self.shared.pool, &self.shared.search_index);
        self.snapshot.listing(&self.rules, resources, cancel)
    }

    /// Opens a regular file by its path, or through a link that stays inside. Ignored files can be
    /// opened, too.
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

    /// Resolves a directory: the path itself, or the target of its link.
    ///
    /// # Errors
    /// As [`Repo::open`], with [`RepoError::DirectoryNotFound`].
    pub fn directory(&self, path: &RepoPath) -> Result<RepoPath, RepoError> {
        let found = either_spelling(path, |path| self.snapshot.directory(path, &self.rules));
        // A folder may have a name that is blocked for files. If no such folder exists the answer
        // is a denial, whether a file has the name or nothing does.
        found.map_err(|error| {
            self.rules
                .blocked_if_closed(error, (path, path), Kind::File)
        })
    }

    /// Size and time of an entry, or of its target if it is a link; `None` if it is gone.
    pub(crate) fn stat(&self, entry: &Entry) -> Option<Stat> {
        self.snapshot.stat(entry)
    }

    /// [`Repo::stat`] of many entries in parallel, in their order.
    ///
    /// # Errors
    /// [`RepoError::Stopped`].
    pub fn stats(
        &self,
        entries: &[Entry],
        cancel: &Cancel,
    ) -> Result<Vec<Option<Stat>>, RepoError> {
        let stat = |entry| {
            let checked = cancel.check().map_err(RepoError::from);
            checked.map(|()| self.stat(entry))
        };
        let stats = || entries.par_iter().map(stat).collect();
        self.shared.pool.install(stats)
    }

    /// When each of these folders last changed, in their order, read in parallel; `None` if one is
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

    /// Returns the kind of entry that git could track at each of these paths in the work tree. Path
    /// rules do not apply and links are not followed. In a bare repository, all are `None`.
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

    /// Passes the content of the regular file at exactly this path to `piece`, part by part.
    ///
    /// # Errors
    /// As [`Repo::open`], and errors of `piece`.
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

    /// The target text of the link at exactly this path. The link is not followed.
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

    /// Searches all listed files and returns the lines of `range`. The same tree gives the same
    /// answer every time.
    ///
    /// # Errors
    /// [`RepoError::InvalidPattern`]; [`RepoError::Stopped`] if cancelled, or if the deadline
    /// passed before the search began. A later deadline only makes the answer incomplete.
    pub fn search(
        &self,
        query: &Query,
        range: MatchRange,
        cancel: &Cancel,
    ) -> Result<Matches, RepoError> {
        let threads = self.shared.search_pools.begin(&self.tenant);
        let resources = SearchResources {
            rules: &self.rules,
            pool: &self.shared.pool,
            indexes: &self.shared.search_index,
            threads: &threads,
            cancel,
        };
        self.snapshot.search((query, range), &resources)
    }
}

/// Tries a path as written, then as the name that is displayed this way: bytes that are not UTF-8
/// are displayed as `\xNN`.
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
