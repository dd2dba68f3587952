//! The targets of branches, remote branches and tags: where histories begin, in addition to HEAD.
//!
//! Reading ten thousand loose references takes a second, so the targets are cached until one of
//! their files changes ([`sources`]); that takes one `stat` per file. Folder times are not enough:
//! git replaces a reference's file, which its folder shows, but other tools write into the file.

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

/// The targets of references when they were last read. The default was never read.
#[derive(Debug, Default)]
pub(super) struct Tips(Option<CachedTips>);

#[derive(Debug)]
struct CachedTips {
    sources: Sources,
    ids: Arc<HashSet<ObjectId>>,
}

impl Tips {
    /// The commits and tags that references name now. Unreadable references are skipped, as in git.
    ///
    /// # Errors
    /// If references can't be read, or the call has to stop.
    pub(super) fn now(
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
        // The state is recorded before references are read: a change in between shows as a
        // difference.
        let sources = Sources::of(repository, cancel)?;
        let (ids, is_complete) = read(repository, cancel)?;
        let ids = Arc::new(ids);
        self.0 = sources.filter(|_| is_complete).map(|sources| CachedTips {
            sources,
            ids: Arc::clone(&ids),
        });
        Ok(ids)
    }
}

/// The targets of references, and whether [`Sources`] cover everything that they were read from.
///
/// # Errors
/// If references can't be read, or the call has to stop.
pub(super) fn read(
    repository: &gix::Repository,
    cancel: &Cancel,
) -> Result<(HashSet<ObjectId>, bool), HistoryError> {
    let store = &repository.refs;
    // Reopened each time: a cached buffer may miss what was written within a tick of the clock.
    let packed = store.open_packed_buffer().map_err(git(READING))?;
    let (mut ids, mut is_complete) = (HashSet::new(), true);
    for prefix in PREFIXES {
        let prefix = prefix.try_into().map_err(git(READING))?;
        let all = store.iter_prefixed_packed(prefix, packed.as_ref());
        for reference in all.map_err(git(READING))? {
            cancel.check()?;
            let Ok(mut reference) = reference else {
                continue;
            };
            is_complete &= !points_elsewhere(&reference);
            let id = reference.follow_to_object_packed(store, packed.as_ref());
            ids.extend(id.ok());
        }
    }
    Ok((ids, is_complete))
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
    use archway_repo::testing::{Sandbox, cancel, git};
    use tokio::time::{Duration, Instant};

    use super::*;

    struct Project {
        app: Sandbox,
        tips: Tips,
    }

    impl Project {
        /// A project with so many branches at one commit, each in a file of its own.
        fn new(branches: u32) -> Project {
            let app = Sandbox::new();
            app.file("a", "1").committed();
            let commands = |at| format!("create refs/heads/some/{at} HEAD\n");
            let commands: String = (0..branches).map(commands).collect();
            app.feed(&["update-ref", "--stdin"], &commands);
            let tips = Tips::default();
            Project { app, tips }
        }

        /// A new commit that nothing reaches.
        fn lost(&self, message: &str) -> ObjectId {
            let id = git(
                &self.app.root(),
                &["commit-tree", "-m", message, "HEAD^{tree}"],
            );
            id.parse().unwrap()
        }

        fn now(&mut self) -> Arc<HashSet<ObjectId>> {
            let repository = self.app.repo().git().unwrap();
            self.tips.now(&repository, &cancel()).unwrap()
        }

        fn names(&mut self, id: ObjectId) -> bool {
            self.now().contains(&id)
        }

        fn point(&self, name: &str, id: ObjectId) {
            self.app.git(&["update-ref", name, &id.to_string()]);
        }

        /// Reads until the cached targets are reused.
        fn wait_until_cached(&mut self) -> Arc<HashSet<ObjectId>> {
            let last = Instant::now() + Duration::from_secs(30);
            let mut before = self.now();
            while Instant::now() < last {
                let now = self.now();
                if Arc::ptr_eq(&before, &now) {
                    return now;
                }
                before = now;
                std::thread::sleep(Duration::from_millis(2));
            }
            panic!("references are never cached");
        }
    }

    #[test]
    fn references_are_cached_until_any_change() {
        let mut project = Project::new(2000);
        let [new, moved, written, tagged] =
            ["new", "moved", "written", "tagged"].map(|it| project.lost(it));
        let cached = project.wait_until_cached();
        assert!(Arc::ptr_eq(&cached, &project.now()), "nothing changed");
        project.point("refs/heads/new", new);
        assert!(project.names(new));
        project.wait_until_cached();
        project.point("refs/heads/some/7", moved);
        assert!(project.names(moved));
        project.wait_until_cached();
        // Unlike git: the folder's time stays the same.
        let file = project.app.root().join(".git/refs/heads/some/8");
        std::fs::write(file, format!("{written}\n")).unwrap();
        assert!(project.names(written));
        project.wait_until_cached();
        project.point("refs/tags/deep/er", tagged);
        assert!(project.names(tagged));
        project.wait_until_cached();
        project.app.git(&["branch", "-qD", "new"]);
        assert!(!project.names(new) && project.names(moved));
        project.app.git(&["pack-refs", "--all", "--prune"]);
        let packed = project.wait_until_cached();
        assert!(
            [moved, written, tagged]
                .iter()
                .all(|id| packed.contains(id))
        );
        project.app.git(&["update-ref", "-d", "refs/heads/some/7"]);
        assert!(!project.names(moved) && project.names(written));
    }

    #[test]
    fn changes_within_a_clock_tick_are_noticed() {
        let mut project = Project::new(1);
        let ids = ["first", "second"].map(|it| project.lost(it));
        let file = project.app.root().join(".git/refs/heads/some/0");
        for round in 0..200 {
            for (id, other) in [(0, 1), (1, 0)] {
                std::fs::write(&file, format!("{}\n", ids[id])).unwrap();
                let now = project.now();
                assert!(
                    now.contains(&ids[id]) && !now.contains(&ids[other]),
                    "round {round}"
                );
            }
        }
    }

    #[test]
    fn symbolic_references_outside_the_prefixes_are_not_cached() {
        let mut project = Project::new(1);
        let ids = ["first", "second"].map(|it| project.lost(it));
        project
            .app
            .git(&["symbolic-ref", "refs/heads/link", "refs/pull/1/head"]);
        project.point("refs/pull/1/head", ids[0]);
        let repository = project.app.repo().git().unwrap();
        let last = Instant::now() + Duration::from_secs(30);
        // Waits until all recorded files are old enough to be cached.
        while Sources::of(&repository, &cancel()).unwrap().is_none() {
            assert!(Instant::now() < last);
            std::thread::sleep(Duration::from_millis(2));
        }
        assert!(project.names(ids[0]) && project.tips.0.is_none());
        project.point("refs/pull/1/head", ids[1]);
        let now = project.now();
        assert!(now.contains(&ids[1]) && !now.contains(&ids[0]));
    }
}
