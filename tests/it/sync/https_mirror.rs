//! A mirror of an https host's repository, synced in this process.

use std::path::PathBuf;

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

/// A mirror of `acme/site`, a repository of one file.
pub(super) struct HttpsMirror {
    pub(super) host: GitHost,
    work: PathBuf,
    pub(super) repos: TempDir,
    mirrors: Mirrors,
    project_id: Uuid,
    /// How the repository is reached.
    pub(super) url: String,
    pub(super) proxy: Option<String>,
}

impl HttpsMirror {
    pub(super) async fn start() -> HttpsMirror {
        let host = GitHost::start("ada:sesame").await;
        let work = host.add("acme/site", Repo::new().file("a.txt", "one\n").commit());
        let repos = tempfile::tempdir().unwrap();
        let git = Git::new(&AllowedProtocols::default(), repos.path());
        let helper = Helper::at(env!("CARGO_BIN_EXE_git-helper").into());
        HttpsMirror {
            url: host.url("acme/site"),
            host,
            work,
            mirrors: Mirrors::new(repos.path().to_owned(), git.with_helper(helper)),
            repos,
            project_id: Uuid::new_v4(),
            proxy: None,
        }
    }

    /// One run. Returns what it brought, and whether git fetched.
    pub(super) async fn sync(&self, reference: Option<&str>) -> (Synced, bool) {
        let before = self.host.requests().len();
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
                remote: &RemoteUrl::parse(&self.url, &AllowedProtocols::default()).unwrap(),
                https: Some(&credential),
                ssh: None,
                ca_file: Some(&certificate),
                https_proxy: self.proxy.as_deref(),
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

    /// Changes the host's repository by a git command. Returns its head.
    pub(super) fn push(&self, arguments: &[&str]) -> String {
        git(&self.work, arguments);
        git(&self.work, &["rev-parse", "HEAD"])
    }
}
