//! The official conformance suite against three gateways in turn, in both eras.
//!
//! `tests/conformance/` lists the expected failures with reasons. The suite fails a run for an unlisted
//! failure, and for a listed one that passes.

use std::{fs, path::Path};

use e2e::{Harness, Proxy, Tenant};
use serde_json::Value;

use crate::programs;

/// Subscriptions and tasks are not offered, so their checks are skipped.
const SKIPPED_2026_07_28: [&str; 6] = [
    "server-stateless:sep-2575-server-honors-notification-filter",
    "server-stateless:sep-2575-server-sends-prompts-list-changed-on-subscription",
    "server-stateless:sep-2575-server-sends-subscription-ack",
    "server-stateless:sep-2575-server-sends-tools-list-changed-on-subscription",
    "server-stateless:sep-2575-server-tags-subscription-id",
    "tasks-status-notifications:tasks-status-notifications",
];

#[tokio::test]
async fn the_requirements_of_2026_07_28_hold_over_three_gateways() {
    let selection = ["--requirements", "2026-07-28"];
    let passed = conforms("2026-07-28", &selection, &SKIPPED_2026_07_28).await;
    assert!(passed.is_none_or(|passed| passed >= 100), "{passed:?}");
}

#[tokio::test]
async fn all_scenarios_of_2025_11_25_hold_over_three_gateways() {
    let selection = ["--suite", "all", "--spec-version", "2025-11-25"];
    let passed = conforms("2025-11-25", &selection, &[]).await;
    assert!(passed.is_none_or(|passed| passed >= 40), "{passed:?}");
}

/// Runs the suite, which judges failures by the expected ones. It does not judge what it skips: those
/// must be exactly `skipped`. Returns the number of passed checks, or `None` without the suite.
async fn conforms(revision: &str, selection: &[&str], skipped: &[&str]) -> Option<usize> {
    let mut suite = programs::node("ARCHWAY_TEST_CONFORMANCE")?;
    let mut proxy = Proxy::bind().await;
    // The suite calls like a page from the server's own origin.
    let origin = proxy.origin();
    let stack = Harness::new()
        .tenant(Tenant::new("acme"))
        .fixture()
        .replicas(3)
        .configure(|config| config.guard.allowed_origins = vec![origin])
        .start()
        .await;
    proxy.serve(stack.gateways(), stack.client("acme").key());
    let folder = env!("CARGO_MANIFEST_DIR");
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("conformance-{revision}"));
    // The last run's results are kept for inspection.
    fs::remove_dir_all(&out).ok();
    suite
        .args(["server", "--url", &proxy.url()])
        .args(selection)
        .arg("--expected-failures")
        .arg(format!("{folder}/conformance/expected-{revision}.yml"))
        .arg("--output-dir")
        .arg(&out);
    let outcome = programs::run(suite).await;
    for (check, why) in checks(&out, &["FAILURE", "WARNING"]) {
        println!("{revision} fails {check} {why}");
    }
    let (stdout, stderr) = (outcome.stdout, outcome.stderr);
    assert!(outcome.success, "{stdout}{stderr}");
    let passed_over = checks(&out, &["SKIPPED"]);
    let passed_over: Vec<&str> = passed_over.iter().map(|(check, _)| &**check).collect();
    assert_eq!(passed_over, skipped);
    Some(checks(&out, &["SUCCESS"]).len())
}

/// The checks that ended in one of `states`, sorted: `scenario:check`, and why.
fn checks(out: &Path, states: &[&str]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for folder in fs::read_dir(out).unwrap() {
        let folder = folder.unwrap().path();
        let checks = fs::read(folder.join("checks.json")).unwrap();
        let checks: Vec<Value> = serde_json::from_slice(&checks).unwrap();
        // server-<scenario>-<year>-<month>-<day>T<hour>-<minute>-<second>-<milliseconds>Z
        let name = folder.file_name().unwrap().to_str().unwrap();
        let name = name.strip_prefix("server-").unwrap();
        let scenario = name.rsplitn(7, '-').last().unwrap();
        for check in checks {
            if states.contains(&check["status"].as_str().unwrap()) {
                let id = check["id"].as_str().unwrap();
                let why = check["errorMessage"].as_str().unwrap_or_default();
                found.push((format!("{scenario}:{id}"), why.to_owned()));
            }
        }
    }
    found.sort();
    found
}
