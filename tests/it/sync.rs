//! Repositories by URL: `archway sync` mirrors them, and workers serve the mirrors.

mod accounts;
mod apps;
mod attacks;
pub(crate) mod connections;
mod https_mirror;
mod leases;
mod lying_hosts;
mod member_hooks;
pub(crate) mod mirrored;
mod other_hosts;
mod pages;
mod permissions;
pub(crate) mod places;
mod proxied;
mod readers;
mod topics;
mod turns;
mod unchanged;
mod volume;
mod waiting;
mod wishes;

use std::{fs, time::Duration};

use archway_sync::git::RunLimits;
use e2e::{GitHost, Repo, git, http::Request};
use serde_json::json;

use mirrored::{Mirrored, PATIENCE, found};

/// What a run may take.
fn limits() -> RunLimits {
    RunLimits {
        time: PATIENCE,
        silence: PATIENCE,
        bytes: 1 << 30,
    }
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
async fn a_purged_projects_mirror_is_not_served_under_its_freed_slug() {
    let mut mirrored = Mirrored::start().await;
    mirrored
        .host
        .add("acme/site", Repo::new().file("a.txt", "needle\n").commit());
    let url = mirrored.host.url("acme/site");
    mirrored.add("site", &url, None, Some("host")).await;
    mirrored.until("site", "ok").await;
    mirrored.stop_sync().await;
    let client = mirrored.stack.client("acme");
    assert_eq!(found(&client, "site", "needle").await, Some(1));
    let mut tx = mirrored.stack.tenants().begin().await.unwrap();
    let tenant = tx.find_tenant("acme").await.unwrap();
    tx.remove_project(tenant, "site").await.unwrap();
    tx.purge_project(tenant, "site").await.unwrap();
    tx.commit().await.unwrap();
    mirrored.add("site", &url, None, Some("host")).await;
    // Workers read the projects every 5 s.
    let waits = async || {
        let read = json!({ "project": "site", "path": "a.txt" });
        let reply = client.call("read_file", read).await;
        let error = reply.error();
        (error["code"] == "unavailable" && error["details"]["state"] == "new").then_some(())
    };
    mirrored.stack.eventually(waits).await;
    let list = client.call("list_projects", json!({})).await;
    assert!(list.structured()["projects"][0]["commit"].is_null());
    mirrored.start_sync();
    mirrored.until("site", "ok").await;
    let served = async || found(&client, "site", "needle").await;
    assert_eq!(mirrored.stack.eventually(served).await, 1);
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
    let ready = async || {
        let ready = Request::new("GET", "/readyz").send(first.admin).await;
        (ready.status == 200).then_some(())
    };
    mirrored.stack.eventually(ready).await;
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
