//! Each alert fires by what it is about, and not before: installations are brought into a state, their metrics are
//! read, and Prometheus evaluates the rules over hours of them.

mod dashboard;
mod dependencies;
mod processes;
mod promtool;
mod repositories;
mod requests;
mod scrape;
mod sources;
mod timeline;

use std::{collections::BTreeSet, fs};

use e2e::{Client, Repo, Stack, Tenant};
use serde_json::{Value, json};
use sqlx::{Executor, PgPool};
use tokio::time::{Duration, Instant, sleep};

use promtool::assert_evaluated;
use scrape::{Scrape, Targets};
use timeline::Timeline;

use crate::{operations::alerts, tidy::root};

/// How long a state may take to show in metrics.
const PATIENCE: Duration = Duration::from_secs(90);

fn acme() -> Tenant {
    let repo = Repo::new()
        .file("a.txt", "needle\n")
        .file("b.rs", "pub fn open_gate() {}\n");
    Tenant::new("acme").project("site", repo.commit())
}

/// Calls a tool so many times, whatever it answers.
async fn call(client: &Client, tool: &str, arguments: &Value, times: usize) {
    for _ in 0..times {
        client.call(tool, arguments.clone()).await;
    }
}

/// Reads the metrics until they are so. `archway sync` looks at its mirrors every 30 s.
async fn until(targets: &Targets, is_so: impl Fn(&Scrape) -> bool) -> Scrape {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let scrape = targets.scrape().await;
        if is_so(&scrape) {
            return scrape;
        }
        assert!(Instant::now() < deadline, "not in time");
        sleep(Duration::from_millis(50)).await;
    }
}

/// An expression that is 1 while an alert fires, else 0.
fn fires(alert: &str) -> String {
    format!("(count(ALERTS{{alertname=\"{alert}\",alertstate=\"firing\"}}) > bool 0) or vector(0)")
}

/// These alerts fire once the cause has lasted for so many minutes, and none fires before.
fn assert_fires(alerts: &[&str], calm: &Scrape, caused: &Scrape, minutes: u32) {
    let timeline = Timeline {
        calm,
        caused,
        minutes,
    };
    let expressions = alerts.iter().map(|alert| (fires(alert), Some(0.0), 1.0));
    let any = "count(ALERTS{alertstate=\"firing\"}) or vector(0)".to_owned();
    let none_before = (any, Some(0.0), None);
    let expressions = expressions
        .map(|(expression, before, after)| (expression, before, Some(after)))
        .chain([none_before]);
    let test = timeline.test(&alerts.join(", "), &expressions.collect::<Vec<_>>());
    assert_evaluated(&[test]);
}

/// Executes a statement as the database's owner.
async fn execute(stack: &Stack, statement: &'static str) {
    let owner = PgPool::connect_with(stack.database().owner()).await;
    owner.unwrap().execute(statement).await.unwrap();
}

/// The arguments of a call that needs none.
fn nothing() -> Value {
    json!({})
}

#[test]
fn every_alert_is_caused_by_a_test() {
    let folder = root().join("tests/it/alerts");
    let files = fs::read_dir(folder).unwrap();
    let sources = files.map(|file| fs::read_to_string(file.unwrap().path()).unwrap());
    let sources: String = sources.collect();
    let is_caused = |alert: &String| sources.contains(&format!("\"{alert}\""));
    let others: BTreeSet<String> = alerts().into_keys().filter(|it| !is_caused(it)).collect();
    assert_eq!(others, BTreeSet::new(), "no test causes them");
}
