//! The files of a commit: HEAD's in a bare repository, or those of a requested commit.
//!
//! It answers the same queries as a work tree, from git's trees. Nothing is ignored: a committed
//! file is not ignored. A submodule has no files. All times are the commit's.

mod entries;
mod source;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use gix::ObjectId;
use gix::object::tree::EntryKind as Mode;
use parking_lot::Mutex;
use rustix::io::Errno;

use super::cancel::Cancel;
use super::error::RepoError;
use super::file::RepoFile;
use super::git::{Git, git_error};
use super::links;
use super::listing::{Entry, Stat};
use super::path::RepoPath;
use super::rules::{Kind, Rules};
use super::search_index::SavedFile;

pub(super) use entries::CommitListing;
pub(super) use source::{CommitBlobs, CommitFiles};

/// The operation named in errors.
pub(super) const READING: &str = "reading a commit's files";

/// The largest file, in bytes, whose content is read as a whole or by lines. Of larger files only
/// the size is reported.
const MAX_READ: u64 = 64 << 20;

/// The files of one commit, or of a repository without commits.
#[derive(Debug)]
pub(super) struct CommitTree {
    commit: Option<Commit>,
    listing: Mutex<Option<Arc<CommitListing>>>,
}

#[derive(Debug)]
struct Commit {
    git: Arc<Git>,
    id: ObjectId,
    tree: ObjectId,
    time: SystemTime,
}

/// An entry of a git tree.
pub(super) struct Node {
    pub(super) mode: Mode,
    pub(super) id: ObjectId,
}

/// The entry at a path, or the file or submodule above it, and its own path. Nothing is below a file, nor below a
/// submodule, whose commit is elsewhere.
pub(super) fn reach(
    repository: &gix::Repository,
    tree: ObjectId,
    path: &RepoPath,
) -> Result<Option<(RepoPath, Node)>, RepoError> {
    let (mut place, mut node) = (
        RepoPath::root(),
        Node {
            mode: Mode::Tree,
            id: tree,
        },
    );
    for name in path.components() {
        if node.mode != Mode::Tree {
            break;
        }
        let tree = repository.find_tree(node.id).map_err(git_error(READING))?;
        let entry = tree.lookup_entry([name]).map_err(git_error(READING))?;
        let Some(entry) = entry else {
            return Ok(None);
        };
        place = place.join(name);
        node = Node {
            mode: entry.mode().kind(),
            id: entry.object_id(),
        };
    }
    Ok(Some((place, node)))
}

impl CommitTree {
    /// The files of the commit `head`; without one, no files.
    pub(super) fn of(head: Option<(Arc<Git>, ObjectId)>) -> Result<CommitTree, RepoError> {
        let commit = head.map(|(git, id)| Commit::read(git, id)).transpose()?;
        Ok(CommitTree {
            commit,
            listing: Mutex::new(None),
        })
    }

    /// Whether these are the files of this commit.
    pub(super) fn is_of(&self, head: Option<ObjectId>) -> bool {
        self.commit.as_ref().map(|commit| commit.id) == head
    }

    pub(super) fn listing(
        &self,
        rules: &Arc<Rules>,
        cancel: &Cancel,
    ) -> Result<Arc<CommitListing>, RepoError> {
        let known = self.listing.lock().clone();
        if let Some(listing) = known.filter(|known| known.rules == *rules) {
            return Ok(listing);
        }
        let entries = match &self.commit {
            Some(commit) => commit.entries(rules, cancel)?,
            None => Vec::new(),
        };
        let listing = CommitListing::of(rules, entries.into_iter());
        *self.listing.lock() = Some(Arc::clone(&listing));
        Ok(listing)
    }

    /// Uses the listing that an index has saved with a basis, unless there is one.
    pub(super) fn restore(
        &self,
        rules: &Arc<Rules>,
        saved: impl FnOnce(&str) -> Option<Vec<SavedFile>>,
    ) {
        if self.listing.lock().is_some() {
            return;
        }
        let Some(basis) = self.basis(rules) else {
            return;
        };
        if let Some(files) = saved(&basis) {
            let files = files.into_iter().map(|file| (file.entry, file.blob));
            let listing = CommitListing::of(rules, files);
            listing.record_save();
            *self.listing.lock() = Some(listing);
        }
    }

    /// Names what a listing under these rules depends on.
    pub(super) fn basis(&self, rules: &Rules) -> Option<String> {
        let tree = self.commit.as_ref()?.tree;
        Some(format!("{tree} {}", rules.fingerprint()))
    }

    /// Git's data; `None` without a commit.
    pub(super) fn git(&self) -> Option<&Arc<Git>> {
        Some(&self.commit.as_ref()?.git)
    }

    /// The number of entries in the cached listing.
    pub(super) fn cached_entries(&self) -> usize {
        let listing = self.listing.lock();
        listing
            .as_ref()
            .map_or(0, |known| known.listing.entries.len())
    }

    /// Opens a file whose own name is already checked, or needs no check. The target of a link is
    /// checked.
    pub(super) fn open_checked(
        &self,
        path: &RepoPath,
        rules: &Rules,
    ) -> Result<RepoFile, RepoError> {
        let not_found = || RepoError::NotFound { path: path.clone() };
        let commit = self.commit.as_ref().ok_or_else(not_found)?;
        let repository = commit.git.objects();
        let real = commit.resolve(&repository, path)?;
        if real != *path {
            rules.admit(&real, path, Kind::File)?;
        }
        let node = commit.node(&repository, &real)?.ok_or_else(not_found)?;
        if !is_file(node.mode) {
            return Err(rules.blocked_if_closed(not_found(), (&real, path), Kind::Directory));
        }
        let header = repository
            .find_header(node.id)
            .map_err(git_error(READING))?;
        if header.size() > MAX_READ {
            return Ok(RepoFile::too_large(header.size(), commit.time, real));
        }
        let mut blob = repository.find_blob(node.id).map_err(git_error(READING))?;
        Ok(RepoFile::blob(blob.take_data(), commit.time, real))
    }

    pub(super) fn directory(&self, path: &RepoPath, rules: &Rules) -> Result<RepoPath, RepoError> {
        let not_found = || RepoError::DirectoryNotFound { path: path.clone() };
        rules.admit(path, path, Kind::Directory)?;
        if path.is_root() {
            return Ok(path.clone());
        }
        let commit = self.commit.as_ref().ok_or_else(not_found)?;
        let repository = commit.git.objects();
        let real = commit
            .resolve(&repository, path)
            .map_err(RepoError::of_directory)?;
        rules.admit(&real, path, Kind::Directory)?;
        match commit.node(&repository, &real)? {
            Some(node) if node.mode == Mode::Tree => Ok(real),
            _ => Err(rules.blocked_if_closed(not_found(), (&real, path), Kind::File)),
        }
    }

    /// When the commit was made.
    pub(super) fn time(&self) -> Option<SystemTime> {
        Some(self.commit.as_ref()?.time)
    }

    /// The blob of a file in the listing under these rules. `None` for any other path, and before anything was listed.
    pub(super) fn listed_blob(&self, path: &RepoPath, rules: &Arc<Rules>) -> Option<ObjectId> {
        let listing = self.listing.lock().clone();
        let listing = listing.filter(|known| known.rules == *rules)?;
        listing.file(path).map(|(_, blob)| blob)
    }

    pub(super) fn stat(&self, entry: &Entry) -> Option<Stat> {
        let commit = self.commit.as_ref()?;
        let listing = self.listing.lock().clone();
        let listed = listing.and_then(|listing| listing.size(&commit.git, &entry.path));
        if let Some(size) = listed {
            let modified = commit.time;
            return Some(Stat { size, modified });
        }
        let repository = commit.git.objects();
        let real = commit.resolve(&repository, &entry.path).ok()?;
        let node = commit.node(&repository, &real).ok()??;
        let size = match node.mode {
            Mode::Tree => 0,
            _ => repository.find_header(node.id).ok()?.size(),
        };
        Some(Stat {
            size,
            modified: commit.time,
        })
    }
}

impl Commit {
    fn read(git: Arc<Git>, id: ObjectId) -> Result<Commit, RepoError> {
        let repository = git.objects();
        let commit = repository.find_commit(id).map_err(git_error(READING))?;
        let tree = commit.tree_id().map_err(git_error(READING))?.detach();
        let seconds = commit.time().map_err(git_error(READING))?.seconds;
        let since_epoch = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
        let time = SystemTime::UNIX_EPOCH + since_epoch;
        drop(commit);
        drop(repository);
        Ok(Commit {
            git,
            id,
            tree,
            time,
        })
    }

    /// Looks up a path without following links.
    fn node(
        &self,
        repository: &gix::Repository,
        path: &RepoPath,
    ) -> Result<Option<Node>, RepoError> {
        let reached = reach(repository, self.tree, path)?;
        Ok(reached
            .filter(|(place, _)| place == path)
            .map(|(_, node)| node))
    }

    fn resolve(
        &self,
        repository: &gix::Repository,
        path: &RepoPath,
    ) -> Result<RepoPath, RepoError> {
        links::follow(&RepoPath::root(), path.as_bytes(), |place| {
            let node = self
                .node(repository, place)
                .map_err(|_unreadable| Errno::IO)?;
            match node.ok_or(Errno::NOENT)? {
                Node {
                    mode: Mode::Link,
                    id,
                } => {
                    let mut blob = repository.find_blob(id).map_err(|_unreadable| Errno::IO)?;
                    Ok(Some(blob.take_data()))
                }
                _ => Ok(None),
            }
        })
    }
}

fn is_file(mode: Mode) -> bool {
    matches!(mode, Mode::Blob | Mode::BlobExecutable)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::super::testing::{Sandbox, cancel, git, path};
    use super::super::{Excluded, MatchRange, Query, Repo, SearchPattern};
    use super::*;

    /// A bare clone of a repository with these files, at the project's path.
    fn bare() -> Sandbox {
        let app = Sandbox::new();
        app.file("src/a.rs", "fn a() {}\n")
            .file("src.txt", "x")
            .file(".env", "secret");
        app.file(".gitignore", "*.log\n")
            .link("link", "src/a.rs")
            .link("dir", "src");
        app.link("out", "../outside").link("innocent", ".env");
        app.committed();
        std::fs::rename(app.root(), app.host("acme/source")).unwrap();
        git(
            &app.host("acme"),
            &["clone", "-q", "--bare", "source", "app"],
        );
        app
    }

    fn read(repo: &Repo, text: &str) -> Result<String, RepoError> {
        let mut content = String::new();
        repo.open(&path(text))?
            .read_to_string(&mut content)
            .unwrap();
        Ok(content)
    }

    #[test]
    fn the_files_of_head_are_listed_in_path_order() {
        let app = bare();
        assert_eq!(
            app.listed(),
            [".gitignore", "dir", "link", "src/a.rs", "src.txt"]
        );
        let head = app.repo().head().unwrap();
        assert_eq!(
            (head.commit, head.dirty),
            (git(&app.root(), &["rev-parse", "HEAD"]), None)
        );
        assert!(!app.repo().claim_status());
    }

    #[test]
    fn a_commit_with_too_many_bytes_of_paths_is_not_listed() {
        let app = bare();
        let commit = git(&app.root(), &["commit-tree", "-m", "bomb", &app.bomb()]);
        app.git(&["update-ref", "HEAD", &commit]);
        let whole = cancel();
        let refused = app.repo().listing(&whole).err();
        assert!(
            matches!(refused, Some(RepoError::TooManyEntries { .. })),
            "{refused:?}"
        );
        // Two million of these paths take 4 GB.
        assert!(whole.checks() < 40_000, "{}", whole.checks());
    }

    #[test]
    fn files_are_read_and_rejected_as_in_a_work_tree() {
        let app = bare();
        let repo = app.repo();
        assert_eq!(read(&repo, "src/a.rs").unwrap(), "fn a() {}\n");
        assert_eq!(
            repo.open(&path("dir/a.rs")).unwrap().resolved(),
            &path("src/a.rs")
        );
        assert_eq!(repo.directory(&path("dir")).unwrap(), path("src"));
        assert!(matches!(
            read(&repo, "innocent"),
            Err(RepoError::Blocked { .. })
        ));
        assert!(matches!(read(&repo, "out"), Err(RepoError::Outside { .. })));
        for text in ["src", "none", "HEAD", "config", "src/a.rs/more"] {
            assert!(
                matches!(read(&repo, text), Err(RepoError::NotFound { .. })),
                "{text}"
            );
        }
        let missing = repo.directory(&path("src.txt")).unwrap_err();
        assert!(matches!(missing, RepoError::DirectoryNotFound { .. }));
    }

    #[test]
    fn times_are_the_commits_and_sizes_the_blobs() {
        let app = bare();
        let repo = app.repo();
        let listing = repo.listing(&cancel()).unwrap();
        let committed = SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_323_045);
        for _ in ["read", "remembered"] {
            let stats = repo.stats(&listing.entries, &cancel()).unwrap();
            let sizes: Vec<u64> = stats.iter().map(|stat| stat.unwrap().size).collect();
            assert_eq!(sizes, [6, 0, 10, 10, 1]);
            assert!(stats.iter().all(|stat| stat.unwrap().modified == committed));
        }
    }

    #[test]
    fn a_search_covers_the_files_of_head() {
        let app = bare();
        let query = Query {
            pattern: SearchPattern::new("fn".to_owned(), true, true),
            glob: None,
            excluded: &Excluded::NONE,
            context: 0,
        };
        let first = MatchRange::of(0, 9);
        let found = app.repo().search(&query, first, &cancel()).unwrap();
        let totals = found.totals;
        assert_eq!((totals.matches, totals.files_searched), (1, 3));
        assert_eq!(found.lines[0].path, path("src/a.rs"));
    }

    #[test]
    fn a_bare_repository_without_commits_is_empty() {
        let app = Sandbox::new();
        app.git(&["init", "-q", "--bare"]);
        assert!(app.listed().is_empty() && app.repo().head().is_none());
        assert!(matches!(
            read(&app.repo(), "HEAD"),
            Err(RepoError::NotFound { .. })
        ));
    }
}
