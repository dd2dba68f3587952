//! A project's state that outlives a call; `snapshot.rs` has the view of one call.
//!
//! A [`Project`] is a folder: another folder at the same path is another project. A [`Snapshot`]
//! pins the commit that HEAD named when a call began. Git's data is inspected again whenever a file
//! that it depends on has changed.

use std::sync::Arc;

use gix::ObjectId;
use parking_lot::Mutex;
use tokio::time::{Duration, Instant};

use super::boundary::Findings;
use super::commit_tree::CommitTree;
use super::content_cache::Budget;
use super::error::RepoError;
use super::git::Git;
use super::jail::Jail;
use super::key::Key;
use super::manifest_cache::ManifestCache;
use super::mounts::Located;
use super::status::Status;
use super::weight::CachedWeight;
use super::worktree::WorkTree;

pub(super) use search::SearchResources;
pub use snapshot::Head;
pub(super) use snapshot::Snapshot;

mod search;
mod snapshot;

/// Unusable git data is inspected again after this time.
const REFUSAL_AGE: Duration = Duration::from_secs(5);

/// Memory of an open project without its listing, in bytes: mostly git's object store.
const WEIGHT_OPEN: usize = 128 << 10;
/// Memory of one file in its listing, in bytes: its path twice, its kind, its share of a folder, its
/// blob and where the index has it.
const WEIGHT_ENTRY: usize = 350;

/// A project's folder and its caches.
#[derive(Debug)]
pub(super) struct Project {
    key: Key,
    work: Arc<WorkTree>,
    git: Mutex<Option<Arc<GitState>>>,
    bare: Mutex<Option<Arc<CommitTree>>>,
    /// Outlives the other caches: lists of many projects read it, too.
    status: Arc<Status>,
    manifest: ManifestCache,
    /// The result of the last [`Project::weigh`].
    last_weight: CachedWeight,
}

/// The last inspection of a project's git data.
#[derive(Debug)]
struct GitState {
    git: Option<Arc<Git>>,
    findings: Findings,
    /// Why the git data is not used, and when this was found.
    refused: Option<(&'static str, Instant)>,
}

impl Project {
    pub(super) fn new(
        key: Key,
        located: &Located,
        budget: Arc<Budget>,
        status: Arc<Status>,
    ) -> Result<Project, RepoError> {
        let opening = |source| RepoError::Io {
            what: "opening a project's folder",
            source,
        };
        let root = located.folder.try_clone().map_err(opening)?;
        let jail = Jail::new(root).map_err(|errno| opening(errno.into()))?;
        Ok(Project {
            key,
            work: Arc::new(WorkTree::new(jail, budget)),
            git: Mutex::new(None),
            bare: Mutex::new(None),
            status,
            manifest: ManifestCache::default(),
            last_weight: CachedWeight::default(),
        })
    }

    pub(super) fn name(&self) -> &str {
        self.key.project()
    }

    pub(super) fn key(&self) -> &Key {
        &self.key
    }

    /// About how much memory its caches use, in bytes; contents of files have a bound of their own.
    pub(super) fn weigh(&self) -> u32 {
        self.last_weight.record(self.weight())
    }

    /// Whether it uses a quarter more than when it was weighed.
    pub(super) fn has_grown(&self) -> bool {
        self.last_weight.is_outgrown_by(self.weight())
    }

    fn weight(&self) -> usize {
        let bare = self.bare.lock().clone();
        let bare = bare.map_or(0, |tree| tree.cached_entries());
        let entries = self.work.cached_entries() + bare;
        WEIGHT_OPEN + entries * WEIGHT_ENTRY
    }

    pub(super) fn work_tree(&self) -> &Arc<WorkTree> {
        &self.work
    }

    /// Takes a snapshot: inspects git's data if needed, and pins HEAD. Data in which the commit cannot be read is opened
    /// anew once: its packs were replaced, or it has got more of them than it has room for.
    pub(super) fn snapshot(self: Arc<Self>, located: &Located) -> Result<Snapshot, RepoError> {
        match Arc::clone(&self).pinned(located) {
            Err(RepoError::Git { .. }) => {
                self.close_git();
                self.pinned(located)
            }
            done => done,
        }
    }

    fn pinned(self: Arc<Self>, located: &Located) -> Result<Snapshot, RepoError> {
        let state = self.git_state(located);
        let git = state.git.clone();
        let mut refused = state.refused.map(|(why, _)| why);
        let (git, head) = match git.as_deref().map_or(Ok(None), Git::head) {
            // Files of a work tree need no commit. A bare repository has only the files of a
            // commit, so there the error is returned.
            Err(_source_has_host_paths) if !state.findings.is_bare => {
                tracing::warn!(project = self.name(), "HEAD can't be read");
                refused = Some("its HEAD can't be read");
                (None, None)
            }
            head => (git, head?),
        };
        let bare = if state.findings.is_bare {
            Some(self.commit_tree(&git, head)?)
        } else {
            None
        };
        Ok(Snapshot {
            project: self,
            git,
            refused,
            head,
            bare,
            mirror_of: state.findings.mirror_of,
        })
    }

    /// Returns the git data, inspected again if a file that it depends on has changed.
    fn git_state(&self, located: &Located) -> Arc<GitState> {
        let cached = self.git.lock().clone();
        if let Some(cached) = cached.filter(|cached| cached.is_current(located)) {
            return cached;
        }
        let state = Arc::new(GitState::survey(self.name(), located));
        *self.git.lock() = Some(Arc::clone(&state));
        state
    }

    /// Closes the git data, so that the next snapshot sees the packs of that moment.
    pub(super) fn close_git(&self) {
        *self.git.lock() = None;
        *self.bare.lock() = None;
    }

    fn commit_tree(
        &self,
        git: &Option<Arc<Git>>,
        head: Option<ObjectId>,
    ) -> Result<Arc<CommitTree>, RepoError> {
        let cached = self.bare.lock().clone();
        if let Some(cached) = cached.filter(|cached| cached.is_of(head)) {
            return Ok(cached);
        }
        let tree = Arc::new(CommitTree::of(git.clone().zip(head))?);
        *self.bare.lock() = Some(Arc::clone(&tree));
        Ok(tree)
    }
}

impl GitState {
    fn survey(project: &str, located: &Located) -> GitState {
        let findings = located.boundary.inspect();
        let work_tree = (!findings.is_bare).then_some(located.host_path.as_path());
        let git = match (&findings.breach, findings.unsupported, &findings.git_folder) {
            (Some(breach), ..) => {
                tracing::warn!(project, %breach, "repository is not used");
                Err("its data leads outside of the project")
            }
            (None, Some(why), _) => Err(why),
            (None, None, None) => Ok(None),
            (None, None, Some(folder)) => match Git::open(folder, work_tree) {
                Ok(git) => Ok(Some(Arc::new(git))),
                Err(_source_has_host_paths) => {
                    tracing::warn!(project, "repository can't be opened");
                    Err("its data can't be read")
                }
            },
        };
        let refused = git.as_ref().err().map(|why| (*why, Instant::now()));
        GitState {
            git: git.ok().flatten(),
            findings,
            refused,
        }
    }

    fn is_current(&self, located: &Located) -> bool {
        self.refused
            .is_none_or(|(_, since)| since.elapsed() < REFUSAL_AGE)
            && located.boundary.still_holds(&self.findings)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use uuid::Uuid;

    use super::super::testing::{Sandbox, cancel, git, path, repos_at, shown};
    use super::super::{Mounts, Rules};
    use crate::confine::confine;

    #[test]
    fn head_is_pinned_when_a_call_begins_and_moves_are_detected() {
        let app = Sandbox::new();
        app.file("a", "1").committed();
        let repo = app.repo();
        assert_eq!(
            repo.head().unwrap().commit,
            git(&app.root(), &["rev-parse", "HEAD"])
        );
        assert!(!repo.moved());
        let before = repo.head();
        app.git(&["commit", "-qm", "two", "--allow-empty"]);
        assert!(repo.moved() && repo.head() == before && !app.repo().moved());
        app.git(&["pack-refs", "--all"]).git(&["gc", "-q"]);
        assert_eq!(
            app.repo().head().unwrap().commit,
            git(&app.root(), &["rev-parse", "HEAD"])
        );
    }

    #[test]
    fn a_folder_without_commits_has_no_head() {
        let app = Sandbox::new();
        assert_eq!(app.repo().head(), None);
        app.file("a", "1").git(&["init", "-q"]);
        assert_eq!(app.repo().head(), None);
        assert!(
            !app.repo().claim_status(),
            "there is nothing to compare with"
        );
        app.git(&["add", "a"]).git(&["commit", "-qm", "one"]);
        assert!(
            app.repo().head().is_some(),
            "the repository appeared while in use"
        );
    }

    #[test]
    fn files_are_served_while_head_is_damaged_and_the_reason_is_reported() {
        let app = Sandbox::new();
        app.file("a", "1").committed();
        let head = app.root().join(".git/HEAD");
        let good = std::fs::read(&head).unwrap();
        for bad in ["", "\0\0\0\0", "ref: \n", "nonsense\n"] {
            std::fs::write(&head, bad).unwrap();
            let repo = app.repo();
            assert_eq!(app.listed(), ["a"], "{bad:?}");
            assert!(repo.git().is_none() && repo.head().is_none());
            assert_eq!(repo.git_refused(), Some("its HEAD can't be read"));
        }
        std::fs::write(head, good).unwrap();
        assert!(app.repo().head().is_some(), "at once");
    }

    #[test]
    fn dirtiness_is_unknown_until_the_claimed_check_ran() {
        let app = Sandbox::new();
        app.file("a", "1").committed();
        let repo = app.repo();
        let dirty = || app.repo().head().unwrap().dirty;
        assert_eq!(dirty(), None);
        assert!(repo.claim_status() && !repo.claim_status());
        repo.refresh_status();
        assert_eq!(dirty(), Some(false));
        assert!(!repo.claim_status(), "the last check is recent");
        app.file("untracked", "");
        repo.refresh_status();
        assert_eq!(dirty(), Some(true), "untracked files are searched");
        app.file("a", "longer");
        repo.refresh_status();
        assert_eq!(dirty(), Some(true));
        app.git(&["commit", "-qam", "two"]);
        assert_eq!(dirty(), None, "the new commit was not checked yet");
        assert!(app.repo().claim_status());
    }

    #[test]
    fn changes_of_closed_files_do_not_count() {
        let app = Sandbox::new();
        app.file("a", "1").file("keys/id.pem", "1").committed();
        app.file("keys/id.pem", "longer").file("new/.env", "");
        app.repo().refresh_status();
        assert_eq!(app.repo().head().unwrap().dirty, Some(false));
        app.file("new/b", "").repo().refresh_status();
        assert_eq!(app.repo().head().unwrap().dirty, Some(true));
    }

    #[test]
    fn a_staged_change_is_dirty() {
        let app = Sandbox::new();
        app.file("a", "1")
            .committed()
            .file("b", "")
            .git(&["add", "b"]);
        app.repo().refresh_status();
        assert_eq!(app.repo().head().unwrap().dirty, Some(true));
    }

    #[test]
    fn commands_in_a_repositorys_configuration_never_run() {
        let app = Sandbox::new();
        let witness = app.host("ran");
        let command = format!("touch {}", witness.display());
        app.file("a", "1")
            .file(".gitattributes", "* filter=evil diff=evil\n")
            .committed();
        for key in [
            "filter.evil.clean",
            "filter.evil.process",
            "core.fsmonitor",
            "diff.evil.textconv",
        ] {
            app.git(&["config", key, &command]);
        }
        app.git(&["config", "core.worktree", "/etc"]);
        // As old as the index, so that status has to compare contents.
        app.file("a", "2");
        let repo = app.repo();
        repo.refresh_status();
        assert_eq!(app.repo().head().unwrap().dirty, Some(true));
        assert!(!witness.exists());
        assert_eq!(app.listed(), [".gitattributes", "a"]);
    }

    #[test]
    fn replacements_and_grafts_are_ignored() {
        let app = Sandbox::new();
        app.file("a", "true").committed();
        app.file("a", "two").git(&["commit", "-qam", "two"]);
        let id = |revision: &str| git(&app.root(), &["rev-parse", revision]);
        let (one, two, blob) = (id("HEAD~1"), id("HEAD"), id("HEAD:a"));
        let other = id("HEAD~1:a");
        app.git(&["replace", &two, &one])
            .git(&["replace", &blob, &other]);
        app.git(&["config", "core.useReplaceRefs", "true"]);
        app.file(".git/info/grafts", format!("{two}\n"));
        let repository = app.repo().git().unwrap();
        let object = |id: &str| gix::ObjectId::from_hex(id.as_bytes()).unwrap();
        let commit = repository.find_commit(object(&two)).unwrap();
        let parents: Vec<_> = commit.parent_ids().map(|id| id.to_string()).collect();
        assert_eq!(parents, [one]);
        assert_eq!(repository.find_blob(object(&blob)).unwrap().data, b"two");
    }

    #[test]
    fn old_commits_serve_files_over_16_mib_and_apply_path_rules() {
        let app = Sandbox::new();
        let noise: Vec<u8> = (0..(17 << 20) / 4u32)
            .flat_map(|n| n.wrapping_mul(0x9E37_79B9).to_le_bytes())
            .collect();
        app.file("large", &noise)
            .file("dir/a", "old")
            .link("link", "dir/a")
            .file(".env", "s");
        app.committed().git(&["gc", "-q"]);
        app.file("dir/a", "new")
            .file("later", "")
            .git(&["add", "-A"])
            .git(&["commit", "-qm", "two"]);
        let repo = app.repo();
        let one = gix::ObjectId::from_hex(git(&app.root(), &["rev-parse", "HEAD~1"]).as_bytes());
        let one = one.unwrap();
        let past = repo.as_of(one).unwrap();
        let read = |name: &str| {
            past.open(&path(name)).map(|mut file| {
                let mut content = Vec::new();
                std::io::Read::read_to_end(&mut file, &mut content).unwrap();
                content
            })
        };
        assert_eq!(read("large").unwrap(), noise);
        assert_eq!(
            (read("dir/a").unwrap(), read("link").unwrap()),
            (b"old".to_vec(), b"old".to_vec())
        );
        assert!(read("later").is_err() && read(".env").is_err());
        assert_eq!(past.head().unwrap().commit, one.to_string());
    }

    #[test]
    fn a_partial_clone_reports_a_missing_object_and_fetches_nothing() {
        let app = Sandbox::new();
        app.file("a", "1").committed();
        std::fs::rename(app.root(), app.host("acme/source")).unwrap();
        let source = format!("file://{}", app.host("acme/source").display());
        git(
            &app.host("acme/source"),
            &["config", "uploadpack.allowFilter", "true"],
        );
        git(
            &app.host("acme"),
            &[
                "clone",
                "-q",
                "--bare",
                "--filter=blob:none",
                &source,
                "app",
            ],
        );
        let lacking = app.repo().open(&path("a")).unwrap_err();
        assert!(lacking.is_missing_object(), "{lacking}");
        let objects = git(&app.root(), &["count-objects", "-v"]);
        assert!(
            app.repo().open(&path("a")).is_err(),
            "nothing was fetched: {objects}"
        );
    }

    #[test]
    fn a_mirror_is_read_however_many_packs_it_gets() {
        let app = Sandbox::new();
        app.file("a", "1").committed();
        std::fs::rename(app.root(), app.host("acme/source")).unwrap();
        let clone = ["clone", "-q", "--bare", "source", "app"];
        git(&app.host("acme"), &clone);
        let commit = ["commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "more"];
        for number in 0..70 {
            assert!(app.repo().open(&path("a")).is_ok(), "{number} packs");
            let id = git(&app.root(), &commit);
            git(&app.root(), &["update-ref", "HEAD", &id]);
            git(&app.root(), &["repack", "-q", "-n", "-d"]);
        }
    }

    #[test]
    fn a_new_work_tree_behind_current_is_another_snapshot() {
        let app = Sandbox::new();
        let commit = |name: &str| {
            let folder = app.root().join(name);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join(name), name).unwrap();
            git(&folder, &["init", "-q"]);
            git(&folder, &["add", "-A"]);
            git(&folder, &["commit", "-qm", name]);
        };
        commit("one");
        commit("two");
        let current = app.root().join("current");
        symlink("one", &current).unwrap();
        let repo = app.repo();
        assert_eq!(app.listed(), ["one"]);
        std::fs::remove_file(&current).unwrap();
        symlink("two", &current).unwrap();
        assert!(repo.moved());
        assert_eq!(
            repo.listing(&cancel()).unwrap().entries.len(),
            1,
            "it still answers"
        );
        assert_eq!(app.listed(), ["two"]);
    }

    #[test]
    fn a_confined_thread_can_do_everything_a_worker_does() {
        let app = Sandbox::new();
        app.file("a", "1").committed().file("a", "longer");
        let mounts = Mounts::beneath(app.host(""));
        std::thread::scope(|scope| {
            let work = scope.spawn(|| {
                confine(&mounts.folders(), &[]).unwrap();
                let repos = repos_at(mounts);
                let rules = std::sync::Arc::new(Rules::new(&[], &[], None).unwrap());
                let repo = repos.open("acme", ("app", Uuid::nil()), rules).unwrap();
                repo.refresh_status();
                assert_eq!(repo.head().unwrap().dirty, Some(true));
                assert_eq!(shown(&repo.listing(&cancel()).unwrap()), ["a"]);
                assert_eq!(repo.open(&path("a")).unwrap().size(), 6);
            });
            work.join().unwrap();
        });
    }

    #[test]
    fn projects_are_mounted_by_exact_name_and_tenant() {
        let app = Sandbox::new();
        assert!(app.repos.is_mounted("acme", "app") && !app.repos.is_mounted("acme", "App"));
        assert!(!app.repos.is_mounted("zeta", "app") && !app.repos.is_mounted("..", "acme"));
        assert!(!app.repos.is_mounted("acme", "app/..") && !app.repos.is_mounted("", ""));
    }
}
