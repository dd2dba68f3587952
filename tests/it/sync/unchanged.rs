//! Runs that find nothing new at an https host.

use std::{
    fs,
    path::PathBuf,
    time::{Duration, SystemTime},
};

use archway_sync::{
    credentials::HttpsCredential,
    git::{Git, RunBounds, Transport},
    helper::Helper,
    mirror::{MirrorSource, Mirrors, Synced},
    remote::{AllowedProtocols, RemoteUrl},
};
use e2e::{GitHost, Repo, git};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::limits;

/// A mirror of a host's repository.
struct HttpsMirror {
    host: GitHost,
    work: PathBuf,
    repos: TempDir,
    mirrors: Mirrors,
    project_id: Uuid,
}

impl HttpsMirror {
    async fn start() -> HttpsMirror {
        let host = GitHost::start("ada:sesame").await;
        let work = host.add("acme/site", Repo::new().file("a.txt", "one\n").commit());
        let repos = tempfile::tempdir().unwrap();
        let git = Git::new(&AllowedProtocols::default(), repos.path());
        let helper = Helper::at(env!("CARGO_BIN_EXE_git-helper").into());
        HttpsMirror {
            host,
            work,
            mirrors: Mirrors::new(repos.path().to_owned(), git.with_helper(helper)),
            repos,
            project_id: Uuid::new_v4(),
        }
    }

    /// One run. Returns what it brought, and whether git fetched.
    async fn sync(&self, reference: Option<&str>) -> (Synced, bool) {
        let before = self.host.requests().len();
        let url = self.host.url("acme/site");
        let credential = HttpsCredential {
            user: "ada".to_owned(),
            password: "sesame".to_owned().into(),
        };
        let certificate = self.host.certificate();
        let source = MirrorSource {
            tenant: "acme",
            project: "site",
            project_id: self.project_id,
            reference,
            transport: Transport {
                remote: &RemoteUrl::parse(&url, &AllowedProtocols::default()).unwrap(),
                https: Some(&credential),
                ssh: None,
                ca_file: Some(&certificate),
                https_proxy: None,
            },
        };
        let bounds = RunBounds {
            limits: limits(),
            cancel: &CancellationToken::new(),
            progress: &|_| {},
        };
        let synced = self.mirrors.sync(&source, &bounds).await.unwrap();
        let requests = self.host.requests();
        let own = requests.iter().skip(before);
        // git alone asks for what the host can do.
        let is_fetched = own.filter(|it| it.contains("/info/refs?")).count() > 0;
        (synced, is_fetched)
    }

    fn push(&self, arguments: &[&str]) -> String {
        git(&self.work, arguments);
        git(&self.work, &["rev-parse", "HEAD"])
    }
}

#[tokio::test]
async fn git_fetches_only_what_is_new_and_once_an_hour_at_least() {
    let mirror = HttpsMirror::start().await;
    let (first, is_fetched) = mirror.sync(None).await;
    assert!(first.changed && is_fetched);
    for _ in 0..2 {
        let (synced, is_fetched) = mirror.sync(None).await;
        assert!(!synced.changed && synced.bytes > 0 && !is_fetched);
        assert_eq!(synced.head, first.head);
    }
    let commit = ["commit", "-q", "--allow-empty", "-m", "two"];
    for arguments in [&commit[..], &["tag", "v1"], &["branch", "other"]] {
        let head = mirror.push(arguments);
        let (synced, is_fetched) = mirror.sync(None).await;
        assert!(synced.changed && is_fetched, "{arguments:?}");
        assert_eq!(synced.head, Some(head));
        assert!(!mirror.sync(None).await.1);
    }
    assert!(mirror.sync(Some("other")).await.1, "another ref is served");
    assert!(!mirror.sync(Some("other")).await.1);
    let last = mirror.repos.path().join("acme/site/archway-last-fetch");
    let long_ago = SystemTime::now() - Duration::from_secs(60 * 60);
    fs::File::open(&last)
        .unwrap()
        .set_modified(long_ago)
        .unwrap();
    assert!(mirror.sync(Some("other")).await.1, "an hour ago");
}

#[tokio::test]
async fn a_renamed_default_branch_is_noticed_without_a_new_commit() {
    let mirror = HttpsMirror::start().await;
    mirror.sync(None).await;
    assert!(!mirror.sync(None).await.1);
    mirror.push(&["branch", "-m", "main", "trunk"]);
    let (synced, is_fetched) = mirror.sync(None).await;
    assert!(synced.changed && is_fetched);
    let head = fs::read_to_string(mirror.repos.path().join("acme/site/HEAD")).unwrap();
    assert_eq!(head.trim(), "ref: refs/heads/trunk");
}

#[tokio::test]
async fn a_host_without_an_answer_to_the_question_is_left_to_git() {
    let mirror = HttpsMirror::start().await;
    // It answers git, but not who asks first.
    mirror.host.tamper(|asked, answer| {
        match asked.is_empty() || asked.windows(6).any(|it| it == b"agent=") {
            true => answer.to_vec(),
            false => b"0013ERR not now, sorry\n0000".to_vec(),
        }
    });
    for _ in 0..4 {
        assert!(mirror.sync(None).await.1);
    }
}
