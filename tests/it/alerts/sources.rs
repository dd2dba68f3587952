//! Mirrors that are not fetched.

use serde_json::json;

use super::{Targets, assert_fires, until};
use crate::sync::{connections::add, mirrored::Mirrored};

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

#[tokio::test]
async fn answers_of_a_host_about_readers_that_grow_old_are_noticed() {
    let mirrored = Mirrored::start().await;
    mirrored.host.list(vec![add(&mirrored, 1, "acme/site")]);
    mirrored.host.let_read("acme/site", &[(7, "ada")]);
    mirrored.connect(json!({ "permissions": "host" })).await;
    mirrored.until("site", "ok").await;
    let listed = "select exists (select from host_readers where listed_at > '-infinity')";
    let is_listed = async || mirrored.ask::<bool>(listed).await.then_some(());
    mirrored.stack.eventually(is_listed).await;
    let admin = mirrored.sync.as_ref().unwrap().admin;
    let targets = Targets::of(&mirrored.stack).and("archway-sync", &[admin]);
    let oldest = "archway_sync_oldest_readers_ratio";
    let calm = until(&targets, |it| {
        let share = it.sum(oldest, "");
        share > 0.0 && share < 0.5
    })
    .await;
    mirrored
        .execute("update host_readers set listed_at = now() - interval '10 hours'")
        .await;
    let old = until(&targets, |it| it.sum(oldest, "") > 0.75).await;
    assert_fires(&["ArchwayPermissionsStale"], &calm, &old, 45);
}

#[tokio::test]
async fn a_volume_that_fills_with_mirrors_is_noticed() {
    let mirrored = Mirrored::start_with(&["--volume-bytes", "2600000"]).await;
    let mut state = 1_u32;
    let random = (0..2_000_000).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_le_bytes()[3]
    });
    let content: Vec<u8> = random.collect();
    let repo = e2e::Repo::new().file("random.bin", content).commit();
    mirrored.host.add("acme/site", repo);
    let admin = mirrored.sync.as_ref().unwrap().admin;
    let targets = Targets::of(&mirrored.stack).and("archway-sync", &[admin]);
    let used = "archway_sync_volume_used_ratio";
    let calm = until(&targets, |it| it.sum(used, "") > 0.0).await;
    let url = mirrored.host.url("acme/site");
    mirrored.add("site", &url, None, Some("host")).await;
    mirrored.until("site", "ok").await;
    let caused = until(&targets, |it| it.sum(used, "") > 0.76).await;
    assert_fires(&["ArchwaySyncDiskFilling"], &calm, &caused, 30);
}
