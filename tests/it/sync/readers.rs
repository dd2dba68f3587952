//! Workers that read a mirror while it changes.

use std::{fs, path::Path, time::Duration};

use archway::tenants::ProjectSettings;
use archway_sync::{
    git::{Git, RunBounds, Transport},
    mirror::{MirrorSource, Mirrors},
    remote::{AllowedProtocols, Protocol, RemoteUrl},
};
use e2e::{Client, Harness, Repo, Tenant, git};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{found, limits};

#[tokio::test]
async fn no_read_fails_while_packs_are_combined_and_removed() {
    let stack = Harness::new().tenant(Tenant::new("acme")).start().await;
    let mut tx = stack.tenants().begin().await.unwrap();
    let tenant = tx.find_tenant("acme").await.unwrap();
    let project = tx
        .add_project(tenant, "site", &ProjectSettings::default())
        .await
        .unwrap();
    tx.commit().await.unwrap();
    let remote = tempfile::tempdir().unwrap();
    Repo::new()
        .file("a.txt", "needle\n")
        .commit()
        .build(remote.path());
    let mirrors = FileMirrors::of(stack.repositories(), remote.path(), project);
    mirrors.sync().await;
    let client = stack.client("acme");
    stack
        .eventually(async || found(&client, "site", "needle").await)
        .await;
    let done = CancellationToken::new();
    let reading = tokio::spawn(read_until(client.clone(), done.clone()));
    for number in 0..60 {
        let name = format!("f{number}.txt");
        fs::write(remote.path().join(&name), format!("needle {number}\n")).unwrap();
        git(remote.path(), &["add", "-A"]);
        git(remote.path(), &["commit", "-qm", &name]);
        mirrors.sync().await;
    }
    done.cancel();
    let reads = reading.await.unwrap();
    assert!(reads > 100, "{reads} reads");
    assert_eq!(found(&client, "site", "needle").await, Some(61));
}

/// Calls tools that read all kinds of objects. Returns how often.
async fn read_until(client: Client, done: CancellationToken) -> usize {
    let mut reads = 0;
    while !done.is_cancelled() {
        for (tool, arguments) in [
            ("read_file", json!({ "path": "a.txt", "project": "site" })),
            ("git_log", json!({ "project": "site", "max_count": 100 })),
            (
                "grep_codebase",
                json!({ "pattern": "needle", "project": "site" }),
            ),
            ("get_repo_overview", json!({ "project": "site" })),
            (
                "git_blame",
                json!({ "file_path": "a.txt", "project": "site" }),
            ),
        ] {
            let reply = client.call(tool, arguments).await;
            if reply.is_error() {
                assert_eq!(reply.code(), "rate_limited", "{tool}: {}", reply.text());
                continue;
            }
            reads += 1;
        }
    }
    reads
}

/// How long packs stay after they were combined: longer than a read takes, shorter than the test.
const GRACE: Duration = Duration::from_secs(3);

/// Mirrors of a folder.
struct FileMirrors {
    mirrors: Mirrors,
    remote: RemoteUrl,
    project_id: Uuid,
}

impl FileMirrors {
    fn of(repos: &Path, remote: &Path, project_id: Uuid) -> FileMirrors {
        let allowed = AllowedProtocols {
            more: vec![Protocol::File],
            loopback_http: false,
        };
        let url = format!("file://{}", remote.display());
        let mirrors = Mirrors::new(repos.to_owned(), Git::new(&allowed, repos));
        FileMirrors {
            mirrors: mirrors.with_grace(GRACE),
            remote: RemoteUrl::parse(&url, &allowed).unwrap(),
            project_id,
        }
    }

    async fn sync(&self) {
        let source = MirrorSource {
            tenant: "acme",
            project: "site",
            project_id: self.project_id,
            reference: None,
            transport: Transport {
                remote: &self.remote,
                https: None,
                ssh: None,
                ca_file: None,
                https_proxy: None,
            },
        };
        let bounds = RunBounds {
            limits: limits(),
            cancel: &CancellationToken::new(),
            progress: &|_| {},
        };
        self.mirrors.sync(&source, &bounds).await.unwrap();
    }
}
