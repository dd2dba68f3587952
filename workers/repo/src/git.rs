//! A project's git data: its HEAD, and whether the work tree differs from it.
//!
//! Repositories are opened isolated and with reduced trust: no configuration of the host is read,
//! and no command in a repository's own configuration is run. Neither `refs/replace` nor grafts
//! replace objects. [`super::boundary`] has checked the location of all data; here it is only used.

use std::path::Path;

use gix::object;
use gix::odb::store::init::Slots;
use gix::status::{Submodule, UntrackedFiles};
use gix::submodule::config::Ignore;
use parking_lot::Mutex;

use super::boundary::GitFolder;
use super::error::RepoError;
use super::path::RepoPath;
use super::rules::{Kind, Rules};
use known_head::KnownHead;

pub(crate) use known_head::files_of_head;

mod known_head;

/// Overrides of the repository's configuration. Without the limit, gix reads objects of at most 16
/// MiB at reduced trust; files of 64 MiB are served.
const SETTINGS: [&str; 2] = [
    "core.useReplaceRefs=false",
    "gitoxide.objects.allocLimit=134217728",
];

/// Packs that an opened repository has room for: twice those that it has, as each fetch brings one. With more it has
/// to be opened anew.
const PACKS: Slots = Slots::AsNeededByDiskState {
    multiplier: 2.0,
    minimum: 64,
};

const STATUS: &str = "reading status";

/// An opened repository.
#[derive(Debug)]
pub(super) struct Git {
    repository: gix::ThreadSafeRepository,
    head: Mutex<Option<KnownHead>>,
}

impl Git {
    /// Opens the repository whose data is in `folder`, with the work tree at `host`, if any.
    pub(super) fn open(folder: &GitFolder, host: Option<&Path>) -> Result<Git, RepoError> {
        let options = gix::open::Options::isolated()
            .with(gix::sec::Trust::Reduced)
            .object_store_slots(PACKS)
            .config_overrides(SETTINGS);
        let opened = options.open_path_as_is(true).open(folder.host_path.clone());
        let mut repository = opened
            .map_err(git_error("opening the repository"))?
            .to_thread_local();
        // Override its configuration: all references are its own, and the project's folder is the
        // work tree.
        repository.clear_namespace();
        let set = repository.set_workdir(host.map(Path::to_owned));
        set.map_err(git_error("opening the repository"))?;
        Ok(Git {
            repository: repository.into_sync(),
            head: Mutex::new(None),
        })
    }

    /// The commit that HEAD names; `None` before the first commit.
    pub(super) fn head(&self) -> Result<Option<gix::ObjectId>, RepoError> {
        let known = self.head.lock().clone();
        if let Some(known) = known.filter(KnownHead::still_holds) {
            return Ok(known.commit);
        }
        let read = KnownHead::read(&self.repository.to_thread_local(), head)?;
        let commit = read.commit;
        *self.head.lock() = Some(read);
        Ok(commit)
    }

    /// Whether the index or the work tree differs from HEAD. Untracked files count, because they
    /// are served. Paths that `rules` close do not, nor changes inside a submodule: it may be outside the
    /// boundary.
    pub(super) fn is_dirty(&self, rules: &Rules) -> Result<bool, RepoError> {
        let repository = self.repository.to_thread_local();
        self.check_head(&repository)?;
        let status = repository
            .status(gix::progress::Discard)
            .map_err(git_error(STATUS))?;
        let submodules = Submodule::Given {
            ignore: Ignore::All,
            check_dirty: false,
        };
        let changes = status
            .untracked_files(UntrackedFiles::Files)
            .index_worktree_submodules(submodules)
            .index_worktree_rewrites(None)
            .tree_index_track_renames(gix::status::tree_index::TrackRenames::Disabled)
            .into_iter(Vec::new())
            .map_err(git_error(STATUS))?;
        for change in changes {
            let change = change.map_err(git_error(STATUS))?;
            let path = RepoPath::trusted(change.location());
            if rules.check(&path, Kind::File).is_ok() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Checks that HEAD names a commit. A status peels tags, which never ends at a forged tag that
    /// names itself.
    fn check_head(&self, repository: &gix::Repository) -> Result<(), RepoError> {
        let Some(head) = self.head()? else {
            return Ok(());
        };
        let header = repository.find_header(head).map_err(git_error(STATUS))?;
        match header.kind() {
            object::Kind::Commit => Ok(()),
            _ => Err(git_error(STATUS)("HEAD names no commit")),
        }
    }

    /// The repository, for reading objects.
    pub(super) fn objects(&self) -> gix::Repository {
        self.repository.to_thread_local()
    }
}

/// The commit that HEAD names; `None` before the first commit.
///
/// # Errors
/// If references cannot be read.
pub fn head(repository: &gix::Repository) -> Result<Option<gix::ObjectId>, RepoError> {
    let head = repository.head().map_err(git_error("reading HEAD"))?;
    if let Some(id) = head.id() {
        return Ok(Some(id.detach()));
    }
    let named = head.try_into_referent();
    let id = named.map(|mut reference| reference.follow_to_object());
    let id = id.transpose().map_err(git_error("reading HEAD"))?;
    Ok(id.map(gix::Id::detach))
}

/// Wraps an error of gix, for `map_err`.
pub(super) fn git_error<E>(what: &'static str) -> impl FnOnce(E) -> RepoError
where
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    move |source| RepoError::Git {
        what,
        source: source.into(),
    }
}
