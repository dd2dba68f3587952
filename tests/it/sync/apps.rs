//! GitHub Apps: a connection whose App signs for its own tokens, for listings and for git.

use std::{fs, io, os::unix::fs::PermissionsExt as _, sync::Arc, time::Duration};

use e2e::{GitHost, GivenToken, git};
use parking_lot::Mutex;
use serde_json::json;
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};
use tracing::{
    Dispatch,
    level_filters::LevelFilter,
    subscriber::{DefaultGuard, NoSubscriber},
};

use super::{Mirrored, connections::add, found};

/// As long as GitHub's.
const HOUR: Duration = Duration::from_secs(60 * 60);
/// A token that ends within five minutes is replaced before it is used again.
const FOUR_MINUTES: Duration = Duration::from_secs(4 * 60);

/// What this thread logs, at every level.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.0.lock().write(text)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Log {
    /// The log begins. All that this test runs is of its thread.
    fn begin() -> (Log, (Dispatch, DefaultGuard)) {
        // While there is one subscriber alone, what a thread without it logs first is never logged by another.
        let second = Dispatch::new(NoSubscriber::new());
        let log = Log::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(LevelFilter::TRACE)
            .with_writer(move || writer.clone())
            .finish();
        (log, (second, tracing::subscriber::set_default(subscriber)))
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock()).into_owned()
    }
}

impl Mirrored {
    /// A host with the repository `acme/site`, which the App of its connection mirrors. Returns the App's
    /// private key.
    async fn by_app(&self) -> String {
        let pem = self.host.install_app();
        self.put_key(&pem);
        self.host.list(vec![add(self, 1, "acme/site")]);
        let credential = GitHost::app_credential();
        self.connect(json!({ "credential": credential })).await;
        pem
    }

    fn put_key(&self, pem: &str) {
        let file = self.credentials.path().join("org.app.pem");
        fs::write(&file, pem).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    }

    /// Pushes another line with `needle`, and has the mirror fetched, which no listing does.
    async fn push_and_fetch(&self) {
        let work = self.host.folder("acme/site");
        fs::write(work.join("b.txt"), "needle\n").unwrap();
        git(&work, &["add", "-A"]);
        git(&work, &["commit", "-qm", "two"]);
        self.execute("update listings set next_at = now() + interval '1 hour'")
            .await;
        self.execute("update mirrors set is_requested = true, next_at = now()")
            .await;
    }

    async fn until_found(&self, lines: u64) {
        let client = self.stack.client("acme");
        let are_found = async || {
            let found = found(&client, "site", "needle").await;
            (found == Some(lines)).then_some(())
        };
        self.stack.eventually(are_found).await;
    }

    /// Every row of every table, as text.
    async fn rows(&self) -> String {
        let owner = self.stack.database().owner();
        let mut owner = PgConnection::connect_with(&owner).await.unwrap();
        let tables = "select table_name::text from information_schema.tables \
                      where table_schema = 'public' and table_type = 'BASE TABLE'";
        let tables = sqlx::query(tables).fetch_all(&mut owner).await.unwrap();
        let mut text = String::new();
        for table in tables {
            let table: String = table.get(0);
            let sql = format!("select string_agg(it::text, ' ') from \"{table}\" it");
            let row = sqlx::query(AssertSqlSafe(sql)).fetch_one(&mut owner).await;
            text += &row.unwrap().get::<Option<String>, _>(0).unwrap_or_default();
        }
        text
    }
}

fn uses(tokens: &[GivenToken]) -> Vec<bool> {
    tokens.iter().map(|given| given.uses > 0).collect()
}

#[tokio::test]
async fn an_app_lists_and_mirrors_by_one_token_and_its_secrets_stay_so() {
    let (log, _logging) = Log::begin();
    let mirrored = Mirrored::start().await;
    let pem = mirrored.by_app().await;
    mirrored.until("site", "ok").await;
    mirrored.until_found(1).await;
    // The listing's pages, and what git asked for.
    let tokens = mirrored.host.tokens();
    assert_eq!(tokens.len(), 1, "{tokens:?}");
    assert!(tokens[0].uses >= 3, "{tokens:?}");

    let (log, rows, processes) = (
        log.text(),
        mirrored.rows().await,
        mirrored.host.seen_processes(),
    );
    assert!(log.contains("a repository was cloned") && log.contains("TRACE"));
    assert!(rows.contains("acme/site"));
    assert!(processes.contains("git-remote-https"), "{processes}");
    let lines = pem.lines().filter(|line| line.len() == 64);
    let secrets: Vec<&str> = lines.chain([tokens[0].token.as_str()]).collect();
    assert!(secrets.len() > 20);
    for (place, text) in [("log", log), ("database", rows), ("process", processes)] {
        let told = secrets.iter().find(|secret| text.contains(**secret));
        assert_eq!(told, None, "in the {place}");
    }
}

#[tokio::test]
async fn a_token_that_is_revoked_or_about_to_end_is_replaced() {
    let mirrored = Mirrored::start().await;
    mirrored.by_app().await;
    mirrored.until("site", "ok").await;
    mirrored.until_found(1).await;

    // git finds it revoked.
    mirrored.host.revoke_tokens(HOUR);
    mirrored.push_and_fetch().await;
    mirrored.until_found(2).await;
    let row = mirrored.until("site", "ok").await;
    assert_eq!((row.attempts, row.message), (0, None));
    assert_eq!(uses(&mirrored.host.tokens()), [true, true]);

    // A listing finds it revoked.
    mirrored.host.revoke_tokens(FOUR_MINUTES);
    let row = mirrored.list_now(false).await;
    assert_eq!((row.served, row.message), (1, None));
    assert_eq!(uses(&mirrored.host.tokens()), [true; 3]);

    // The third one has less than five minutes left.
    let row = mirrored.list_now(false).await;
    assert_eq!((row.served, row.message), (1, None));
    assert_eq!(uses(&mirrored.host.tokens()), [true; 4]);
}

#[tokio::test]
async fn a_key_of_another_app_is_refused_until_it_is_replaced() {
    let mirrored = Mirrored::start().await;
    let pem = mirrored.by_app().await;
    mirrored.until("site", "ok").await;
    let other = GitHost::start("ada:sesame").await.install_app();
    mirrored.put_key(&other);
    mirrored.host.revoke_tokens(HOUR);
    let row = mirrored.list_now(false).await;
    let message = row.message.unwrap();
    assert!(message.contains("refused the credential"), "{message}");
    assert!(
        !message.contains("ghs_") && !message.contains("/tmp"),
        "{message}"
    );
    mirrored.put_key(&pem);
    let row = mirrored.list_now(false).await;
    assert_eq!((row.served, row.message), (1, None));
}
