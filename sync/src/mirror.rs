//! A mirror: a bare repository at `<repos>/<tenant>/<project>` that is as its remote.
//!
//! A mirror is made beside its place and renamed, so it is there as a whole or not at all. A fetch puts the
//! remote's refs where nobody reads them; they are published once all their objects are there. So a worker that
//! reads meanwhile sees the old state or the new one.

mod anew;
mod head;
mod owner;
mod received;
mod publish;
mod refs;
mod removal;
mod unchanged;
mod upkeep;

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use std::{fs, io};

use uuid::Uuid;

use crate::failure::{SyncFailure, SyncState};
use crate::git::{self, Git, RunBounds, Transport};
use crate::remote_refs::RemoteRefs;

use owner::Owner;
use received::Received;
use refs::{FETCHED, Head, Refs};
use removal::Beside;
pub use removal::FoundMirror;

/// The folder below that of repositories in which mirrors are made.
const BESIDE: &str = ".sync";
/// Leftovers of this age are removed at start.
const LEFTOVER_AGE: Duration = Duration::from_secs(24 * 60 * 60);
/// A reader that opened the index of a pack uses it for less than this.
const GRACE: Duration = Duration::from_secs(15 * 60);
/// How long a clone may take by default.
const CLONE_TIME: Duration = Duration::from_secs(30 * 60);

/// The folder of repositories, of which this process is the only writer.
#[derive(Clone, Debug)]
pub struct Mirrors {
    repos: PathBuf,
    pub(crate) git: Git,
    remote_refs: RemoteRefs,
    /// How long packs stay after they were combined.
    grace: Duration,
    /// How long the clone of a mirror that there is already may take.
    clone_time: Duration,
}

/// Which mirror, and of what.
pub struct MirrorSource<'a> {
    /// The tenant's slug.
    pub tenant: &'a str,
    /// The project's slug.
    pub project: &'a str,
    /// The project's id: another project that had the slug before has another mirror.
    pub project_id: Uuid,
    /// The branch, tag or commit that HEAD names; `None` for the remote's own HEAD.
    pub reference: Option<&'a str>,
    /// How to reach the remote.
    pub transport: Transport<'a>,
}

/// What a run brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Synced {
    /// HEAD's commit; `None` if the remote has none.
    pub head: Option<String>,
    /// Whether anything that is served has changed.
    pub changed: bool,
    /// Whether the named ref is gone, so that HEAD stays at its last commit.
    pub ref_gone: bool,
    /// The size of the mirror, in bytes.
    pub bytes: u64,
}

impl Mirrors {
    /// The mirrors below `repos`.
    pub fn new(repos: PathBuf, git: Git) -> Mirrors {
        Mirrors {
            repos,
            git,
            remote_refs: RemoteRefs::new(),
            grace: GRACE,
            clone_time: CLONE_TIME,
        }
    }

    /// With another time for which packs stay after they were combined; 15 min by default.
    #[must_use]
    pub fn with_grace(self, grace: Duration) -> Mirrors {
        Mirrors { grace, ..self }
    }

    /// With another time that the new clone of a damaged mirror may take; 30 min by default.
    #[must_use]
    pub(crate) fn with_clone_time(self, clone_time: Duration) -> Mirrors {
        Mirrors { clone_time, ..self }
    }

    /// Makes the mirror, or fetches what is new.
    ///
    /// # Errors
    /// [`SyncFailure`]. What was served before is still served.
    pub async fn sync(
        &self,
        source: &MirrorSource<'_>,
        bounds: &RunBounds<'_>,
    ) -> Result<Synced, SyncFailure> {
        let place = self.place(source.tenant, source.project);
        self.put_back(source.tenant, source.project, source.project_id)
            .map_err(|error| disk_failure(&error))?;
        let is_there = self.take_place(&place, source, bounds).await?;
        let refs = self.ask_for_refs(source, bounds).await;
        if is_there {
            return self.fetch_if_changed(&place, source, refs, bounds).await;
        }
        let (beside, synced) = self.make(source, bounds).await?;
        let parent = place.parent().unwrap_or(&self.repos);
        let moved = fs::create_dir_all(parent).and_then(|()| fs::rename(&beside.0, &place));
        moved.map_err(|error| disk_failure(&error))?;
        unchanged::remember(&place, source, refs, &synced).map_err(|error| disk_failure(&error))?;
        Ok(synced)
    }

    /// Whether the mirror of this project is there. A folder that cannot be read is taken for it.
    pub(crate) fn has(&self, tenant: &str, project: &str, id: Uuid) -> bool {
        match Owner::of(&self.place(tenant, project)) {
            Ok(Owner::Nobody | Owner::Foreign) => false,
            Ok(Owner::Project(owner)) => owner == id,
            Ok(Owner::Unnamed) | Err(_) => true,
        }
    }

    /// The size of a project's mirror in bytes; `None` if there is none.
    pub(crate) fn bytes(&self, tenant: &str, project: &str, id: Uuid) -> Option<u64> {
        let is_there = self.has(tenant, project, id);
        let size = || git::folder_size(&self.place(tenant, project)).ok();
        is_there.then(size).flatten()
    }

    /// Removes what earlier runs left behind. What cannot be removed stays.
    ///
    /// # Errors
    /// If the folder of repositories cannot be written to.
    pub fn clean(&self) -> io::Result<()> {
        let beside = self.repos.join(BESIDE);
        fs::create_dir_all(&beside)?;
        for entry in fs::read_dir(&beside)?.flatten() {
            if since_written(&entry.path()) < LEFTOVER_AGE {
                continue;
            }
            match fs::remove_dir_all(entry.path()) {
                // Another process may remove it at the same time.
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    tracing::warn!(error = %error.kind(), "what an earlier run left behind was not removed");
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn place(&self, tenant: &str, project: &str) -> PathBuf {
        self.repos.join(tenant).join(project)
    }

    /// Clones beside.
    async fn make(
        &self,
        source: &MirrorSource<'_>,
        bounds: &RunBounds<'_>,
    ) -> Result<(Beside, Synced), SyncFailure> {
        let beside = self.beside(source.tenant, source.project);
        let beside = Beside(beside.map_err(|error| disk_failure(&error))?);
        let init = [
            "init",
            "--quiet",
            "--bare",
            "--template=",
            "--initial-branch=main",
        ];
        self.git.local(&beside.0, &init, None, bounds).await?;
        self.claim(&beside.0, source, bounds).await?;
        let synced = self.fetch(&beside.0, source, bounds).await?;
        // One file for all refs: thousands of files take longer to read.
        self.git
            .local(&beside.0, &["pack-refs", "--all"], None, bounds)
            .await?;
        Ok((beside, synced))
    }

    async fn fetch(
        &self,
        mirror: &Path,
        source: &MirrorSource<'_>,
        bounds: &RunBounds<'_>,
    ) -> Result<Synced, SyncFailure> {
        let (heads, tags) = (
            format!("+refs/heads/*:{FETCHED}heads/*"),
            format!("+refs/tags/*:{FETCHED}tags/*"),
        );
        let fetched_head = format!("{FETCHED}HEAD");
        let head = format!("+HEAD:{fetched_head}");
        let mut arguments = vec![
            "fetch",
            "--prune",
            "--no-tags",
            "--no-write-fetch-head",
            "--progress",
            "--no-auto-maintenance",
            "--force",
            "--",
            source.transport.remote.as_str(),
            &heads,
            &tags,
            &head,
        ];
        let (program, transport) = (&self.git, &source.transport);
        let before = Received::before(mirror).map_err(|error| disk_failure(&error))?;
        match program.remote(mirror, transport, &arguments, bounds).await {
            Err(failure) if failure.message.contains("couldn't find remote ref HEAD") => {
                // The remote has no commit, or its HEAD names a branch that it does not have.
                arguments.pop();
                program
                    .remote(mirror, transport, &arguments, bounds)
                    .await?;
                let forget = ["update-ref", "-d", &fetched_head];
                program.local(mirror, &forget, None, bounds).await?;
            }
            fetched => drop(fetched?),
        }
        let refs = self.refs(mirror, bounds).await?;
        let bytes = git::folder_size(mirror).map_err(|error| disk_failure(&error))?;
        if let Err(too_large) = bounds.limits.check_size(bytes) {
            // It came faster than the run was looked at.
            self.undo(mirror, &refs, &before, bounds).await?;
            return Err(too_large);
        }
        if refs.fetched.is_empty() && refs.fetched_head.is_none() {
            return Ok(Synced::of_empty_remote(&refs, bytes));
        }
        let found = match refs.head_for(source.reference) {
            Some(head) => Some(head),
            None => self.ask_for_head(mirror, source, &refs, bounds).await?,
        };
        if let (None, None, Some(reference)) = (&found, refs.served_head(), source.reference) {
            return Err(no_such_ref(reference));
        }
        self.publish(mirror, (&refs, bytes), found, bounds).await
    }

    async fn refs(&self, mirror: &Path, bounds: &RunBounds<'_>) -> Result<Refs, SyncFailure> {
        let list = ["for-each-ref", "--format=%(objectname) %(refname)"];
        let list = self.git.local(mirror, &list, None, bounds).await?;
        let head = fs::read_to_string(mirror.join("HEAD")).map_err(|error| disk_failure(&error))?;
        Ok(Refs::parse(&list, Head::parse(&head)))
    }
}

/// How long ago a file or folder was written to; zero if that is not known.
fn since_written(path: &Path) -> Duration {
    let written = fs::symlink_metadata(path).and_then(|metadata| metadata.modified());
    let since = written.map(|time| SystemTime::now().duration_since(time).unwrap_or_default());
    since.unwrap_or_default()
}

fn disk_failure(error: &io::Error) -> SyncFailure {
    let state = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => SyncState::NoSpace,
        _ => SyncState::Failed,
    };
    SyncFailure::new(state, format!("the folder of the mirror: {}", error.kind()))
}

/// The failure of a ref that the remote never had: no other commit is served in its place.
fn no_such_ref(reference: &str) -> SyncFailure {
    let message = format!("the remote has no branch, tag or commit {reference}: name another ref");
    SyncFailure::new(SyncState::RefGone, message)
}

#[cfg(test)]
mod tests;
