//! The official conformance suite against three gateways in turn, in both eras.
//!
//! What may fail, and why, stands in `tests/conformance/`. The suite itself fails a run both for a
//! failure that is not listed there and for a listed one that passes.

use std::{fs, path::Path};

use e2e::{Harness, Proxy, Tenant};
use serde_json::Value;

use crate::outside;

#[tokio::test]
async fn what_2026_07_28_requires_holds_over_three_gateways() {
    conforms("2026-07-28", &["--requirements", "2026-07-28"], 100).await;
}

#[tokio::test]
async fn all_scenarios_of_2025_11_25_hold_over_three_gateways() {
    let selection = ["--suite", "all", "--spec-version", "2025-11-25"];
    conforms("2025-11-25", &selection, 40).await;
}

async fn conforms(revision: &str, selection: &[&str], at_least: usize) {
    let Some(mut suite) = outside::node("ARCHWAY_TEST_CONFORMANCE") else {
        return;
    };
    let mut proxy = Proxy::bind().await;
    // The suite asks as a page from the server's own origin would.
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
    // The last run's results stay for who wants to read them.
    fs::remove_dir_all(&out).ok();
    suite
        .args(["server", "--url", &proxy.url()])
        .args(selection)
        .arg("--expected-failures")
        .arg(format!("{folder}/conformance/expected-{revision}.yml"))
        .arg("--output-dir")
        .arg(&out);
    let outcome = outside::run(suite).await;
    let mut failed: Vec<String> = checks(&out)
        .filter(|(_, check)| check["status"] == "FAILURE" || check["status"] == "WARNING")
        .map(|(scenario, check)| {
            let (id, why) = (&check["id"], &check["errorMessage"]);
            format!("{scenario}:{} {why}", id.as_str().unwrap_or_default())
        })
        .collect();
    failed.sort();
    println!("{revision}, failing checks:\n{}", failed.join("\n"));
    let (stdout, stderr) = (outcome.stdout, outcome.stderr);
    assert!(outcome.success, "{stdout}{stderr}");
    let passed = checks(&out).filter(|(_, check)| check["status"] == "SUCCESS");
    let passed = passed.count();
    assert!(passed >= at_least, "only {passed} checks passed");
}

/// Every check that the suite made, with the name of its scenario.
fn checks(out: &Path) -> impl Iterator<Item = (String, Value)> {
    let folders = fs::read_dir(out)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    folders.flat_map(|folder| {
        let name = folder.file_name().unwrap().to_str().unwrap();
        // server-<scenario>-<year>-…
        let scenario = name.strip_prefix("server-").unwrap();
        let scenario = scenario.rsplitn(7, '-').last().unwrap().to_owned();
        let checks = fs::read(folder.join("checks.json")).unwrap();
        let checks: Vec<Value> = serde_json::from_slice(&checks).unwrap();
        checks
            .into_iter()
            .map(move |check| (scenario.clone(), check))
    })
}
