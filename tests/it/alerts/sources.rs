//! Mirrors that are not fetched.

use super::{Targets, assert_fires, until};
use crate::sync::mirrored::Mirrored;

#[tokio::test]
async fn mirrors_that_fail_and_mirrors_that_are_old_are_noticed() {
    let mirrored = Mirrored::start().await;
    let repo = e2e::Repo::new().file("a.txt", "needle\n").commit();
    mirrored.host.add("acme/site", repo);
    let url = mirrored.host.url("acme/site");
    mirrored.add("site", &url, None, Some("host")).await;
    mirrored.until("site", "ok").await;
    let admin = mirrored.sync.as_ref().unwrap().admin;
    let targets = Targets::of(&mirrored.stack).and("archway-sync", &[admin]);
    let mirrors = "archway_sync_mirrors";
    let calm = until(&targets, |it| it.sum(mirrors, "state=\"ok\"") > 0.5).await;
    mirrored.add("other", &url, None, Some("wrong")).await;
    mirrored.until("other", "credential_refused").await;
    let refused = "state=\"credential_refused\"";
    let failing = until(&targets, |it| it.sum(mirrors, refused) > 0.5).await;
    assert_fires(&["ArchwaySyncFailing"], &calm, &failing, 30);

    // As if nothing had been fetched since this morning.
    mirrored
        .execute(
            "update mirrors set next_at = now() + interval '1 day', fetched_at = now() - interval '13 hours'",
        )
        .await;
    let oldest = "archway_sync_oldest_fetch_seconds";
    let old = until(&targets, |it| it.sum(oldest, "") > 43_200.0).await;
    assert_fires(&["ArchwayRepositoryStale"], &calm, &old, 30);
}
