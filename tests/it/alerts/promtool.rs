//! Prometheus' own evaluation of our rules, by `promtool test rules`.

use std::{env, fs, process::Command};

use serde_json::{Value, json};

use crate::tidy::root;

/// Evaluates the tests of some timelines. Panics with Prometheus' words if one fails.
pub(super) fn assert_evaluated(tests: &[Value]) {
    let folder = tempfile::tempdir().unwrap();
    let rules = root().join("helm/archway/rules/archway.yaml");
    let all = json!({
        "rule_files": [rules],
        "evaluation_interval": "30s",
        "tests": tests,
    });
    // YAML is a superset of JSON.
    let file = folder.path().join("tests.yaml");
    fs::write(&file, all.to_string()).unwrap();
    let program = env::var_os("ARCHWAY_TEST_PROMTOOL").unwrap_or_else(|| "promtool".into());
    let done = Command::new(program)
        .args(["test", "rules"])
        .arg(&file)
        .output()
        .expect("promtool, as tests/run installs it");
    let said = [done.stdout, done.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(done.status.success(), "{said}");
}
