//! Projects among many: nobody looks at them often, and what changes them is noticed at once.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use e2e::{Harness, Repo, Stack, Tenant, git};
use serde_json::json;
use sqlx::PgPool;
use tokio::time::timeout;

/// With so many folders, quiet projects are looked at every 30 s or later.
const FOLDERS: usize = 3_200;
/// Before a look of its own could find anything.
const AT_ONCE: Duration = Duration::from_secs(20);

/// A project among many, which was indexed and which no call has used.
struct Quiet {
    stack: Stack,
    owner: PgPool,
    folder: PathBuf,
}

fn repo() -> Repo {
    Repo::new()
        .file("gate.rs", "pub fn open_gate() {}\n")
        .commit()
}

impl Quiet {
    async fn project() -> Quiet {
        let tenant = Tenant::new("acme").project("site", repo());
        let stack = Harness::new().tenant(tenant).indexing().start().await;
        let owner = PgPool::connect_with(stack.database().owner())
            .await
            .unwrap();
        // The worker reads all folders at once, so it knows of the others when it finds the last.
        let tenant = stack.repositories().join("acme");
        for number in 0..FOLDERS {
            fs::create_dir(tenant.join(format!("empty-{number}"))).unwrap();
        }
        let folder = tenant.join("quiet");
        repo().build(&folder);
        let quiet = Quiet {
            stack,
            owner,
            folder,
        };
        quiet
            .run("insert into projects (tenant_id, slug) select id, 'quiet' from tenants")
            .await;
        quiet.becomes_indexed().await;
        quiet
    }

    async fn run(&self, statement: &'static str) {
        sqlx::query(statement).execute(&self.owner).await.unwrap();
    }

    /// Adds a file and commits it.
    fn commit(&self) {
        fs::write(self.folder.join("bell.rs"), "pub fn ring_bell() {}\n").unwrap();
        git(&self.folder, &["add", "-A"]);
        git(&self.folder, &["commit", "-qm", "bell"]);
    }

    async fn becomes_indexed(&self) {
        let head = git(&self.folder, &["rev-parse", "HEAD"]);
        let commit = "select commit_id from indexes i join projects p on p.id = i.project_id \
             where p.slug = 'quiet' and edition > 0";
        let is_of_head = async || {
            let indexed: Option<Option<String>> = sqlx::query_scalar(commit)
                .fetch_optional(&self.owner)
                .await
                .unwrap();
            (indexed.flatten() == Some(head.clone())).then_some(())
        };
        self.stack.eventually(is_of_head).await;
    }

    async fn becomes_indexed_at_once(&self) {
        let indexed = timeout(AT_ONCE, self.becomes_indexed()).await;
        assert!(indexed.is_ok(), "only a look of its own would find it");
    }
}

#[tokio::test]
async fn a_notification_has_a_quiet_project_indexed_at_once() {
    let quiet = Quiet::project().await;
    quiet.commit();
    quiet
        .run(
            "select pg_notify('archway_projects', tenant_id || '/' || id) \
             from projects where slug = 'quiet'",
        )
        .await;
    quiet.becomes_indexed_at_once().await;
}

#[tokio::test]
async fn a_call_that_sees_a_new_head_has_it_indexed_at_once() {
    let quiet = Quiet::project().await;
    quiet.commit();
    let client = quiet.stack.client("acme");
    let read = json!({ "project": "quiet", "path": "gate.rs" });
    client.call("read_file", read).await.structured();
    quiet.becomes_indexed_at_once().await;
}

#[tokio::test]
async fn a_requested_run_begins_at_once() {
    let quiet = Quiet::project().await;
    quiet.commit();
    quiet
        .run("select ask_for_index(tenant_id, id) from projects where slug = 'quiet'")
        .await;
    quiet.becomes_indexed_at_once().await;
}

#[tokio::test]
async fn a_used_project_is_looked_at_by_every_scan() {
    let quiet = Quiet::project().await;
    let client = quiet.stack.client("acme");
    let read = json!({ "project": "quiet", "path": "gate.rs" });
    client.call("read_file", read).await.structured();
    quiet.commit();
    quiet.becomes_indexed_at_once().await;
}
