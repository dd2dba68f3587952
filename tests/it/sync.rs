//! Repositories by URL: `archway sync` mirrors them, and workers serve the mirrors.

mod readers;

use std::{fs, path::PathBuf, time::Duration};

use archway::tenants::{MirrorRow, NewSource, ProjectSettings};
use archway_sync::{SyncConfig, Syncer, helper::Helper, remote::RemoteUrl};
use clap::Parser;
use e2e::{Client, GitHost, Harness, Repo, Stack, Tenant, credentials, git, http::Request};
use serde_json::json;
use tempfile::TempDir;
use tokio::{task::JoinHandle, time::Instant};
use tokio_util::sync::CancellationToken;

/// How long a run may take: one may be due 10 s after the last.
const PATIENCE: Duration = Duration::from_secs(30);

/// An installation with a host, and a process of `archway sync`.
struct Mirrored {
    stack: Stack,
    host: GitHost,
    credentials: TempDir,
    sync: Option<RunningSync>,
}

struct RunningSync {
    stop: CancellationToken,
    serving: JoinHandle<()>,
    admin: std::net::SocketAddr,
}

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    config: SyncConfig,
}

impl Mirrored {
    async fn start() -> Mirrored {
        let stack = Harness::new().tenant(Tenant::new("acme")).start().await;
        let mut mirrored = Mirrored {
            stack,
            host: GitHost::start("ada:sesame").await,
            credentials: credentials(&[("host", "ada:sesame\n"), ("wrong", "ada:wrong\n")]),
            sync: None,
        };
        mirrored.start_sync();
        mirrored
    }

    fn start_sync(&mut self) {
        let folder = self.credentials.path().to_str().unwrap().to_owned();
        let arguments =
            Arguments::parse_from(["sync", "--volume-percent", "100", "--credentials", &folder]);
        let mut config = arguments.config;
        config.helper = Helper::at(env!("CARGO_BIN_EXE_git-helper").into());
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let admin = listener.local_addr().unwrap();
        let database = self.stack.database().owner().username("archway_sync");
        let repos = self.stack.repositories().to_owned();
        let syncer = Syncer::new(config, repos, database, "box");
        let stop = CancellationToken::new();
        let ending = stop.clone();
        let serving = tokio::spawn(async move { syncer.serve(listener, ending).await.unwrap() });
        self.sync = Some(RunningSync {
            stop,
            serving,
            admin,
        });
    }

    async fn stop_sync(&mut self) {
        let running = self.sync.take().unwrap();
        running.stop.cancel();
        running.serving.await.unwrap();
    }

    /// Adds the project `slug` of `acme`, mirrored from a repository of the host.
    async fn add(&self, slug: &str, url: &str, reference: Option<&str>, credential: Option<&str>) {
        let remote = RemoteUrl::parse(url, &Default::default()).unwrap();
        let certificate = self.host.certificate();
        let source = NewSource {
            remote: &remote,
            reference,
            credential,
            ca_file: Some(certificate.to_str().unwrap()),
            https_proxy: None,
        };
        let mut tx = self.stack.tenants().begin().await.unwrap();
        let tenant = tx.find_tenant("acme").await.unwrap();
        let project = tx
            .add_project(tenant, slug, &ProjectSettings::default())
            .await
            .unwrap();
        tx.add_source((tenant, project), &source).await.unwrap();
        tx.commit().await.unwrap();
    }

    async fn mirror(&self, slug: &str) -> Option<MirrorRow> {
        let mut tx = self.stack.tenants().begin().await.unwrap();
        let tenant = tx.find_tenant("acme").await.unwrap();
        let mirrors = tx.mirrors(tenant).await.unwrap().into_iter();
        mirrors.into_iter().find(|row| row.project == slug)
    }

    /// Waits until a run of the mirror has ended, in this state.
    async fn until(&self, slug: &str, state: &str) -> MirrorRow {
        let has_ended = |row: &MirrorRow| row.tried_at.is_some() && !row.is_running;
        let is_it = |row: &MirrorRow| row.state == state && has_ended(row);
        let mut last = None;
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            last = self.mirror(slug).await;
            if let Some(row) = last.clone().filter(is_it) {
                return row;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("{slug} is not {state}: {last:?}");
    }

    async fn run(&self, slug: &str) {
        let mut tx = self.stack.tenants().begin().await.unwrap();
        let tenant = tx.find_tenant("acme").await.unwrap();
        tx.request_sync(tenant, Some(slug)).await.unwrap();
        tx.commit().await.unwrap();
    }

    fn place(&self, slug: &str) -> PathBuf {
        self.stack.folder("acme", slug)
    }
}

/// Matching lines in a project; `None` while it is not served.
async fn found(client: &Client, project: &str, pattern: &str) -> Option<u64> {
    let arguments = json!({ "project": project, "pattern": pattern });
    let reply = client.call("grep_codebase", arguments).await;
    reply.structured()["totalMatches"].as_u64()
}

#[tokio::test]
async fn a_repository_behind_a_credential_is_mirrored_served_and_followed() {
    let mirrored = Mirrored::start().await;
    let work = mirrored
        .host
        .add("acme/site", Repo::new().file("a.txt", "needle\n").commit());
    mirrored
        .add("site", &mirrored.host.url("acme/site"), None, Some("host"))
        .await;
    let row = mirrored.until("site", "ok").await;
    assert_eq!(row.head, Some(git(&work, &["rev-parse", "HEAD"])));
    let client = mirrored.stack.client("acme");
    let served = mirrored
        .stack
        .eventually(async || found(&client, "site", "needle").await)
        .await;
    assert_eq!(served, 1);
    // Workers read the state of mirrors every 5 s.
    let synced_at = async || {
        let read = json!({ "project": "site", "path": "a.txt" });
        let read = client.call("read_file", read).await;
        read.meta("commit")["synced_at"].is_string().then_some(())
    };
    mirrored.stack.eventually(synced_at).await;
    fs::write(work.join("b.txt"), "needle\n").unwrap();
    git(&work, &["add", "-A"]);
    git(&work, &["commit", "-qm", "two"]);
    // The first run began less than 10 s ago, so the request waits for that time.
    mirrored.run("site").await;
    let both = async || {
        found(&client, "site", "needle")
            .await
            .filter(|found| *found == 2)
    };
    mirrored.stack.eventually(both).await;
    let requests = mirrored.host.requests().join("\n");
    assert!(!requests.contains("sesame@"), "no URL has the password");
}

#[tokio::test]
async fn a_refused_credential_is_named_without_its_secret() {
    let mirrored = Mirrored::start().await;
    mirrored
        .host
        .add("acme/site", Repo::new().file("a.txt", "needle\n").commit());
    let url = mirrored.host.url("acme/site");
    for (slug, credential, state) in [
        ("wrong", Some("wrong"), "credential_refused"),
        ("absent", Some("absent"), "credential_missing"),
        ("none", None, "credential_refused"),
    ] {
        mirrored.add(slug, &url, None, credential).await;
        let row = mirrored.until(slug, state).await;
        let message = row.message.unwrap();
        assert!(
            !message.contains("ada") && !message.contains("/tmp"),
            "{slug}: {message}"
        );
        assert!(!mirrored.place(slug).exists());
        let client = mirrored.stack.client("acme");
        let pattern = json!({ "project": slug, "pattern": "needle" });
        let is_known = async || {
            let reply = client.call("grep_codebase", pattern.clone()).await;
            let details = &reply.error()["details"];
            (details["state"] == state && reply.code() == "unavailable").then(|| details.clone())
        };
        let details = mirrored.stack.eventually(is_known).await;
        assert!(details["since"].is_string() && details["retry_after_seconds"].is_number());
    }
    mirrored
        .add(
            "nowhere",
            &mirrored.host.url("acme/nowhere"),
            None,
            Some("host"),
        )
        .await;
    mirrored.until("nowhere", "not_found").await;
}

#[tokio::test]
async fn a_redirect_is_followed_nowhere() {
    let mirrored = Mirrored::start().await;
    mirrored
        .host
        .add("acme/site", Repo::new().file("a.txt", "needle\n").commit());
    let other = GitHost::start("ada:sesame").await;
    other.add("acme/site", Repo::new().file("a.txt", "other\n").commit());
    let location = format!(
        "{}/info/refs?service=git-upload-pack",
        other.url("acme/site")
    );
    mirrored
        .host
        .answer_instead(Some((http::StatusCode::FOUND, &location)));
    mirrored
        .add("site", &mirrored.host.url("acme/site"), None, Some("host"))
        .await;
    mirrored.until("site", "failed").await;
    assert_eq!(other.requests(), Vec::<String>::new());
    assert!(!mirrored.place("site").exists());
}

#[tokio::test]
async fn a_remote_that_is_away_changes_nothing_that_is_served() {
    let mut mirrored = Mirrored::start().await;
    mirrored
        .host
        .add("acme/site", Repo::new().file("a.txt", "needle\n").commit());
    mirrored
        .add("site", &mirrored.host.url("acme/site"), None, Some("host"))
        .await;
    mirrored.until("site", "ok").await;
    let unavailable = http::StatusCode::SERVICE_UNAVAILABLE;
    mirrored.host.answer_instead(Some((unavailable, "")));
    mirrored.stop_sync().await;
    mirrored.run("site").await;
    mirrored.start_sync();
    let row = mirrored.until("site", "backing_off").await;
    assert_eq!(row.attempts, 1);
    let client = mirrored.stack.client("acme");
    assert_eq!(found(&client, "site", "needle").await, Some(1));
    mirrored.host.answer_instead(None);
    mirrored.run("site").await;
    mirrored.until("site", "ok").await;
}

#[tokio::test]
async fn two_processes_share_the_mirrors_of_a_volume() {
    let mut mirrored = Mirrored::start().await;
    let first = mirrored.sync.take().unwrap();
    mirrored.start_sync();
    let slugs: Vec<String> = (0..6).map(|number| format!("p{number}")).collect();
    for slug in &slugs {
        mirrored
            .host
            .add(slug, Repo::new().file("a.txt", slug).commit());
        mirrored
            .add(slug, &mirrored.host.url(slug), None, Some("host"))
            .await;
    }
    for slug in &slugs {
        mirrored.until(slug, "ok").await;
    }
    let clones = mirrored.host.requests();
    let clones = clones.iter().filter(|request| request.starts_with("GET"));
    // One without the credential and one with it, for each: nothing was cloned twice.
    assert_eq!(clones.count(), 2 * slugs.len());
    let ready = Request::new("GET", "/readyz").send(first.admin).await;
    assert_eq!(ready.status, 200);
    let metrics = Request::new("GET", "/metrics")
        .send(first.admin)
        .await
        .text();
    assert!(
        metrics.contains("archway_sync_runs_total{state=\"ok\"}"),
        "{metrics}"
    );
    first.stop.cancel();
    tokio::time::timeout(Duration::from_secs(20), first.serving)
        .await
        .unwrap()
        .unwrap();
}
