//! What a listing takes for an operator's wish or a host's word, and what not.

use std::time::{Duration, SystemTime};

use e2e::send_hook;
use http::StatusCode;
use serde_json::{Value, json};

use super::{Mirrored, connections::add};

#[tokio::test]
async fn an_event_of_a_repository_is_followed_though_nothing_was_pushed() {
    let mirrored = Mirrored::start().await;
    let (site, other) = (
        add(&mirrored, 1, "acme/site"),
        add(&mirrored, 2, "acme/other"),
    );
    mirrored.host.list(vec![site.clone(), other.clone()]);
    mirrored.connect(json!({})).await;
    mirrored.until("site", "ok").await;
    let client = mirrored.stack.client("acme");
    mirrored.until_served(&client, &["other", "site"]).await;
    let mut archived = site;
    archived["archived"] = true.into();
    mirrored.host.list(vec![archived, other]);
    let idle = "update listings set next_at = now() + interval '1 hour', tried_at = null,
                whole_at = now() - interval '2 minutes'";
    mirrored.execute(idle).await;
    let hooks = mirrored.sync.as_ref().unwrap().hooks;
    let event = ("repository", 1, "acme/site");
    assert_eq!(
        send_hook(hooks, "/hooks/acme/org", "hush", event).await,
        202
    );
    mirrored.until_served(&client, &["other"]).await;
}

#[tokio::test]
async fn only_an_edit_of_what_is_served_says_that_the_missing_is_gone() {
    let mirrored = Mirrored::start().await;
    let entries: Vec<Value> = (1..=3)
        .map(|id| add(&mirrored, id, &format!("acme/p{id}")))
        .collect();
    mirrored.host.list(entries.clone());
    mirrored.connect(json!({})).await;
    let client = mirrored.stack.client("acme");
    mirrored.until_served(&client, &["p1", "p2", "p3"]).await;
    // Another bound, as another credential, says nothing about repositories.
    mirrored.host.list(vec![entries[0].clone()]);
    mirrored.connect(json!({ "max": 4000 })).await;
    let held_back = async || mirrored.connection().await.message;
    let message = mirrored.stack.eventually(held_back).await;
    assert!(message.contains("no longer lists"), "{message}");
    mirrored.until_served(&client, &["p1", "p2", "p3"]).await;
    mirrored.connect(json!({ "exclude": ["p9"] })).await;
    mirrored.until_served(&client, &["p1"]).await;
}

#[tokio::test]
async fn of_two_connections_that_serve_one_repository_the_first_keeps_it() {
    let mirrored = Mirrored::start().await;
    mirrored.host.list(vec![add(&mirrored, 1, "acme/site")]);
    mirrored.connect(json!({})).await;
    mirrored.until("site", "ok").await;
    mirrored.connect(json!({ "name": "other" })).await;
    let client = mirrored.stack.client("acme");
    let listed = "select count(*) = 2 from listings where whole_at is not null";
    let are_listed = async || mirrored.ask::<bool>(listed).await.then_some(());
    mirrored.stack.eventually(are_listed).await;
    mirrored
        .execute("update listings set next_at = now() + interval '1 hour'")
        .await;
    mirrored.until_served(&client, &["site"]).await;
    // As if both had been listed at the same time.
    mirrored
        .execute(
            "with added as (insert into projects (tenant_id, slug) select id, 'site-2' from tenants where slug = 'acme'
                            returning id, tenant_id)
             insert into sources (project_id, tenant_id, url, host, connection_id, host_id, host_path)
             select added.id, added.tenant_id, s.url, s.host, c.id, s.host_id, s.host_path
             from added, sources s, connections c where c.name = 'other'",
        )
        .await;
    let due =
        "update listings l set next_at = now(), tried_at = null, mark = null from connections c
               where c.id = l.connection_id and c.name =";
    let is_over = "select tried_at is not null and leased_until < now() from listings l
                   join connections c on c.id = l.connection_id where c.name =";
    for (name, served) in [("org", &["site", "site-2"][..]), ("other", &["site"])] {
        mirrored.execute(&format!("{due} '{name}'")).await;
        let is_over = format!("{is_over} '{name}'");
        let is_over = async || mirrored.ask::<bool>(&is_over).await.then_some(());
        mirrored.stack.eventually(is_over).await;
        mirrored.until_served(&client, served).await;
    }
}

#[tokio::test]
async fn a_first_clone_is_no_activity() {
    let mirrored = Mirrored::start().await;
    mirrored.host.list(vec![add(&mirrored, 1, "acme/site")]);
    mirrored.connect(json!({})).await;
    let row = mirrored.until("site", "ok").await;
    // The host's last push was on 1 January 2026.
    let least = SystemTime::now() + Duration::from_secs(30 * 60);
    assert!(row.next_at > least, "{row:?}");
}

#[tokio::test]
async fn a_repository_that_an_operator_names_is_the_operators() {
    let mirrored = Mirrored::start().await;
    mirrored.host.list(vec![add(&mirrored, 1, "acme/site")]);
    mirrored.connect(json!({})).await;
    mirrored.until("site", "ok").await;
    let url = mirrored.host.url("acme/site");
    mirrored.add("own", &url, None, Some("host")).await;
    assert_eq!(mirrored.list_now(false).await.message, None);
    let client = mirrored.stack.client("acme");
    mirrored.until_served(&client, &["own"]).await;
    let named = ("site".to_owned(), "named".to_owned());
    assert_eq!(mirrored.out_of_use().await, [named]);
    let mut tx = mirrored.stack.tenants().begin().await.unwrap();
    let tenant = tx.find_tenant("acme").await.unwrap();
    tx.remove_project(tenant, "own").await.unwrap();
    tx.commit().await.unwrap();
    mirrored.list_now(false).await;
    mirrored.until_served(&client, &["site"]).await;
}

/// Neither is a listing due, nor was anything pushed lately.
const QUIET: [&str; 3] = [
    "update listings set next_at = now() + interval '1 hour', vouches_until = now() + interval '1 hour'",
    "update sources set pushed_at = now() - interval '2 hours'",
    "update mirrors set changed_at = now() - interval '2 hours'",
];
const DUE: &str = "update mirrors set next_at = now() - interval '1 second'";

#[tokio::test]
async fn a_repository_that_a_listing_vouches_for_is_not_fetched() {
    let mut mirrored = Mirrored::start().await;
    mirrored.host.list(vec![add(&mirrored, 1, "acme/site")]);
    mirrored.connect(json!({})).await;
    mirrored.until("site", "ok").await;
    mirrored.stop_sync().await;
    for sql in QUIET.into_iter().chain([DUE]) {
        mirrored.execute(sql).await;
    }
    let asked = mirrored.host.requests().len();
    mirrored.start_sync();
    let is_put_off = "select next_at > now() + interval '40 minutes' from mirrors";
    let is_put_off = async || mirrored.ask::<bool>(is_put_off).await.then_some(());
    mirrored.stack.eventually(is_put_off).await;
    assert_eq!(mirrored.host.requests().len(), asked);

    // Each of these has it fetched nevertheless.
    for doubt in [
        "update sources set pushed_at = now()",
        "update listings set vouches_until = now()",
        "update mirrors set changed_at = now()",
        "update mirrors set tried_at = now() - interval '25 hours'",
        "update mirrors set is_requested = true",
    ] {
        let asked = mirrored.host.requests().len();
        for sql in QUIET.into_iter().chain([doubt, DUE]) {
            mirrored.execute(sql).await;
        }
        let is_asked = async || (mirrored.host.requests().len() > asked).then_some(());
        mirrored.stack.eventually(is_asked).await;
        mirrored.until("site", "ok").await;
    }
}

#[tokio::test]
async fn a_host_that_limits_us_is_asked_again_when_it_allows() {
    let mirrored = Mirrored::start().await;
    mirrored.host.list(vec![add(&mirrored, 1, "acme/site")]);
    mirrored.connect(json!({})).await;
    mirrored.until("site", "ok").await;
    let asked = || {
        let requests = mirrored.host.requests().into_iter();
        requests.filter(|it| it.contains("/api/")).count()
    };
    for (status, seconds, other) in [
        (StatusCode::TOO_MANY_REQUESTS, 1800, "urls"),
        (StatusCode::FORBIDDEN, 600, "more-urls"),
    ] {
        mirrored.host.limit(Some((status, seconds)));
        let row = mirrored.list_now(false).await;
        let message = row.message.unwrap();
        assert!(message.contains("asks to wait until"), "{message}");
        let wait = row.next_at.duration_since(SystemTime::now()).unwrap();
        let least = u64::from(seconds) - 60;
        assert!(
            (least..=u64::from(seconds)).contains(&wait.as_secs()),
            "{wait:?}"
        );
        let before = asked();
        request_all(&mirrored).await;
        list_another(&mirrored, other).await;
        assert_eq!(mirrored.connection().await.tried_at, None);
        assert_eq!(asked(), before);
        // As if the time had passed.
        mirrored.host.limit(None);
        mirrored
            .execute("update listings set not_before = now()")
            .await;
        assert_eq!(mirrored.list_now(false).await.message, None);
    }
}

/// An operator and a webhook ask for a listing, long after the last one.
async fn request_all(mirrored: &Mirrored) {
    mirrored
        .execute("update listings set tried_at = null")
        .await;
    let mut tx = mirrored.stack.tenants().begin().await.unwrap();
    let tenant = tx.find_tenant("acme").await.unwrap();
    tx.request_listings(tenant, false).await.unwrap();
    tx.commit().await.unwrap();
    let hooks = mirrored.sync.as_ref().unwrap().hooks;
    let event = ("repository", 1, "acme/site");
    assert_eq!(
        send_hook(hooks, "/hooks/acme/org", "hush", event).await,
        202
    );
}

/// Has another connection listed, whose turn is after that of `org`.
async fn list_another(mirrored: &Mirrored, name: &str) {
    let list = [mirrored.host.url("acme/other")];
    let urls = json!({ "name": name, "github": null, "urls": { "list": list } });
    mirrored.connect(urls).await;
    let is_tried = format!(
        "select l.tried_at is not null from listings l
         join connections c on c.id = l.connection_id where c.name = '{name}'"
    );
    let is_tried = async || mirrored.ask::<bool>(&is_tried).await.then_some(());
    mirrored.stack.eventually(is_tried).await;
}
