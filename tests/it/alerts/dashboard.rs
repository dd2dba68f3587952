//! The dashboard of an installation with everything configured.

use e2e::{Repo, http::Request};

use super::{Scrape, Targets, Timeline, assert_evaluated, until};
use crate::{
    operations::{dashboard, exposed::BusyStack, panels},
    sync::mirrored::Mirrored,
};

/// What Grafana puts in place of its variables.
const VARIABLES: [(&str, &str); 4] = [
    ("$__rate_interval", "5m"),
    ("$namespace", ".*"),
    ("$pool", ".*"),
    ("$tool", ".*"),
];

/// What `archway sync` exposes once it has fetched a mirror.
async fn sync_with_a_mirror() -> String {
    let mirrored = Mirrored::start().await;
    let repo = Repo::new().file("a.txt", "needle\n").commit();
    mirrored.host.add("acme/site", repo);
    let url = mirrored.host.url("acme/site");
    mirrored.add("site", &url, None, Some("host")).await;
    mirrored.until("site", "ok").await;
    let admin = mirrored.sync.as_ref().unwrap().admin;
    let targets = Targets::of(&mirrored.stack).and("archway-sync", &[admin]);
    let is_seen = |it: &Scrape| it.sum("archway_sync_mirrors", "state=\"ok\"") > 0.5;
    until(&targets, is_seen).await;
    Request::new("GET", "/metrics").send(admin).await.text()
}

#[tokio::test]
async fn every_panel_has_data_while_all_is_well() {
    let BusyStack {
        gateway, worker, ..
    } = BusyStack::run().await;
    let sync = sync_with_a_mirror().await;
    let busy = Scrape::of([
        ("archway-gateway", &gateway),
        ("archway-worker", &worker),
        ("archway-sync", &sync),
    ]);
    let dashboard = dashboard();
    let targets = panels(&dashboard).flat_map(|panel| {
        let targets = panel["targets"].as_array().unwrap().iter();
        targets.map(|target| target["expr"].as_str().unwrap())
    });
    let has_data = |expression: &str| {
        let mut expression = expression.to_owned();
        for (variable, value) in VARIABLES {
            expression = expression.replace(variable, value);
        }
        (
            format!("(count({expression}) > bool 0) or vector(0)"),
            None,
            Some(1.0),
        )
    };
    let expressions: Vec<_> = targets.map(has_data).collect();
    assert!(expressions.len() > 80, "{}", expressions.len());
    let timeline = Timeline {
        calm: &Scrape::default(),
        caused: &busy,
        minutes: 30,
    };
    assert_evaluated(&[timeline.test("panels", &expressions)]);
}
