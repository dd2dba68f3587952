//! Circuits, from a client's socket to a failing worker. Open periods are skipped rather than
//! waited for.

use std::time::Duration;

use futures::future::join_all;
use serde_json::json;
use tokio::time::timeout;

use super::fixture::{GatewayFixture, PATIENCE, code, skip};
use crate::BreakerConfig;

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test]
async fn a_storm_of_internal_errors_opens_its_familys_circuit_for_all() {
    let scene = GatewayFixture::start().await;
    let listed = scene.harness.ask("tools/list", json!({})).await;
    for _ in 0..10 {
        assert_eq!(scene.call("status").await, "internal_error");
    }
    let refused = scene.refused("echo").await;
    assert_eq!(refused["code"], "circuit_open");
    let details = &refused["details"];
    assert_eq!(details["circuit"], "shared/basics");
    assert_eq!(details["state"], "open");
    let wait = details["retry_after_seconds"].as_u64().unwrap();
    assert!((1..=5).contains(&wait), "{wait}");
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("the family basics"), "{message}");
    let suggestion = refused["suggestion"].as_str().unwrap();
    assert!(
        suggestion.contains(&format!("wait {wait} second")),
        "{suggestion}"
    );

    // The other tenant caused nothing but would reach the same workers. Its refusal names no
    // tenant.
    let told = scene.others("echo").await;
    assert_eq!(code(&told), "circuit_open");
    assert!(!told.to_string().contains("acme"), "{told}");

    assert_eq!(scene.call("far").await, "ok");
    assert_eq!(scene.harness.ask("tools/list", json!({})).await, listed);
    let metrics = scene.probe("/metrics").await;
    for line in [
        r#"circuit_state{pool="shared",family="basics"} 2"#,
        r#"circuit_state{pool="shared",family="distance"} 0"#,
        r#"circuit_openings_total{pool="shared",family="basics",circuit="shared"} 1"#,
        r#"circuit_refusals_total{pool="shared",family="basics",circuit="shared"} 2"#,
        r#"tool_calls_total{tool="echo",outcome="circuit_open"} 2"#,
    ] {
        assert!(metrics.contains(line), "{line} in {metrics}");
    }
    let circuit = scene.circuit().await;
    assert_eq!(
        (&circuit["calls"], &circuit["faults"]),
        (&json!(10), &json!(10))
    );
}

#[tokio::test]
async fn malformed_results_count_as_faults_and_tools_own_failures_do_not() {
    let scene = GatewayFixture::start().await;
    for _ in 0..12 {
        assert_eq!(scene.call("denies").await, "internal_error");
        scene.harness.call("echo", json!({ "max_depth": 10 })).await;
    }
    let circuit = scene.circuit().await;
    assert_eq!(circuit["state"], "closed");
    // Invalid arguments never got that far.
    assert_eq!(
        (&circuit["calls"], &circuit["faults"]),
        (&json!(12), &json!(0))
    );
    for _ in 0..12 {
        assert_eq!(scene.call("garbage").await, "internal_error");
    }
    assert_eq!(scene.call("echo").await, "circuit_open");
}

#[tokio::test]
async fn three_successful_probes_close_a_half_open_circuit() {
    let mut scene = GatewayFixture::start().await;
    scene.calls("status", 10).await;
    assert_eq!(scene.call("gate").await, "circuit_open");
    skip(5 * SECOND).await;
    let refused = {
        let third = async {
            scene.until(2, 0).await;
            // One slot is left for others.
            let third = scene.refused("gate").await;
            let other = async { code(&scene.others("gate").await) };
            let fourth = async {
                scene.until(3, 0).await;
                assert_eq!(code(&scene.others("gate").await), "circuit_open");
                scene.gate.add_permits(3);
            };
            (third, futures::join!(other, fourth).0)
        };
        let (codes, (refused, other)) = futures::join!(scene.calls("gate", 2), third);
        assert_eq!((codes, other.as_str()), (vec!["ok".to_owned(); 2], "ok"));
        refused
    };
    assert_eq!(refused["details"]["state"], "half-open");
    assert_eq!(refused["details"]["retry_after_seconds"], 1);
    scene.began(3).await;
    assert!(scene.harness.seen.try_recv().is_err(), "no fourth probe");
    assert_eq!(scene.circuit().await["state"], "closed");
    assert_eq!(scene.calls("echo", 20).await, ["ok"; 20]);
}

#[tokio::test]
async fn a_probe_that_fails_opens_the_circuit_for_longer() {
    let scene = GatewayFixture::start().await;
    scene.calls("status", 10).await;
    skip(5 * SECOND).await;
    assert_eq!(scene.circuit().await["state"], "half-open");
    assert_eq!(scene.call("status").await, "internal_error");
    let circuit = scene.circuit().await;
    assert_eq!(circuit["state"], "open");
    let wait = circuit["retry_after_seconds"].as_u64().unwrap();
    assert!((6..=10).contains(&wait), "{wait}");
}

#[tokio::test]
async fn a_client_that_disconnects_during_a_probe_frees_its_slot() {
    let mut scene = GatewayFixture::start().await;
    scene.calls("status", 10).await;
    skip(5 * SECOND).await;
    let mut probes = Vec::new();
    for _ in 0..2 {
        probes.push(scene.open("hang").await);
    }
    scene.began(2).await;
    assert_eq!(scene.call("echo").await, "circuit_open");
    drop(probes);
    scene.until(0, 0).await;
    for _ in 0..3 {
        assert_eq!(scene.call("echo").await, "ok");
    }
    assert_eq!(scene.circuit().await["state"], "closed");
}

#[tokio::test]
async fn slow_calls_of_one_tenant_affect_no_other() {
    let cases = [
        ("hang", "deadline_exceeded", 1),
        ("slow", "ok", 10),
        ("late", "search_timeout", 10),
    ];
    let cases = cases.map(async |(tool, came, deadline)| {
        let scene = GatewayFixture::with(deadline, BreakerConfig::default()).await;
        assert_eq!(scene.calls(tool, 10).await, [came; 10]);
        let refused = scene.refused("echo").await;
        assert_eq!(refused["code"], "circuit_open", "{refused}");
        assert_eq!(refused["details"]["circuit"], "tenant");
        assert_eq!(scene.call("far").await, "ok");
        assert_eq!(code(&scene.others("echo").await), "ok");
        assert_eq!(scene.circuit().await["state"], "closed");

        // Operators see the tenant.
        let status = scene.status().await;
        assert_eq!(status["tenant_circuits_open_total"], 1);
        let row = &status["tenant_circuits_open"][0];
        assert_eq!(row["tenant"], "acme");
        assert_eq!((&row["state"], &row["calls"]), (&json!("open"), &json!(10)));
        let metrics = scene.probe("/metrics").await;
        let open = r#"tenant_circuits_not_closed{pool="shared",family="basics"} 1"#;
        assert!(metrics.contains(open), "{metrics}");
        assert!(!metrics.contains("acme"), "{metrics}");
    });
    join_all(cases).await;
}

#[tokio::test]
async fn calls_that_a_shutdown_ends_are_no_faults() {
    let mut scene = GatewayFixture::start().await;
    let ends = async {
        scene.until(20, 0).await;
        scene.shutdown.cancel();
    };
    let (codes, ()) = tokio::join!(scene.calls("hang", 20), ends);
    assert_eq!(codes, ["unavailable"; 20]);
    timeout(PATIENCE, &mut scene.serving)
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    let report = scene.gateway.parts.admin.breaker.report();
    let counts = report.circuits[0].counts;
    assert_eq!((counts.calls, counts.faults), (0, 0));
    assert_eq!((report.calls.in_flight, report.calls.queued), (0, 0));
}
