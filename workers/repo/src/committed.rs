//! The files of HEAD's commit by blob, for an index that outlives work trees.
//!
//! Files that a reader may not see are left out, and those that a committed `.gitignore` names: a
//! work tree does not list them either. Links do not count as files. Files whose paths are too long
//! for a row of the index are left out.

use std::sync::Arc;

use gix::ObjectId;
use gix::bstr::ByteSlice as _;
use gix::object::tree::EntryKind as Mode;

use super::cancel::{Cancel, Stopped};
use super::commit_tree::READING;
use super::error::RepoError;
use super::folder::{MAX_ENTRIES, MAX_NAMES, MAX_RULE_FILE};
use super::git::git_error;
use super::ignores::{Ignores, RuleFiles};
use super::listing::EntryKind;
use super::path::RepoPath;
use super::repo::Repo;
use super::rules::{Kind, Rules};

const GITIGNORE: &[u8] = b".gitignore";
/// The longest indexed path, in bytes: a Postgres index row has at most a third of a page, 2,704
/// bytes, including its other columns.
const MAX_PATH: usize = 2560;

/// A file of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    /// Its path.
    pub path: RepoPath,
    /// The blob with its content.
    pub blob: ObjectId,
}

impl Repo {
    /// The regular files of the commit that this call is pinned to, ordered by path. Empty without
    /// git or before the first commit.
    ///
    /// # Errors
    /// [`RepoError::TooManyEntries`], [`RepoError::Stopped`], or if a tree cannot be read.
    pub fn committed(&self, cancel: &Cancel) -> Result<Vec<Committed>, RepoError> {
        self.committed_within(&[RepoPath::root()], cancel)
    }

    /// The files of [`Repo::committed`] beneath one of these folders; no other folder is read.
    ///
    /// # Errors
    /// As [`Repo::committed`].
    pub(crate) fn committed_within(
        &self,
        folders: &[RepoPath],
        cancel: &Cancel,
    ) -> Result<Vec<Committed>, RepoError> {
        let (Some(repository), Some(commit)) = (self.git(), self.commit()) else {
            return Ok(Vec::new());
        };
        let tree = repository.find_commit(commit).map_err(git_error(READING))?;
        let tree = tree.tree_id().map_err(git_error(READING))?.detach();
        let walk = Walk {
            repository: &repository,
            rules: &self.rules,
            folders,
            bytes_left: MAX_NAMES,
            files: Vec::new(),
            too_long: 0,
        };
        walk.run(tree, cancel)
    }

    /// The files beneath these folders with their blobs, from the commit that this call is pinned
    /// to. Without a commit: all files that the work tree lists, in any folder, without blobs.
    ///
    /// # Errors
    /// As [`Repo::committed`], or if the work tree cannot be listed.
    pub fn files_within(
        &self,
        folders: &[RepoPath],
        cancel: &Cancel,
    ) -> Result<Vec<(RepoPath, Option<ObjectId>)>, RepoError> {
        if self.commit().is_some() {
            let files = self.committed_within(folders, cancel)?.into_iter();
            return Ok(files.map(|file| (file.path, Some(file.blob))).collect());
        }
        let listing = self.listing(cancel)?;
        let files = listing.entries.iter();
        let files = files.filter(|entry| entry.kind == EntryKind::File);
        Ok(files.map(|entry| (entry.path.clone(), None)).collect())
    }

    /// The blob of a file that a listing or search of this commit has found, without reading it. `None` in a work tree,
    /// whose files change, and for any other path.
    pub fn listed_blob(&self, path: &RepoPath) -> Option<ObjectId> {
        self.snapshot.listed_blob(path, &self.rules)
    }

    /// The size of a blob in bytes; `None` if it is missing or cannot be read now.
    pub fn blob_size(&self, id: ObjectId) -> Option<u64> {
        Some(self.git()?.find_header(id).ok()?.size())
    }

    /// The content of a blob; `None` if it has more than `limit` bytes, or is missing.
    pub fn blob(&self, id: ObjectId, limit: u64) -> Option<Vec<u8>> {
        content(&self.git()?, id, limit)
    }
}

impl Repo {
    /// Whether the work tree's file differs from this blob, line ends aside: git may be configured
    /// to convert them. Always false without a work tree. Reads at most as much as the blob could
    /// have become, even if the file is a thousand times larger.
    ///
    /// # Errors
    /// If the call was stopped.
    pub fn differs_from(
        &self,
        path: &RepoPath,
        blob: ObjectId,
        cancel: &Cancel,
    ) -> Result<bool, Stopped> {
        let Some(repository) = self.git().filter(|_| !self.is_bare()) else {
            return Ok(false);
        };
        let Ok(header) = repository.find_header(blob) else {
            return Ok(true);
        };
        // Each line end may have become two bytes.
        let limit = usize::try_from(header.size().saturating_mul(2)).unwrap_or(usize::MAX);
        let mut content = Vec::new();
        let read = self.read_tracked(path, |piece| {
            cancel.check()?;
            content.extend_from_slice(piece);
            match content.len() > limit {
                true => Err(RepoError::NotFound { path: path.clone() }),
                false => Ok(()),
            }
        });
        match read {
            Err(RepoError::Stopped(stopped)) => return Err(stopped),
            Err(_other) => return Ok(true),
            Ok(()) => {}
        }
        let matches = |content: &[u8]| {
            let hash = gix::objs::compute_hash(blob.kind(), gix::objs::Kind::Blob, content);
            hash.is_ok_and(|hash| hash == blob)
        };
        Ok(!(matches(&content) || matches(&content.replace(b"\r\n", b"\n"))))
    }

    /// Counts the commits that HEAD has and `commit` lacks, up to `limit`. `None` if they cannot be
    /// counted, for example because the clone is shallow.
    pub fn commits_since(&self, commit: &str, limit: usize, cancel: &Cancel) -> Option<u64> {
        let (repository, head) = (self.git()?, self.commit()?);
        let commit = ObjectId::from_hex(commit.as_bytes()).ok()?;
        if head == commit {
            return Some(0);
        }
        let walk = repository
            .rev_walk([head])
            .with_hidden([commit])
            .all()
            .ok()?;
        let mut count = 0;
        for step in walk.take(limit) {
            cancel.check().ok()?;
            step.ok()?;
            count += 1;
        }
        Some(count)
    }
}

struct Walk<'a> {
    repository: &'a gix::Repository,
    rules: &'a Rules,
    /// The selected folders.
    folders: &'a [RepoPath],
    /// Bytes of paths that may still be read.
    bytes_left: usize,
    files: Vec<Committed>,
    /// Files left out because of their paths.
    too_long: usize,
}

/// A folder still to be read.
struct PendingFolder {
    path: RepoPath,
    tree: ObjectId,
    above: Arc<Ignores>,
}

impl Walk<'_> {
    fn run(mut self, tree: ObjectId, cancel: &Cancel) -> Result<Vec<Committed>, RepoError> {
        let mut folders = vec![PendingFolder {
            path: RepoPath::root(),
            tree,
            above: Arc::default(),
        }];
        while let Some(folder) = folders.pop() {
            cancel.check()?;
            self.read_folder(&folder, &mut folders)?;
            if self.files.len() > MAX_ENTRIES {
                return Err(too_many());
            }
        }
        if self.too_long > 0 {
            let (files, limit) = (self.too_long, MAX_PATH);
            tracing::warn!(
                files,
                limit,
                "files whose paths are too long are not indexed"
            );
        }
        self.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Ok(self.files)
    }

    fn read_folder(
        &mut self,
        folder: &PendingFolder,
        folders: &mut Vec<PendingFolder>,
    ) -> Result<(), RepoError> {
        let tree = self
            .repository
            .find_tree(folder.tree)
            .map_err(git_error(READING))?;
        let ignores = self.ignores(folder, &tree);
        for entry in tree.iter() {
            let entry = entry.map_err(git_error(READING))?;
            let path = folder.path.join(entry.filename());
            let left = self.bytes_left.checked_sub(path.as_bytes().len());
            self.bytes_left = left.ok_or_else(too_many)?;
            let mode = entry.mode().kind();
            let kind = match mode {
                Mode::Tree => Kind::Directory,
                Mode::Blob | Mode::BlobExecutable => Kind::File,
                Mode::Link | Mode::Commit => continue,
            };
            if !self.is_selected(&path, kind) {
                continue;
            }
            let is_hidden = self.rules.check(&path, kind).is_err()
                || ignores.ignores(&path, mode == Mode::Tree);
            match (is_hidden, mode) {
                (true, _) => {}
                (false, Mode::Tree) => folders.push(PendingFolder {
                    path,
                    tree: entry.object_id(),
                    above: Arc::clone(&ignores),
                }),
                (false, _) if path.as_bytes().len() > MAX_PATH => self.too_long += 1,
                (false, _) => self.files.push(Committed {
                    path,
                    blob: entry.object_id(),
                }),
            }
        }
        Ok(())
    }

    /// Whether the path is in a selected folder, or above one.
    fn is_selected(&self, path: &RepoPath, kind: Kind) -> bool {
        let is_above = |folder: &RepoPath| kind == Kind::Directory && folder.is_within(path);
        let mut folders = self.folders.iter();
        folders.any(|folder| path.is_within(folder) || is_above(folder))
    }

    /// The ignore rules for a folder's entries.
    fn ignores(&self, folder: &PendingFolder, tree: &gix::Tree<'_>) -> Arc<Ignores> {
        let rules = tree.iter().filter_map(Result::ok);
        let mut rules = rules.filter(|entry| entry.filename() == GITIGNORE);
        let id = rules.next().filter(|entry| entry.mode().is_blob());
        let id = id.map(|entry| entry.object_id());
        let files = RuleFiles {
            gitignore: id.and_then(|id| content(self.repository, id, MAX_RULE_FILE)),
            exclude: None,
        };
        Ignores::beneath(&folder.above, &folder.path, &files, false)
    }
}

/// Reads a blob of at most `limit` bytes; a larger one is not read at all.
fn content(repository: &gix::Repository, id: ObjectId, limit: u64) -> Option<Vec<u8>> {
    let size = repository.find_header(id).ok()?.size();
    let blob = || repository.find_blob(id).ok();
    (size <= limit).then(blob)?.map(|mut blob| blob.take_data())
}

fn too_many() -> RepoError {
    RepoError::TooManyEntries { limit: MAX_ENTRIES }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Sandbox, cancel, path};

    fn paths(app: &Sandbox) -> Vec<String> {
        let files = app.repo().committed(&cancel()).unwrap();
        files.iter().map(|file| file.path.display()).collect()
    }

    #[test]
    fn blocked_and_ignored_files_and_links_are_left_out() {
        let app = Sandbox::new();
        app.file("src/a.rs", "fn a() {}\n").file(".env", "secret");
        app.file("docs/.gitignore", "*.log\n!keep.log\n");
        app.file("docs/a.log", "x").file("docs/keep.log", "y");
        app.file("a.log", "z").link("link", "src/a.rs");
        app.git(&["init", "-q", "-b", "main"]).git(&["add", "-Af"]);
        app.git(&["commit", "-qm", "one"]);
        let expected = ["a.log", "docs/.gitignore", "docs/keep.log", "src/a.rs"];
        assert_eq!(paths(&app), expected);
    }

    #[test]
    fn a_blob_has_the_commits_content_and_respects_the_limit() {
        let app = Sandbox::new();
        app.file("a", "committed");
        app.committed();
        app.file("a", "changed since");
        let repo = app.repo();
        let file = repo.committed(&cancel()).unwrap().remove(0);
        assert_eq!(repo.blob(file.blob, 9).unwrap(), b"committed");
        assert!(repo.blob(file.blob, 8).is_none());
    }

    #[test]
    fn only_files_with_paths_too_long_for_an_index_are_left_out() {
        let app = Sandbox::new();
        app.git(&["init", "-q", "-b", "main"]);
        let folders = |count: usize| vec!["f".repeat(255); count].join("/");
        let file = |path: &str| format!("M 100644 inline {path}\ndata 1\nx\n");
        let head = "commit refs/heads/main\ncommitter a <a@b.c> 1 +0000\ndata 1\nm\n";
        let fits = folders(10);
        let files = [
            file("a"),
            file(&fits),
            file(&format!("{fits}.{}", folders(2))),
        ];
        app.import(&format!("{head}{}", files.concat()));
        assert_eq!(fits.len(), 2559);
        assert_eq!(paths(&app), ["a", &*fits]);
    }

    #[test]
    fn comparing_a_file_with_its_blob_ignores_converted_line_ends() {
        let app = Sandbox::new();
        app.file("a", "one\ntwo\n");
        app.committed();
        let differs = || {
            let repo = app.repo();
            let file = repo.committed(&cancel()).unwrap().remove(0);
            repo.differs_from(&file.path, file.blob, &cancel()).unwrap()
        };
        assert!(!differs());
        app.file("a", "one\r\ntwo\r\n");
        assert!(!differs());
        app.file("a", "one\ntwo\nthree\n");
        assert!(differs());
    }

    #[test]
    fn comparing_a_huge_file_reads_no_more_than_its_blob_could_need() {
        let app = Sandbox::new();
        app.file("a", "small");
        app.committed();
        let repo = app.repo();
        let file = repo.committed(&cancel()).unwrap().remove(0);
        let huge = std::fs::File::create(app.root().join("a")).unwrap();
        huge.set_len(64 << 30).unwrap();
        let cancel = cancel();
        assert!(repo.differs_from(&file.path, file.blob, &cancel).unwrap());
        assert_eq!(cancel.checks(), 1, "it stopped after the first piece");
        let stopped = cancel.cancel_at_check(2);
        assert!(repo.differs_from(&file.path, file.blob, &stopped).is_err());
    }

    #[test]
    fn only_the_selected_folders_are_read() {
        let app = Sandbox::new();
        app.file("docs/adr/a.md", "a").file("docs/adr/b/c.md", "c");
        app.file("docs/adrs/d.md", "d").file("docs/e.md", "e");
        app.file("x/y.md", "y").file("docs/.gitignore", "b/\n");
        app.git(&["init", "-q", "-b", "main"]).git(&["add", "-Af"]);
        app.git(&["commit", "-qm", "one"]);
        let folders = ["docs/adr", "x", "nowhere"].map(path);
        let files = app.repo().committed_within(&folders, &cancel()).unwrap();
        let paths: Vec<_> = files.iter().map(|file| file.path.display()).collect();
        assert_eq!(paths, ["docs/adr/a.md", "x/y.md"]);
    }

    #[test]
    fn without_git_there_are_no_committed_files() {
        let app = Sandbox::new();
        app.file("a", "text");
        assert!(paths(&app).is_empty());
    }
}
