//! An installation whose repositories come from a host, and what tests do with it.

use std::{
    net::{SocketAddr, TcpListener},
    path::PathBuf,
    time::Duration,
};

use archway::tenants::{MirrorRow, ProjectSettings, ProjectSource};
use archway_sync::{SyncConfig, SyncPorts, Syncer, helper::Helper, remote::RemoteUrl};
use clap::Parser;
use e2e::{Client, GitHost, Harness, Stack, Tenant, credentials};
use serde_json::json;
use tempfile::TempDir;
use tokio::{task::JoinHandle, time::Instant};
use tokio_util::sync::CancellationToken;

/// How long a run may take: one may be due 10 s after the last.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// An installation with a host, and a process of `archway sync`.
pub(crate) struct Mirrored {
    pub(crate) stack: Stack,
    pub(crate) host: GitHost,
    pub(crate) credentials: TempDir,
    pub(crate) sync: Option<RunningSync>,
    /// More options of sync, when it is started next.
    pub(crate) options: &'static [&'static str],
}

pub(crate) struct RunningSync {
    pub(crate) stop: CancellationToken,
    pub(crate) serving: JoinHandle<()>,
    pub(crate) admin: SocketAddr,
    pub(crate) hooks: SocketAddr,
}

// A test's own option replaces the one of all tests.
#[derive(Parser)]
#[command(args_override_self = true)]
pub(crate) struct Arguments {
    #[command(flatten)]
    config: SyncConfig,
}

impl Arguments {
    /// The configuration of these arguments. git's helper is a program, which this test is not.
    pub(crate) fn config_of<'a>(arguments: impl IntoIterator<Item = &'a str>) -> SyncConfig {
        let mut config = Arguments::parse_from(arguments).config;
        config.helper = Helper::at(env!("CARGO_BIN_EXE_git-helper").into());
        config
    }
}

impl Mirrored {
    pub(crate) async fn start() -> Mirrored {
        Mirrored::start_with(&[]).await
    }

    /// Starts it with more options of sync.
    pub(crate) async fn start_with(options: &'static [&'static str]) -> Mirrored {
        Mirrored::of(Harness::new(), options).await
    }

    /// Starts it with more of the installation, and more options of sync.
    pub(crate) async fn of(harness: Harness, options: &'static [&'static str]) -> Mirrored {
        let stack = harness.tenant(Tenant::new("acme")).start().await;
        let mut mirrored = Mirrored {
            stack,
            host: GitHost::start("ada:sesame").await,
            credentials: credentials(&[
                ("host", "ada:sesame\n"),
                ("wrong", "ada:wrong\n"),
                ("org.webhook", "hush\n"),
            ]),
            sync: None,
            options,
        };
        mirrored.start_sync();
        mirrored
    }

    pub(crate) fn start_sync(&mut self) {
        let folder = self.credentials.path().to_str().unwrap().to_owned();
        let arguments = ["sync", "--volume-percent", "100", "--credentials", &folder];
        let arguments = arguments.into_iter().chain(self.options.iter().copied());
        let config = Arguments::config_of(arguments);
        let bound = || TcpListener::bind("127.0.0.1:0").unwrap();
        let (admin_port, hooks_port) = (bound(), bound());
        let [admin, hooks] = [&admin_port, &hooks_port].map(|port| port.local_addr().unwrap());
        let ports = SyncPorts {
            admin: admin_port,
            hooks: Some(hooks_port),
        };
        let database = self.stack.database().owner().username("archway_sync");
        let repos = self.stack.repositories().to_owned();
        let syncer = Syncer::new(config, repos, database, "box");
        let stop = CancellationToken::new();
        let ending = stop.clone();
        let serving = tokio::spawn(async move { syncer.serve(ports, ending).await.unwrap() });
        self.sync = Some(RunningSync {
            stop,
            serving,
            admin,
            hooks,
        });
    }

    pub(crate) async fn stop_sync(&mut self) {
        let running = self.sync.take().unwrap();
        running.stop.cancel();
        running.serving.await.unwrap();
    }

    /// Adds the project `slug` of `acme`, mirrored from a repository of the host.
    pub(crate) async fn add(
        &self,
        slug: &str,
        url: &str,
        reference: Option<&str>,
        credential: Option<&str>,
    ) {
        let certificate = self.host.certificate();
        let source = ProjectSource {
            remote: RemoteUrl::parse(url, &Default::default()).unwrap(),
            reference: reference.map(str::to_owned),
            credential: credential.map(str::to_owned),
            ca_file: Some(certificate.to_str().unwrap().to_owned()),
            https_proxy: None,
        };
        let mut tx = self.stack.tenants().begin().await.unwrap();
        let tenant = tx.find_tenant("acme").await.unwrap();
        let project = tx
            .add_project(tenant, slug, &ProjectSettings::default())
            .await
            .unwrap();
        tx.set_source((tenant, project), &source).await.unwrap();
        tx.commit().await.unwrap();
    }

    pub(crate) async fn mirror(&self, slug: &str) -> Option<MirrorRow> {
        let mut tx = self.stack.tenants().begin().await.unwrap();
        let tenant = tx.find_tenant("acme").await.unwrap();
        let mirrors = tx.mirrors(tenant).await.unwrap().into_iter();
        mirrors.into_iter().find(|row| row.project == slug)
    }

    /// Waits until a run of the mirror has ended, in this state.
    pub(crate) async fn until(&self, slug: &str, state: &str) -> MirrorRow {
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
        let mut tx = self.stack.tenants().read().await.unwrap();
        let tenant = tx.find_tenant("acme").await.unwrap();
        let connections = tx.connections(tenant).await.unwrap();
        panic!("{slug} is not {state}: {last:?}; connections: {connections:?}");
    }

    pub(crate) async fn run(&self, slug: &str) {
        let mut tx = self.stack.tenants().begin().await.unwrap();
        let tenant = tx.find_tenant("acme").await.unwrap();
        tx.request_sync(tenant, Some(slug)).await.unwrap();
        tx.commit().await.unwrap();
    }

    pub(crate) fn place(&self, slug: &str) -> PathBuf {
        self.stack.folder("acme", slug)
    }
}

/// Matching lines in a project; `None` while it is not served.
pub(crate) async fn found(client: &Client, project: &str, pattern: &str) -> Option<u64> {
    let arguments = json!({ "project": project, "pattern": pattern });
    let reply = client.call("grep_codebase", arguments).await;
    reply.structured()["totalMatches"].as_u64()
}
