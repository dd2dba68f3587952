//! Shared by tests: a project in a temporary folder.
#![expect(clippy::unwrap_used, reason = "for the tests of other crates")]

use std::num::NonZeroUsize;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use tokio::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

#[cfg(test)]
use super::Listing;
use super::metrics::RepoMetrics;
use super::{CacheBytes, Cancel, Mounts, Repo, RepoPath, Repos, Rules, SearchIndexConfig};

/// The project `acme/app` and the worker's view of it.
pub struct Sandbox {
    temp: tempfile::TempDir,
    /// The repositories as a worker opens them.
    pub repos: Repos,
}

/// The repositories at `mounts`, with two threads.
pub fn repos_at(mounts: Mounts) -> Repos {
    let threads = NonZeroUsize::new(2).unwrap();
    Repos::new(
        mounts,
        threads,
        CacheBytes::default(),
        SearchIndexConfig::default(),
        RepoMetrics::default(),
    )
    .unwrap()
}

impl Sandbox {
    /// An empty project.
    #[expect(clippy::new_without_default, reason = "it makes a folder")]
    pub fn new() -> Sandbox {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(temp.path().join("acme/app")).unwrap();
        let mounts = Mounts::beneath(temp.path().to_owned());
        let repos = repos_at(mounts);
        Sandbox { temp, repos }
    }

    /// A host path; `acme/app` is the project.
    pub fn host(&self, path: &str) -> PathBuf {
        self.temp.path().join(path)
    }

    /// The project's folder.
    pub fn root(&self) -> PathBuf {
        self.host("acme/app")
    }

    /// Writes a file of the project.
    pub fn file(&self, path: &str, content: impl AsRef<[u8]>) -> &Sandbox {
        let path = self.root().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        self
    }

    /// Makes a symbolic link in the project.
    pub fn link(&self, path: &str, target: &str) -> &Sandbox {
        let path = self.root().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
        self
    }

    /// Runs git in the project.
    pub fn git(&self, arguments: &[&str]) -> &Sandbox {
        git(&self.root(), arguments);
        self
    }

    /// Makes the project a repository and commits everything.
    pub fn committed(&self) -> &Sandbox {
        self.git(&["init", "-q", "-b", "main"])
            .git(&["add", "-A"])
            .git(&["commit", "-qm", "one"])
    }

    /// Imports a `git fast-import` stream.
    pub fn import(&self, stream: &str) -> &Sandbox {
        self.feed(&["fast-import", "--quiet"], stream)
    }

    /// Runs a git command with `input` on stdin.
    pub fn feed(&self, arguments: &[&str], input: &str) -> &Sandbox {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), input).unwrap();
        let done = Command::new("git")
            .current_dir(self.root())
            .args(arguments)
            .stdin(file.reopen().unwrap())
            .status();
        assert!(done.unwrap().success());
        self
    }

    /// Stores an object of this content under another object's id: gix does not verify it.
    pub fn forge(&self, id: &str, kind: &str, content: &str) -> &Sandbox {
        self.file("../forged", content);
        let write = ["hash-object", "-t", kind, "-w", "--literally", "../forged"];
        let own = git(&self.root(), &write);
        let place = |id: &str| {
            let (folder, name) = id.split_at(2);
            self.root().join(".git/objects").join(folder).join(name)
        };
        std::fs::create_dir_all(place(id).parent().unwrap()).unwrap();
        std::fs::rename(place(&own), place(id)).unwrap();
        self
    }

    /// A tag of itself.
    pub fn forge_own_tag(&self) -> String {
        let id = "2".repeat(40);
        let tagger = "A <a@b.c> 1 +0000";
        let text = format!("object {id}\ntype tag\ntag own\ntagger {tagger}\n\nm\n");
        self.forge(&id, "tag", &text);
        id
    }

    /// Writes a tree of eight objects that spells out a hundred million paths of two kilobytes.
    pub fn bomb(&self) -> String {
        let blob = git(&self.root(), &["hash-object", "-w", "--stdin"]);
        let mut entry = format!("100644 blob {blob}");
        for _ in 0..8 {
            let name = |at: u32| format!("{entry}\t{}{at}\n", "n".repeat(240));
            let list = self.host("entries");
            std::fs::write(&list, (0..10).map(name).collect::<String>()).unwrap();
            let made = Command::new("git")
                .arg("mktree")
                .current_dir(self.root())
                .stdin(std::fs::File::open(list).unwrap())
                .output();
            let tree = String::from_utf8(made.unwrap().stdout).unwrap();
            entry = format!("040000 tree {}", tree.trim_end());
        }
        entry.rsplit(' ').next().unwrap_or_default().to_owned()
    }

    /// The project under the built-in path rules.
    pub fn repo(&self) -> Repo {
        self.repo_with(Rules::new(&[], &[], None).unwrap())
    }

    /// The project under these path rules.
    pub fn repo_with(&self, rules: Rules) -> Repo {
        self.repos
            .open("acme", ("app", Uuid::nil()), Arc::new(rules))
            .unwrap()
    }

    #[cfg(test)]
    pub(crate) fn listed(&self) -> Vec<String> {
        shown(&self.repo().listing(&cancel()).unwrap())
    }
}

/// Runs git with only the configuration that it needs.
pub fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .env("GIT_COMMITTER_DATE", "2026-01-02T03:04:05Z")
        .args([
            "-c",
            "user.name=A",
            "-c",
            "user.email=a@b.c",
            "-c",
            "protocol.file.allow=always",
        ])
        .args(arguments)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout)
        .unwrap()
        .trim_end()
        .to_owned()
}

/// A call that is never cancelled, with 60 s of time.
pub fn cancel() -> Cancel {
    Cancel::new(
        Instant::now() + Duration::from_secs(60),
        CancellationToken::new(),
    )
}

/// A path of the project.
pub fn path(text: &str) -> RepoPath {
    RepoPath::parse(text).unwrap()
}

#[cfg(test)]
pub(crate) fn shown(listing: &Listing) -> Vec<String> {
    listing
        .entries
        .iter()
        .map(|entry| entry.path.display())
        .collect()
}
