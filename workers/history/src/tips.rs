//! The targets of branches, remote branches and tags: where histories begin, in addition to HEAD.
//!
//! Reading ten thousand loose references takes a second, so the targets are cached until one of
//! their files changes ([`sources`]); that takes one `stat` per file. The mtime of a folder is not
//! enough: git replaces a reference's file, which updates it, but other tools write in place, which
//! does not.

mod sources;

use std::collections::HashSet;
use std::sync::Arc;

use archway_repo::Cancel;
use gix::ObjectId;
use gix::refs::file::ReferenceExt as _;
use gix::refs::{Category, Reference, Target};

use self::sources::Sources;
use super::HistoryError;
use super::error::git;

const READING: &str = "reading references";

/// The prefixes of served references, beneath git's folder.
pub(super) const PREFIXES: [&str; 3] = ["refs/heads/", "refs/remotes/", "refs/tags/"];

/// Cached reference targets. Empty until the first read.
#[derive(Debug, Default)]
pub(super) struct Tips(Option<CachedTips>);

#[derive(Debug)]
struct CachedTips {
    sources: Sources,
    ids: Arc<HashSet<ObjectId>>,
}

impl Tips {
    /// The current target of each reference, with symbolic references followed and tags not peeled.
    ///
    /// # Errors
    /// If references can't be listed, or the call has to stop.
    pub(super) fn current(
        &mut self,
        repository: &gix::Repository,
        cancel: &Cancel,
    ) -> Result<Arc<HashSet<ObjectId>>, HistoryError> {
        if let Some(cached) = &self.0
            && cached.sources.are_unchanged(repository, cancel)?
        {
            return Ok(Arc::clone(&cached.ids));
        }
        self.0 = None;
        // The state is recorded before references are read, so that a change in between is noticed.
        let sources = Sources::of(repository, cancel)?;
        let (ids, can_be_cached) = read_targets(repository, cancel)?;
        let ids = Arc::new(ids);
        self.0 = sources.filter(|_| can_be_cached).map(|sources| CachedTips {
            sources,
            ids: Arc::clone(&ids),
        });
        Ok(ids)
    }
}

/// Reads the targets of references. Returns whether they can be cached, too: every file was read,
/// and [`Sources`] covers it.
///
/// As in git, a reference that is malformed, dangling or unreadable is skipped.
///
/// # Errors
/// If references can't be listed, or the call has to stop.
pub(super) fn read_targets(
    repository: &gix::Repository,
    cancel: &Cancel,
) -> Result<(HashSet<ObjectId>, bool), HistoryError> {
    let store = &repository.refs;
    // Reopened each time: a cached buffer may miss what was written within a tick of the clock.
    let packed = store.open_packed_buffer().map_err(git(READING))?;
    let (mut ids, mut can_be_cached) = (HashSet::new(), true);
    for prefix in PREFIXES {
        let prefix = prefix.try_into().map_err(git(READING))?;
        let all = store.iter_prefixed_packed(prefix, packed.as_ref());
        for reference in all.map_err(git(READING))? {
            cancel.check()?;
            let target = reference.and_then(|mut reference| {
                can_be_cached &= !points_elsewhere(&reference);
                reference.follow_to_object_packed(store, packed.as_ref())
            });
            match target {
                Ok(id) => _ = ids.insert(id),
                Err(error) => can_be_cached &= !is_io_error(&error),
            }
        }
    }
    Ok((ids, can_be_cached))
}

/// Whether reading failed for a reason that may pass without a change of the file, such as too many
/// open files.
fn is_io_error(error: &gix::Error) -> bool {
    error.downcast_any_ref::<std::io::Error>().is_some()
}

/// Whether the reference is symbolic and points outside the served prefixes.
fn points_elsewhere(reference: &Reference) -> bool {
    match &reference.target {
        Target::Object(_) => false,
        Target::Symbolic(name) => !matches!(
            name.category(),
            Some(Category::LocalBranch | Category::RemoteBranch | Category::Tag)
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use archway_repo::testing::{Sandbox, cancel, git};

    use super::*;

    struct Project {
        sandbox: Sandbox,
        tips: Tips,
    }

    impl Project {
        /// A project with this number of branches at one commit, each in its own file.
        fn new(branches: u32) -> Project {
            let sandbox = Sandbox::new();
            sandbox.file("a", "1").committed();
            let commands = |at| format!("create refs/heads/some/{at} HEAD\n");
            let commands: String = (0..branches).map(commands).collect();
            sandbox.feed(&["update-ref", "--stdin"], &commands);
            let tips = Tips::default();
            Project { sandbox, tips }
        }

        /// Creates a commit that no reference reaches.
        fn unreachable_commit(&self, message: &str) -> ObjectId {
            let id = git(
                &self.sandbox.root(),
                &["commit-tree", "-m", message, "HEAD^{tree}"],
            );
            id.parse().unwrap()
        }

        fn current(&mut self) -> Arc<HashSet<ObjectId>> {
            let repository = self.sandbox.repo().git().unwrap();
            self.tips.current(&repository, &cancel()).unwrap()
        }

        fn contains(&mut self, id: ObjectId) -> bool {
            self.current().contains(&id)
        }

        fn update_ref(&self, name: &str, id: ObjectId) {
            self.sandbox.git(&["update-ref", name, &id.to_string()]);
        }

        /// Waits until all files are old enough that a later change would be noticed.
        fn wait_until_cacheable(&self) {
            let repository = self.sandbox.repo().git().unwrap();
            let deadline = Instant::now() + Duration::from_secs(30);
            while Sources::of(&repository, &cancel()).unwrap().is_none() {
                assert!(Instant::now() < deadline, "files never become old");
                std::thread::sleep(Duration::from_millis(2));
            }
        }

        /// Reads until the cached targets are reused.
        fn wait_until_cached(&mut self) -> Arc<HashSet<ObjectId>> {
            let deadline = Instant::now() + Duration::from_secs(30);
            let mut before = self.current();
            while Instant::now() < deadline {
                let current = self.current();
                if Arc::ptr_eq(&before, &current) {
                    return current;
                }
                before = current;
                std::thread::sleep(Duration::from_millis(2));
            }
            panic!("references were never cached");
        }
    }

    #[test]
    fn references_are_cached_until_any_change() {
        let mut project = Project::new(2000);
        let [new, moved, written, tagged] =
            ["new", "moved", "written", "tagged"].map(|it| project.unreachable_commit(it));
        let cached = project.wait_until_cached();
        assert!(Arc::ptr_eq(&cached, &project.current()), "nothing changed");
        project.update_ref("refs/heads/new", new);
        assert!(project.contains(new));
        project.wait_until_cached();
        project.update_ref("refs/heads/some/7", moved);
        assert!(project.contains(moved));
        project.wait_until_cached();
        // Unlike git, this leaves the folder's mtime as it is.
        let file = project.sandbox.root().join(".git/refs/heads/some/8");
        std::fs::write(file, format!("{written}\n")).unwrap();
        assert!(project.contains(written));
        project.wait_until_cached();
        project.update_ref("refs/tags/deep/er", tagged);
        assert!(project.contains(tagged));
        project.wait_until_cached();
        project.sandbox.git(&["branch", "-qD", "new"]);
        assert!(!project.contains(new) && project.contains(moved));
        project.sandbox.git(&["pack-refs", "--all", "--prune"]);
        let packed = project.wait_until_cached();
        assert!(
            [moved, written, tagged]
                .iter()
                .all(|id| packed.contains(id))
        );
        project
            .sandbox
            .git(&["update-ref", "-d", "refs/heads/some/7"]);
        assert!(!project.contains(moved) && project.contains(written));
    }

    #[test]
    fn changes_within_a_clock_tick_are_noticed() {
        let mut project = Project::new(1);
        let ids = ["first", "second"].map(|it| project.unreachable_commit(it));
        let file = project.sandbox.root().join(".git/refs/heads/some/0");
        for round in 0..200 {
            for (id, other) in [(0, 1), (1, 0)] {
                std::fs::write(&file, format!("{}\n", ids[id])).unwrap();
                let current = project.current();
                assert!(
                    current.contains(&ids[id]) && !current.contains(&ids[other]),
                    "round {round}"
                );
            }
        }
    }

    #[test]
    fn symbolic_references_outside_the_prefixes_are_not_cached() {
        let mut project = Project::new(1);
        let ids = ["first", "second"].map(|it| project.unreachable_commit(it));
        project
            .sandbox
            .git(&["symbolic-ref", "refs/heads/link", "refs/pull/1/head"]);
        project.update_ref("refs/pull/1/head", ids[0]);
        project.wait_until_cacheable();
        assert!(project.contains(ids[0]) && project.tips.0.is_none());
        project.update_ref("refs/pull/1/head", ids[1]);
        let current = project.current();
        assert!(current.contains(&ids[1]) && !current.contains(&ids[0]));
    }

    #[test]
    fn targets_are_not_cached_after_an_io_error() {
        let mut project = Project::new(1);
        let head = git(&project.sandbox.root(), &["rev-parse", "HEAD"]);
        let head = head.parse().unwrap();
        let folder = project.sandbox.root().join(".git/refs/heads");
        let write = |name, content: &str| std::fs::write(folder.join(name), content).unwrap();
        write("malformed", "neither an id nor a name\n");
        write("dangling", "ref: refs/heads/absent\n");
        project.wait_until_cacheable();
        assert!(project.contains(head) && project.tips.0.is_some());
        // `open` fails with `ENAMETOOLONG`, for every user.
        write(
            "unreadable",
            &format!("ref: refs/heads/{}\n", "x".repeat(256)),
        );
        project.wait_until_cacheable();
        assert!(project.contains(head) && project.tips.0.is_none());
    }
}
