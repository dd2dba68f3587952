//! Connections: an organisation's repositories become projects by themselves, and webhooks make them due.

use std::fs;

use archway::tenants::ConnectionRow;
use archway_sync::hosts::ConnectionSettings;
use e2e::{Client, Repo, git, send_hook};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tokio::time::Instant;

use super::{Mirrored, PATIENCE, found};

impl Mirrored {
    /// Adds the connection `org` to the host's organisation `acme`, with more settings.
    pub(crate) async fn connect(&self, more: Value) {
        let mut settings = json!({
            "name": "org",
            "github": { "org": "acme", "url": self.host.base() },
            "credential": "host",
            "ca_file": self.host.certificate(),
        });
        let fields = settings.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        let settings: ConnectionSettings = serde_json::from_value(settings).unwrap();
        let mut tx = self.stack.tenants().begin().await.unwrap();
        let tenant = tx.find_tenant("acme").await.unwrap();
        tx.set_connection(tenant, &settings).await.unwrap();
        tx.commit().await.unwrap();
    }

    pub(crate) async fn connection(&self) -> ConnectionRow {
        let mut tx = self.stack.tenants().read().await.unwrap();
        let tenant = tx.find_tenant("acme").await.unwrap();
        tx.find_connection(tenant, "org").await.unwrap()
    }

    /// Has the connection listed, without the pause of 10 s, and waits until it was.
    pub(crate) async fn list_now(&self, accepts_losses: bool) -> ConnectionRow {
        let accepts = if accepts_losses {
            ", accepts_losses = true"
        } else {
            ""
        };
        let due = "update listings set next_at = now(), tried_at = null, mark = null";
        self.execute(&format!("{due}{accepts}")).await;
        let deadline = Instant::now() + PATIENCE;
        loop {
            let row = self.connection().await;
            if row.tried_at.is_some() && !row.is_running {
                return row;
            }
            assert!(Instant::now() < deadline, "{row:?}");
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }

    pub(crate) async fn execute(&self, sql: &str) {
        let owner = self.stack.database().owner();
        let mut owner = PgConnection::connect_with(&owner).await.unwrap();
        let sql = AssertSqlSafe(sql.to_owned());
        sqlx::query(sql).execute(&mut owner).await.unwrap();
    }

    /// The only column of the only row.
    pub(crate) async fn ask<T>(&self, sql: &str) -> T
    where
        T: for<'r> sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres> + Send + Unpin,
    {
        let owner = self.stack.database().owner();
        let mut owner = PgConnection::connect_with(&owner).await.unwrap();
        let sql = AssertSqlSafe(sql.to_owned());
        sqlx::query_scalar(sql).fetch_one(&mut owner).await.unwrap()
    }

    /// The slugs of the projects that an agent sees.
    async fn served(&self, client: &Client) -> Vec<String> {
        let reply = client.call("list_projects", json!({})).await;
        let projects = reply.structured()["projects"].as_array().cloned();
        let projects = projects.unwrap_or_default().into_iter();
        let mut slugs: Vec<String> = projects
            .map(|project| project["slug"].as_str().unwrap().to_owned())
            .collect();
        slugs.sort();
        slugs
    }

    /// The projects that connections put out of use, and why, as `sync status` shows them.
    pub(crate) async fn out_of_use(&self) -> Vec<(String, String)> {
        let mut tx = self.stack.tenants().read().await.unwrap();
        let tenant = tx.find_tenant("acme").await.unwrap();
        let rows = tx.out_of_use(tenant).await.unwrap().into_iter();
        rows.map(|row| (row.project, row.reason)).collect()
    }

    pub(crate) async fn until_served(&self, client: &Client, slugs: &[&str]) {
        let is_so = async || (self.served(client).await == slugs).then_some(());
        self.stack.eventually(is_so).await;
    }
}

/// A repository of the host's organisation with one file that has `needle`.
pub(crate) fn add(mirrored: &Mirrored, id: u64, path: &str) -> Value {
    let repo = Repo::new().file("a.txt", "needle\n").commit();
    mirrored.host.add(path, repo);
    mirrored.host.entry(id, path, 1)
}

#[tokio::test]
async fn an_organisations_repositories_become_projects_and_are_followed() {
    let mirrored = Mirrored::start().await;
    let (site, legacy) = (
        add(&mirrored, 1, "acme/Site"),
        add(&mirrored, 2, "acme/legacy-api"),
    );
    mirrored.host.list(vec![site.clone(), legacy]);
    mirrored.connect(json!({ "exclude": ["legacy-*"] })).await;
    mirrored.until("site", "ok").await;
    let client = mirrored.stack.client("acme");
    mirrored.until_served(&client, &["site"]).await;
    let row = mirrored.connection().await;
    assert_eq!((row.served, row.left_out, row.message), (1, 1, None));
    let listed = client.call("list_projects", json!({})).await;
    let listed = listed.structured()["projects"][0].clone();
    assert_eq!(listed["description"], "about acme/Site");
    assert_eq!(
        (&listed["default_branch"], &listed["topics"]),
        (&json!("main"), &json!(["web"]))
    );

    // A new one, and the first under another name.
    let other = add(&mirrored, 3, "acme/other");
    let renamed = add(&mirrored, 1, "acme/renamed");
    mirrored.host.list(vec![other.clone(), renamed.clone()]);
    mirrored.list_now(false).await;
    mirrored.until("other", "ok").await;
    mirrored.until_served(&client, &["other", "site"]).await;
    mirrored.until("site", "ok").await;

    // Archived: out of use, and back under its slug.
    let mut archived = renamed.clone();
    archived["archived"] = true.into();
    mirrored.host.list(vec![other.clone(), archived]);
    mirrored.list_now(false).await;
    mirrored.until_served(&client, &["other"]).await;
    let archived = ("site".to_owned(), "archived".to_owned());
    assert_eq!(mirrored.out_of_use().await, [archived]);
    mirrored.host.list(vec![other, renamed]);
    mirrored.list_now(false).await;
    mirrored.until_served(&client, &["other", "site"]).await;
    assert!(mirrored.out_of_use().await.is_empty());
    let grep = async || found(&client, "site", "needle").await;
    assert_eq!(mirrored.stack.eventually(grep).await, 1);
}

#[tokio::test]
async fn a_host_that_forgets_most_repositories_is_not_believed_at_once() {
    let mirrored = Mirrored::start().await;
    let entries: Vec<Value> = (1..=3)
        .map(|id| add(&mirrored, id, &format!("acme/p{id}")))
        .collect();
    mirrored.host.list(entries.clone());
    mirrored.connect(json!({})).await;
    let client = mirrored.stack.client("acme");
    mirrored.until_served(&client, &["p1", "p2", "p3"]).await;
    for listing in [vec![], vec![entries[0].clone()]] {
        mirrored.host.list(listing);
        let row = mirrored.list_now(false).await;
        let message = row.message.unwrap();
        assert!(message.contains("no longer lists"), "{message}");
        assert_eq!(mirrored.served(&client).await, ["p1", "p2", "p3"]);
    }
    let row = mirrored.list_now(true).await;
    assert_eq!(row.message, None);
    mirrored.until_served(&client, &["p1"]).await;
    let gone = ["p2", "p3"].map(|slug| (slug.to_owned(), "gone".to_owned()));
    assert_eq!(mirrored.out_of_use().await, gone);
    // Their mirrors stay for a week.
    assert!(mirrored.place("p2").exists());
}

#[tokio::test]
async fn a_project_removed_by_hand_stays_removed_and_slugs_are_for_ever() {
    let mirrored = Mirrored::start().await;
    let entries = vec![
        add(&mirrored, 1, "acme/site"),
        add(&mirrored, 2, "acme/app"),
    ];
    mirrored.host.list(entries);
    mirrored.connect(json!({})).await;
    let client = mirrored.stack.client("acme");
    mirrored.until_served(&client, &["app", "site"]).await;
    let change = async |what: &str| {
        let mut tx = mirrored.stack.tenants().begin().await.unwrap();
        let tenant = tx.find_tenant("acme").await.unwrap();
        match what {
            "remove" => tx.remove_project(tenant, "app").await.unwrap(),
            "restore" => assert!(tx.restore_project(tenant, "app").await.unwrap()),
            _ => assert_eq!(tx.remove_connection(tenant, "org").await.unwrap(), 1),
        }
        tx.commit().await.unwrap();
    };
    change("remove").await;
    mirrored.list_now(false).await;
    mirrored.until_served(&client, &["site"]).await;
    change("restore").await;
    mirrored.until_served(&client, &["app", "site"]).await;
    change("remove").await;
    change("disconnect").await;
    mirrored.until_served(&client, &[]).await;
    mirrored.connect(json!({})).await;
    mirrored.until_served(&client, &["site"]).await;
}

#[tokio::test]
async fn a_signed_webhook_makes_its_repository_due_and_nothing_else_does() {
    let mirrored = Mirrored::start().await;
    mirrored.host.list(vec![add(&mirrored, 1, "acme/site")]);
    mirrored.connect(json!({})).await;
    mirrored.until("site", "ok").await;
    // Neither a listing nor the schedule will do it.
    for sql in [
        "update listings set next_at = now() + interval '1 hour'",
        "update mirrors set next_at = now() + interval '1 hour', tried_at = now() - interval '1 minute'",
    ] {
        mirrored.execute(sql).await;
    }
    let work = mirrored.host.folder("acme/site");
    fs::write(work.join("b.txt"), "needle\n").unwrap();
    git(&work, &["add", "-A"]);
    git(&work, &["commit", "-qm", "two"]);
    let hooks = mirrored.sync.as_ref().unwrap().hooks;
    let send = |path, secret| send_hook(hooks, path, secret, ("push", 1, "acme/site"));
    assert_eq!(send("/hooks/acme/org", "guess").await, 401);
    assert_eq!(send("/hooks/acme/other", "hush").await, 404);
    assert!(!mirrored.mirror("site").await.unwrap().is_running);
    let unknown = ("push", 99, "acme/none");
    assert_eq!(
        send_hook(hooks, "/hooks/acme/org", "hush", unknown).await,
        202
    );
    let waits = "select not is_requested and next_at > now() from mirrors";
    assert!(mirrored.ask::<bool>(waits).await);
    assert_eq!(send("/hooks/acme/org", "hush").await, 202);
    let client = mirrored.stack.client("acme");
    let both = async || {
        let found = found(&client, "site", "needle").await;
        found.filter(|found| *found == 2)
    };
    mirrored.stack.eventually(both).await;
}

#[tokio::test]
async fn a_refused_credential_of_a_connection_is_named_without_its_secret() {
    let mirrored = Mirrored::start().await;
    mirrored.host.list(vec![add(&mirrored, 1, "acme/site")]);
    mirrored.connect(json!({ "credential": "wrong" })).await;
    let refused = async || mirrored.connection().await.message;
    let message = mirrored.stack.eventually(refused).await;
    assert!(message.contains("refused the credential"), "{message}");
    assert!(
        !message.contains("ada") && !message.contains("/tmp"),
        "{message}"
    );
    mirrored.connect(json!({})).await;
    mirrored.until("site", "ok").await;
}

#[tokio::test]
async fn a_list_of_urls_with_a_key_for_ssh_is_listed() {
    let mirrored = Mirrored::start().await;
    let key = mirrored.credentials.path().join("key");
    fs::write(key, "-----BEGIN OPENSSH PRIVATE KEY-----\nb3B\n").unwrap();
    let list = ["ssh://git@127.0.0.1:1/acme/site"];
    let urls = json!({ "github": null, "urls": { "list": list }, "credential": "key" });
    mirrored.connect(urls).await;
    let served = async || {
        let row = mirrored.connection().await;
        (row.listed_at.is_some() || row.message.is_some()).then_some((row.served, row.message))
    };
    assert_eq!(mirrored.stack.eventually(served).await, (1, None));
}
