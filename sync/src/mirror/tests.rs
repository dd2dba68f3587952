//! Mirrors of real repositories, by git's own program.

mod damage;
mod host;
mod references;
mod upkeep;

use std::process::Command;

use tokio_util::sync::CancellationToken;

use super::*;
use crate::git::{Progress, RunLimits};
use crate::helper::test_helper;
use crate::remote::{AllowedProtocols, Protocol, RemoteUrl};
use crate::ssh::test_server::SshServer;
use crate::ssh::{PROGRAM_PATH, SshAgent, SshPrograms, known_hosts_option};

/// A remote repository and a folder of mirrors.
struct Sandbox {
    temp: tempfile::TempDir,
    mirrors: Mirrors,
    allowed: AllowedProtocols,
    limits: RunLimits,
    project_id: Uuid,
}

impl Sandbox {
    fn new() -> Sandbox {
        let temp = tempfile::tempdir().unwrap();
        let repos = temp.path().join("repos");
        fs::create_dir(&repos).unwrap();
        let more = vec![Protocol::File];
        let allowed = AllowedProtocols {
            more,
            loopback_http: false,
        };
        let git = Git::new(&allowed, &repos).with_helper(test_helper());
        let sandbox = Sandbox {
            mirrors: Mirrors::new(repos, git),
            temp,
            allowed,
            project_id: Uuid::new_v4(),
            limits: RunLimits {
                time: Duration::from_secs(60),
                silence: Duration::from_secs(60),
                bytes: 1 << 30,
            },
        };
        fs::create_dir(sandbox.remote()).unwrap();
        sandbox.git(&["init", "-q", "-b", "main"]);
        sandbox
    }

    fn remote(&self) -> PathBuf {
        self.temp.path().join("remote")
    }

    /// Runs git in the remote.
    fn git(&self, arguments: &[&str]) -> String {
        run(&self.remote(), arguments)
    }

    /// Commits a file to the remote's current branch.
    fn commit(&self, file: &str) -> String {
        fs::write(self.remote().join(file), file).unwrap();
        self.git(&["add", "-A"]);
        self.git(&["commit", "-qm", file]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Runs git in the mirror.
    fn mirror(&self, arguments: &[&str]) -> String {
        run(&self.mirrors.place("acme", "site"), arguments)
    }

    async fn sync(&self, reference: Option<&str>) -> Result<Synced, SyncFailure> {
        let url = format!("file://{}", self.remote().display());
        let remote = RemoteUrl::parse(&url, &self.allowed).unwrap();
        let transport = Transport {
            remote: &remote,
            https: None,
            ssh: None,
            ca_file: None,
            https_proxy: None,
        };
        self.sync_by(transport, reference).await
    }

    async fn sync_by(
        &self,
        transport: Transport<'_>,
        reference: Option<&str>,
    ) -> Result<Synced, SyncFailure> {
        let source = MirrorSource {
            tenant: "acme",
            project: "site",
            project_id: self.project_id,
            reference,
            transport,
        };
        let bounds = RunBounds {
            limits: self.limits,
            cancel: &CancellationToken::new(),
            progress: &|_: Progress| {},
        };
        self.mirrors.sync(&source, &bounds).await
    }

    /// The mirror's HEAD and its branches and tags.
    fn state(&self) -> (String, String) {
        let names = [
            "for-each-ref",
            "--format=%(refname)",
            "refs/heads",
            "refs/tags",
        ];
        let head = fs::read_to_string(self.mirrors.place("acme", "site").join("HEAD")).unwrap();
        (
            head.trim().to_owned(),
            self.mirror(&names).replace('\n', " "),
        )
    }
}

fn run(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args([
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b",
            "-c",
            "safe.directory=*",
        ])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[tokio::test]
async fn a_mirror_follows_its_remote() {
    let sandbox = Sandbox::new();
    let first = sandbox.commit("one");
    let synced = sandbox.sync(None).await.unwrap();
    assert_eq!((synced.head, synced.changed), (Some(first), true));
    assert!(!sandbox.sync(None).await.unwrap().changed, "nothing is new");
    let second = sandbox.commit("two");
    sandbox.git(&["tag", "v1"]);
    sandbox.git(&["branch", "topic"]);
    sandbox.git(&["update-ref", "refs/pull/1/head", "HEAD"]);
    let synced = sandbox.sync(None).await.unwrap();
    assert_eq!((synced.head, synced.changed), (Some(second), true));
    let (head, refs) = sandbox.state();
    assert_eq!(head, "ref: refs/heads/main");
    assert_eq!(refs, "refs/heads/main refs/heads/topic refs/tags/v1");
    assert_eq!(
        fs::read_dir(sandbox.mirrors.repos.join(BESIDE))
            .unwrap()
            .count(),
        0
    );
}

#[tokio::test]
async fn force_pushes_renames_and_removals_are_followed() {
    let sandbox = Sandbox::new();
    sandbox.commit("one");
    sandbox.git(&["branch", "a"]);
    sandbox.sync(None).await.unwrap();
    sandbox.git(&["commit", "-q", "--amend", "-m", "other"]);
    sandbox.git(&["branch", "-m", "main", "trunk"]);
    sandbox.git(&["branch", "-D", "a"]);
    sandbox.git(&["branch", "a/b"]);
    let synced = sandbox.sync(None).await.unwrap();
    assert_eq!(synced.head, Some(sandbox.git(&["rev-parse", "HEAD"])));
    let (head, refs) = sandbox.state();
    assert_eq!(
        (head.as_str(), refs.as_str()),
        ("ref: refs/heads/trunk", "refs/heads/a/b refs/heads/trunk")
    );
}

#[tokio::test]
async fn head_is_the_named_branch_tag_or_commit() {
    let sandbox = Sandbox::new();
    let first = sandbox.commit("one");
    sandbox.git(&["tag", "-am", "v1", "v1"]);
    sandbox.git(&["branch", "stable"]);
    let second = sandbox.commit("two");
    for (reference, commit, head) in [
        (Some("stable"), &first, "ref: refs/heads/stable"),
        (Some("v1"), &first, first.as_str()),
        (Some(second.as_str()), &second, second.as_str()),
        (None, &second, "ref: refs/heads/main"),
    ] {
        let synced = sandbox.sync(reference).await.unwrap();
        assert_eq!(synced.head.as_ref(), Some(commit));
        assert_eq!(sandbox.state().0, head);
    }
}

#[tokio::test]
async fn a_mirror_that_is_too_large_leaves_nothing_behind() {
    let mut sandbox = Sandbox::new();
    sandbox.commit("one");
    sandbox.limits.bytes = 1;
    let failure = sandbox.sync(None).await.unwrap_err();
    assert_eq!(failure.state, SyncState::TooLarge);
    assert!(!sandbox.mirrors.place("acme", "site").exists());
    assert_eq!(
        fs::read_dir(sandbox.mirrors.repos.join(BESIDE))
            .unwrap()
            .count(),
        0
    );
}

#[tokio::test]
async fn a_folder_that_is_no_mirror_of_ours_is_not_touched() {
    let sandbox = Sandbox::new();
    sandbox.commit("one");
    let place = sandbox.mirrors.place("acme", "site");
    fs::create_dir_all(&place).unwrap();
    run(&place, &["init", "-q", "--bare"]);
    let failure = sandbox.sync(None).await.unwrap_err();
    assert!(failure.message.contains("move it away"), "{failure}");
    assert_eq!(sandbox.state().1, "");
}

#[tokio::test]
async fn a_remote_that_is_gone_leaves_the_mirror() {
    let sandbox = Sandbox::new();
    let first = sandbox.commit("one");
    sandbox.sync(None).await.unwrap();
    fs::rename(sandbox.remote(), sandbox.temp.path().join("elsewhere")).unwrap();
    let failure = sandbox.sync(None).await.unwrap_err();
    assert_eq!(failure.state, SyncState::NotFound, "{failure}");
    assert_eq!(sandbox.mirror(&["rev-parse", "HEAD"]), first);
}

#[tokio::test]
async fn a_repository_is_mirrored_over_ssh() {
    let server = SshServer::start();
    let sandbox = Sandbox::new();
    let programs = SshPrograms::find(PROGRAM_PATH).unwrap();
    let programs = programs.with_helper(test_helper());
    let key = server.user_key().into();
    let agent = SshAgent::start(&programs, &key, sandbox.temp.path());
    let agent = agent.await.unwrap();
    let remote = RemoteUrl::parse(&server.url(), &sandbox.allowed).unwrap();
    for (known_hosts, expected) in [
        (server.other_known_hosts(), Err(SyncState::HostKeyChanged)),
        (server.known_hosts(), Ok(true)),
    ] {
        let option = known_hosts_option(&known_hosts).unwrap();
        let transport = Transport {
            remote: &remote,
            https: None,
            ssh: Some((&agent, &option)),
            ca_file: None,
            https_proxy: None,
        };
        let synced = sandbox.sync_by(transport, None).await;
        let outcome = synced.map(|synced| synced.head.is_some());
        assert_eq!(outcome.map_err(|failure| failure.state), expected);
    }
}
