//! The commit that HEAD names, remembered while the files that name it are unchanged.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::time::SystemTime;

use gix::ObjectId;
use gix::refs::TargetRef;

use super::git_error;
use crate::error::RepoError;
use crate::seen_file::SeenFile;

/// Only branches are remembered: all work trees of a repository share them.
const BRANCHES: &[u8] = b"refs/heads/";

/// The commit of HEAD, and the state of the files that it was read from.
#[derive(Clone, Debug)]
pub(super) struct KnownHead {
    pub(super) commit: Option<ObjectId>,
    files: Vec<SeenFile>,
}

impl KnownHead {
    /// The commit, read by `read` after a look at the files that name it: the next check notices a
    /// change during the read.
    pub(super) fn read(
        repository: &gix::Repository,
        read: impl FnOnce(&gix::Repository) -> Result<Option<ObjectId>, RepoError>,
    ) -> Result<KnownHead, RepoError> {
        let observed_at = SystemTime::now();
        let observe = |path: PathBuf| SeenFile::at(path, observed_at);
        let head = observe(repository.git_dir().join("HEAD"));
        let name = repository.head_name().map_err(git_error("reading HEAD"))?;
        let files = match &name {
            None => vec![head],
            Some(name) if name.as_bstr().starts_with(BRANCHES) => {
                let common = repository.common_dir();
                let branch = observe(common.join(OsStr::from_bytes(name.as_bstr())));
                vec![head, branch, observe(common.join("packed-refs"))]
            }
            Some(_other) => Vec::new(),
        };
        let branch = name.and_then(|name| repository.try_find_reference(&name).ok().flatten());
        // A branch that names another reference depends on more files.
        let is_direct = branch.is_none_or(|branch| matches!(branch.target(), TargetRef::Object(_)));
        Ok(KnownHead {
            commit: read(repository)?,
            files: if is_direct { files } else { Vec::new() },
        })
    }

    /// Whether all its files are known and unchanged.
    pub(super) fn still_holds(&self) -> bool {
        !self.files.is_empty() && self.files.iter().all(SeenFile::is_unchanged)
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
    fn a_branch_that_names_another_is_read_each_time() {
        let app = Sandbox::new();
        app.file("a", "1").committed();
        app.git(&["symbolic-ref", "refs/heads/alias", "refs/heads/main"]);
        app.git(&["symbolic-ref", "HEAD", "refs/heads/alias"]);
        let opened = opened(&app);
        head(&opened);
        assert!(opened.head.lock().as_ref().unwrap().files.is_empty());
        app.git(&["commit", "-qm", "two", "--allow-empty"]);
        assert_eq!(head(&opened), git(&app.root(), &["rev-parse", "HEAD"]));
    }
}
