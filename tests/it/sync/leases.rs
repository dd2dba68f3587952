//! Leases that are lost: the run ends, and nothing of it is written any more.

use std::fs;

use serde_json::json;
use tokio::{
    io::AsyncReadExt as _,
    net::TcpListener,
    time::{Duration, timeout},
};

use super::Mirrored;

/// By then a lost lease is noticed: it is renewed every 5 s. Without that, a silent run goes on for 60 s.
const NOTICED: Duration = Duration::from_secs(20);

/// Calls functions of the database one after the other. Each changes what `state` selects, or none does.
async fn assert_each(mirrored: &Mirrored, state: &str, calls: &[String], changes: bool) {
    for call in calls {
        let before: String = mirrored.ask(state).await;
        mirrored.execute(&format!("select {call}")).await;
        let after: String = mirrored.ask(state).await;
        assert_eq!(before != after, changes, "{call}: {after}");
    }
}

#[tokio::test]
async fn a_process_that_lost_the_lease_of_a_mirror_writes_nothing() {
    let mut mirrored = Mirrored::start().await;
    mirrored.stop_sync().await;
    let url = "https://host.example/acme/site.git";
    mirrored.add("site", url, None, None).await;
    for sql in [
        "select add_mirrors(gen_random_uuid(), '1', 'box', null, null, '', null)",
        "update mirrors set lease_number = 5",
    ] {
        mirrored.execute(sql).await;
    }
    let calls = |number: u8| {
        let of = format!("(select id from projects where slug = 'site'), '', {number}");
        [
            format!("record_mirror({of}, 'ok', true, 'head', 1, 30)"),
            format!("record_mirror_failure({of}, 'failed', 'why', 2, 30)"),
            format!("renew_mirror_lease({of}, 60, 1::smallint, 3)"),
            format!("release_mirror_lease({of}, 4)"),
            format!("forget_mirror({of})"),
        ]
    };
    let state = "select m::text from mirrors m";
    assert_each(&mirrored, state, &calls(4), false).await;
    assert_each(&mirrored, state, &calls(5), true).await;
}

#[tokio::test]
async fn a_process_that_lost_the_lease_of_a_listing_writes_nothing() {
    let mut mirrored = Mirrored::start().await;
    mirrored.stop_sync().await;
    mirrored.connect(json!({})).await;
    mirrored
        .execute("update listings set lease_number = 5")
        .await;
    let found = json!([{
        "host_id": "1", "slug": "site", "url": "https://host.example/acme/site.git",
        "host": "host.example", "host_path": "acme/site", "is_private": true, "topics": [],
    }]);
    let lost = json!([{ "host_id": "1", "reason": "gone" }]);
    let outcome = json!({
        "is_whole": true, "served": 1, "left_out": 0, "vouch_seconds": 0, "lag_seconds": 0,
        "accepted_losses": false,
    });
    let calls = |number: u8| {
        let of = format!("(select id from connections), {number}");
        [
            format!("record_found({of}, '{found}')"),
            format!("record_lost({of}, '{lost}')"),
            format!("record_listing({of}, '{outcome}', 30)"),
            format!("record_listing_failure({of}, 'why', 30, 60)"),
            format!("release_listing_lease({of})"),
        ]
    };
    let state = "select concat((select string_agg(l::text, ' ') from listings l),
                               (select string_agg(s::text, ' ') from sources s))";
    assert_each(&mirrored, state, &calls(4), false).await;
    assert_each(&mirrored, state, &calls(5), true).await;
}

#[tokio::test]
async fn a_listing_is_leased_by_one_process_at_a_time() {
    let mut mirrored = Mirrored::start().await;
    mirrored.stop_sync().await;
    mirrored.connect(json!({})).await;
    for leased in [1, 0] {
        let lease = "select count(*) from lease_listing(60, null)";
        assert_eq!(mirrored.ask::<i64>(lease).await, leased);
        // A request while it runs is for the time after it.
        mirrored
            .execute("update listings set next_at = now()")
            .await;
    }
}

#[tokio::test]
async fn a_run_whose_lease_is_lost_ends_and_leaves_nothing() {
    let mirrored = Mirrored::start().await;
    let remote = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/acme/site.git", remote.local_addr().unwrap());
    mirrored.add("site", &url, None, None).await;
    // The question for refs is refused. git gets no answer.
    drop(remote.accept().await.unwrap());
    let (mut git, _address) = remote.accept().await.unwrap();
    let beside = mirrored.stack.repositories().join(".sync");
    assert_eq!(fs::read_dir(&beside).unwrap().count(), 1);
    // Another process takes the lease.
    mirrored
        .execute("update mirrors set lease_number = lease_number + 1")
        .await;
    let state = "select m::text from mirrors m";
    let before: String = mirrored.ask(state).await;
    let mut said = Vec::new();
    let ended = timeout(NOTICED, git.read_to_end(&mut said)).await;
    assert!(ended.is_ok(), "git goes on");
    let is_clean = async || (fs::read_dir(&beside).unwrap().count() == 0).then_some(());
    mirrored.stack.eventually(is_clean).await;
    assert_eq!(mirrored.ask::<String>(state).await, before);
    assert!(!mirrored.place("site").exists());
}
