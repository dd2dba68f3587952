//! What mirrors take of the volume: the ones out of use are removed, and a nearly full volume gets no new one.

use e2e::{Repo, git};

use super::{Mirrored, places::until_ready};

/// Waits until the mirror of a project that is out of use is neither on the volume nor in the database.
async fn until_removed(mirrored: &Mirrored, slug: &str) {
    let rows = format!(
        "select count(*) from mirrors m join projects p on p.id = m.project_id where p.slug = '{slug}'"
    );
    let is_removed = async || {
        let is_on_volume = mirrored.place(slug).exists();
        (!is_on_volume && mirrored.ask::<i64>(&rows).await == 0).then_some(())
    };
    mirrored.stack.eventually(is_removed).await;
}

#[tokio::test]
async fn a_mirror_is_removed_days_after_its_project_went_out_of_use() {
    let mut mirrored = Mirrored::start().await;
    mirrored
        .host
        .add("acme/site", Repo::new().file("a.txt", "needle\n").commit());
    let url = mirrored.host.url("acme/site");
    let slugs = ["long-ago", "lately", "used"];
    for slug in slugs {
        mirrored.add(slug, &url, None, Some("host")).await;
    }
    for slug in slugs {
        mirrored.until(slug, "ok").await;
    }
    mirrored.stop_sync().await;
    for (slug, days) in [("long-ago", 8), ("lately", 6)] {
        let removed = format!("set removed_at = now() - interval '{days} days'");
        mirrored
            .execute(&format!("update projects {removed} where slug = '{slug}'"))
            .await;
    }
    // The default is a week.
    mirrored.start_sync();
    until_removed(&mirrored, "long-ago").await;
    until_ready(&mirrored.stack, mirrored.sync.as_ref().unwrap()).await;
    mirrored.stop_sync().await;
    assert!(mirrored.place("lately").exists());
    mirrored.options = &["--keep", "0"];
    mirrored.start_sync();
    until_removed(&mirrored, "lately").await;
    assert!(mirrored.place("used").exists());
    // The rows of its project stayed.
    let mut tx = mirrored.stack.tenants().begin().await.unwrap();
    let tenant = tx.find_tenant("acme").await.unwrap();
    assert!(tx.restore_project(tenant, "lately").await.unwrap());
    tx.commit().await.unwrap();
    mirrored.until("lately", "ok").await;
    assert!(mirrored.place("lately").exists());
}

#[tokio::test]
async fn over_its_percent_a_volume_takes_fetches_and_no_clone() {
    let mut mirrored = Mirrored::start().await;
    let repo = Repo::new().file("a.txt", "needle\n").commit();
    let work = mirrored.host.add("acme/site", repo);
    let url = mirrored.host.url("acme/site");
    mirrored.add("site", &url, None, Some("host")).await;
    mirrored.until("site", "ok").await;
    mirrored.stop_sync().await;
    // As if it took a fifth of the volume.
    mirrored
        .execute(
            "update mirrors set bytes = 20000000, tried_at = now() - interval '1 minute',
                                next_at = now() + interval '1 hour'",
        )
        .await;
    mirrored.options = &["--volume-bytes", "100000000", "--volume-percent", "10"];
    mirrored.start_sync();
    // It has looked at the mirrors by then.
    until_ready(&mirrored.stack, mirrored.sync.as_ref().unwrap()).await;
    mirrored.add("new", &url, None, Some("host")).await;
    let row = mirrored.until("new", "no_space").await;
    let message = row.message.unwrap();
    assert!(message.contains("more than 10 % full"), "{message}");
    assert!(!mirrored.place("new").exists());
    git(&work, &["commit", "-q", "--allow-empty", "-m", "two"]);
    let head = git(&work, &["rev-parse", "HEAD"]);
    mirrored.run("site").await;
    let is_fetched = async || {
        let row = mirrored.mirror("site").await?;
        (row.head.as_ref() == Some(&head)).then_some(())
    };
    mirrored.stack.eventually(is_fetched).await;
}
