//! Log messages of a running tool reach an SDK's callback from the requested level on, whichever of three
//! gateways serves the session's next request.

use e2e::{Harness, Proxy, Tenant};
use serde_json::{Value, json};
use tokio::process::Command;

use super::{Era, script};
use crate::programs::{self, given};

#[tokio::test]
async fn the_python_client_hears_a_tools_logs_in_the_older_era() {
    hears(Era::Legacy).await;
}

#[tokio::test]
async fn the_python_client_hears_a_tools_logs_in_the_modern_era() {
    hears(Era::Modern).await;
}

async fn hears(era: Era) {
    let Some(python) = given("ARCHWAY_TEST_PYTHON") else {
        return;
    };
    let mut proxy = Proxy::bind().await;
    let stack = Harness::new()
        .tenant(Tenant::new("acme"))
        .fixture()
        .replicas(3)
        .start()
        .await;
    let client = stack.client("acme");
    proxy.serve(stack.gateways(), client.key());
    let all = [
        "Tool execution started",
        "Tool processing data",
        "Tool execution completed",
    ];
    for (level, lines) in [("info", &all[..]), ("warning", &[])] {
        let mut command = Command::new(&python);
        command
            .arg(script("python_logs.py"))
            .args([&proxy.url(), era.name(), level])
            .env("ARCHWAY_TEST_KEY", client.key());
        let outcome = programs::run(command).await;
        assert!(outcome.success, "{}", outcome.stderr);
        let heard: Value = serde_json::from_str(&outcome.stdout).unwrap();
        let expected: Vec<Value> = lines.iter().map(|line| json!(["info", line])).collect();
        assert_eq!(heard, json!(expected), "at level {level}");
    }
}
