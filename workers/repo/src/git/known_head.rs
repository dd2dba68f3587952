//! The commit that HEAD names, remembered while the files that name it are unchanged.

use std::path::PathBuf;

use gix::ObjectId;
use gix::refs::TargetRef;

use crate::error::RepoError;
use crate::seen_file::SeenFiles;

/// All work trees of a repository share its branches. Other references belong to one work tree, or
/// to a submodule.
const BRANCHES: &[u8] = b"refs/heads/";
/// Maximum number of references that HEAD may lead through. Git follows five.
const MAX_REFERENCES: usize = 5;

/// The files that HEAD's commit is read from: HEAD, the branches that it leads through, and the
/// packed references. `None` if not all are known.
pub(crate) fn files_of_head(repository: &gix::Repository) -> Option<Vec<PathBuf>> {
    let common = repository.common_dir();
    let mut files = vec![
        repository.git_dir().join("HEAD"),
        common.join("packed-refs"),
    ];
    let mut reference = repository.find_reference("HEAD").ok()?.inner;
    for _ in 0..MAX_REFERENCES {
        let TargetRef::Symbolic(name) = reference.target.to_ref() else {
            return Some(files);
        };
        if !name.as_bstr().starts_with(BRANCHES) {
            return None;
        }
        files.push(common.join(gix::path::from_bstr(name.as_bstr()).ok()?));
        match repository.try_find_reference(name).ok()? {
            Some(next) => reference = next.inner,
            None => return Some(files),
        }
    }
    None
}

/// The commit of HEAD, and the state of the files that it was read from.
#[derive(Clone, Debug)]
pub(super) struct KnownHead {
    pub(super) commit: Option<ObjectId>,
    files: SeenFiles,
}

impl KnownHead {
    /// The commit, as `read` finds it.
    pub(super) fn read(
        repository: &gix::Repository,
        read: impl FnOnce(&gix::Repository) -> Result<Option<ObjectId>, RepoError>,
    ) -> Result<KnownHead, RepoError> {
        let files = SeenFiles::at(files_of_head(repository));
        Ok(KnownHead {
            commit: read(repository)?,
            files: files.confirmed_by(files_of_head(repository)),
        })
    }

    pub(super) fn still_holds(&self) -> bool {
        self.files.are_unchanged()
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{Duration, Instant};

    use crate::boundary::GitFolder;
    use crate::git::Git;
    use crate::testing::{Sandbox, git};

    fn opened(app: &Sandbox) -> Git {
        let folder = GitFolder {
            host_path: app.root().join(".git"),
        };
        Git::open(&folder, Some(&app.root())).unwrap()
    }

    /// HEAD as read, or as remembered.
    fn head(git: &Git) -> String {
        git.head().unwrap().unwrap().to_string()
    }

    fn is_remembered(git: &Git) -> bool {
        let known = git.head.lock();
        known.as_ref().is_some_and(super::KnownHead::still_holds)
    }

    /// Reads HEAD until its files are old enough to be trusted.
    fn settle(git: &Git) {
        let give_up = Instant::now() + Duration::from_secs(10);
        while !is_remembered(git) {
            head(git);
            assert!(Instant::now() < give_up, "HEAD is never remembered");
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_remembered_head_follows_every_way_to_move_it() {
        let app = Sandbox::new();
        app.file("a", "1").committed();
        let opened = opened(&app);
        let moves: [&[&str]; 9] = [
            &["commit", "-qm", "two", "--allow-empty"],
            &["pack-refs", "--all"],
            &["commit", "-qm", "three", "--allow-empty"],
            &["reset", "-q", "--soft", "HEAD~1"],
            &["checkout", "-qb", "other"],
            &["commit", "-qm", "four", "--allow-empty"],
            &["checkout", "-q", "--detach", "HEAD~1"],
            &["checkout", "-q", "other"],
            &["update-ref", "refs/heads/other", "HEAD~2"],
        ];
        for arguments in moves {
            settle(&opened);
            app.git(arguments);
            assert_eq!(head(&opened), git(&app.root(), &["rev-parse", "HEAD"]));
        }
    }

    #[test]
    fn a_head_is_remembered_through_a_branch_that_names_another() {
        let app = Sandbox::new();
        app.file("a", "1").committed();
        app.git(&["symbolic-ref", "refs/heads/alias", "refs/heads/main"]);
        app.git(&["symbolic-ref", "HEAD", "refs/heads/alias"]);
        let opened = opened(&app);
        settle(&opened);
        app.git(&["commit", "-qm", "two", "--allow-empty"]);
        assert_eq!(head(&opened), git(&app.root(), &["rev-parse", "HEAD"]));
    }

    #[test]
    fn a_head_outside_of_branches_is_read_each_time() {
        let app = Sandbox::new();
        app.file("a", "1").committed();
        app.git(&["update-ref", "refs/other/tip", "HEAD"]);
        app.git(&["symbolic-ref", "HEAD", "refs/other/tip"]);
        let opened = opened(&app);
        head(&opened);
        assert_eq!(super::files_of_head(&opened.objects()), None);
        assert!(!is_remembered(&opened));
    }
}
