//! `archway gateway` and `archway worker` as separate processes that are started, called, stopped and
//! restarted.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::time::{Duration, SystemTime};

use rustix::process::Signal;

use http::get;
use refused::refusal;
use role::{Role, archway, wait_until};
use stage::Stage;

#[path = "roles/calling.rs"]
mod calling;

#[path = "roles/database.rs"]
mod database;

#[path = "../../tests/src/self_signed.rs"]
mod self_signed;

#[path = "roles/proxy.rs"]
mod proxy;

#[path = "roles/table_locks.rs"]
mod table_locks;

#[path = "roles/cached_tools.rs"]
mod cached_tools;

#[path = "roles/mirrors.rs"]
mod mirrors;

#[path = "roles/sync_stops.rs"]
mod sync_stops;

#[path = "roles/names.rs"]
mod names;

#[path = "roles/readiness.rs"]
mod readiness;

#[path = "roles/refused.rs"]
mod refused;

#[path = "roles/starts.rs"]
mod starts;

#[path = "roles/reported.rs"]
mod reported;

#[path = "roles/worker_tls.rs"]
mod worker_tls;

#[path = "processes/stage.rs"]
mod stage;

#[path = "processes/role.rs"]
mod role;

#[path = "processes/issued.rs"]
mod issued;

#[path = "processes/secured.rs"]
mod secured;

#[path = "processes/http.rs"]
mod http;

#[path = "processes/git_daemon.rs"]
mod git_daemon;

#[path = "processes/syncing.rs"]
mod syncing;

const READ: &str = r#"{"path":"greeting.txt"}"#;
/// How many workers wait for a lock.
const WAITING: &str = "select count(*) from pg_stat_activity where datname = current_database() \
                       and usename = 'archway_worker' and wait_event_type = 'Lock'";

#[test]
fn a_call_passes_gateway_and_worker_and_both_report_health() {
    let stage = Stage::set();
    let (worker, gateway) = stage.both();
    let read = stage.call(&gateway, "read_file", READ).unwrap();
    assert!(
        read.status == 200 && read.body.contains("sesame"),
        "{read:?}"
    );
    // A link out of the repository is not followed.
    let link = stage
        .call(&gateway, "read_file", r#"{"path":"passwd"}"#)
        .unwrap();
    assert!(link.body.contains(r#""isError":true"#), "{link:?}");
    assert!(!link.body.contains("root:"), "{link:?}");

    let confined = worker.log.recv().unwrap();
    let confined: serde_json::Value = serde_json::from_str(&confined).unwrap();
    let level = confined["fields"]["level"].as_str().unwrap_or_default();
    let said = confined["fields"]["message"].as_str().unwrap_or_default();
    assert!(
        ["Full", "Partial"].contains(&level) || said.starts_with("not confined"),
        "{confined}"
    );

    for role in [&worker, &gateway] {
        role.becomes(200, "ready");
        assert_eq!(get(&role.admin, "/healthz").unwrap().status, 200);
        let url = format!("http://{}", role.admin);
        let check = archway(&["healthcheck", "--admin-url", &url])
            .output()
            .unwrap();
        assert!(
            check.status.success() && check.stdout == b"ready\n",
            "{check:?}"
        );
    }
    let counted = get(&worker.admin, "/metrics").unwrap().body;
    let calls = r#"archway_worker_tool_calls_total{tool="read_file",outcome="ok"} 1"#;
    assert!(counted.contains(calls), "{counted}");

    let mounts = "select count(*) from worker_mounts m join projects p on p.id = m.project_id \
                  where worker = 'one' and pool = 'shared' and p.slug = 'site'";
    wait_until("the worker reported its mount", || stage.count(mounts) == 1);
    worker.signal(Signal::INT);
    assert_eq!(worker.end().0, Some(0));
    assert_eq!(stage.count("select count(*) from worker_mounts"), 0);
}

#[test]
fn a_stopping_gateway_finishes_its_calls_and_accepts_no_more() {
    let stage = Stage::set();
    let (worker, gateway) = stage.both();
    let table_locks = stage.hold_projects();
    let answer = stage.call_in_flight(&gateway, &worker);
    gateway.signal(Signal::TERM);
    gateway.becomes(503, "draining");
    wait_until("new connections are refused", || {
        get(&gateway.address, "/mcp").is_err()
    });
    let check = archway(&[
        "healthcheck",
        "--admin-url",
        &format!("http://{}", gateway.admin),
    ]);
    assert!(refusal(check).contains("not ready: draining"));
    drop(table_locks);
    let answer = answer.recv().unwrap().unwrap();
    assert!(answer.body.contains("sesame"), "{answer:?}");
    assert!(answer.head.contains("connection: close"), "{answer:?}");
    let (code, log) = gateway.end();
    assert_eq!(code, Some(0), "{log}");
    worker.becomes(200, "ready");
}

#[test]
fn calls_unfinished_at_shutdown_get_an_error_and_no_cut_connection() {
    let stage = Stage::set();
    let worker = Role::start(stage.worker("127.0.0.1:0"));
    let mut impatient = stage.gateway(&worker.address);
    impatient.args(["--drain-timeout", "1"]);
    let gateway = Role::start(impatient);
    gateway.becomes(200, "ready");
    let _held = stage.hold_projects();
    let answer = stage.call_in_flight(&gateway, &worker);
    gateway.signal(Signal::TERM);
    let answer = answer.recv().unwrap().unwrap();
    assert!(
        answer.status == 200 && answer.head.contains("connection: close"),
        "{answer:?}"
    );
    for told in [
        "unavailable",
        "this gateway is shutting down",
        "retry_after_seconds",
    ] {
        assert!(answer.body.contains(told), "{answer:?}");
    }
    assert_eq!(gateway.end().0, Some(0));
}

#[test]
fn a_stopping_worker_ends_its_calls_and_may_rejoin_its_gateway() {
    let stage = Stage::set();
    let mut impatient = stage.worker("127.0.0.1:0");
    impatient.env("ARCHWAY_DRAIN_TIMEOUT", "1");
    let worker = Role::start(impatient);
    let address = worker.address.clone();
    let gateway = Role::start(stage.gateway(&address));
    gateway.becomes(200, "ready");
    let table_locks = stage.hold_projects();
    let answer = stage.call_in_flight(&gateway, &worker);
    worker.signal(Signal::TERM);
    worker.becomes(503, "draining");
    let answer = answer.recv().unwrap().unwrap();
    for told in [
        "unavailable",
        "its worker is shutting down",
        "retry_after_seconds",
    ] {
        assert!(answer.body.contains(told), "{answer:?}");
    }
    let (code, log) = worker.end();
    assert_eq!(code, Some(0), "{log}");
    drop(table_locks);

    let nobody = stage.call(&gateway, "read_file", READ).unwrap();
    assert!(
        nobody.status == 200 && nobody.body.contains("unavailable"),
        "{nobody:?}"
    );
    gateway.becomes(200, "ready");
    let _worker = Role::start(stage.worker(&address));
    wait_until("calls are answered again", || {
        let read = stage.call(&gateway, "read_file", READ).unwrap();
        read.body.contains("sesame")
    });
}

#[test]
fn a_stopping_worker_finishes_its_calls() {
    let stage = Stage::set();
    let (worker, gateway) = stage.both();
    let table_locks = stage.hold_projects();
    let answer = stage.call_in_flight(&gateway, &worker);
    worker.signal(Signal::TERM);
    worker.becomes(503, "draining");
    drop(table_locks);
    let answer = answer.recv().unwrap().unwrap();
    assert!(answer.body.contains("sesame"), "{answer:?}");
    let (code, log) = worker.end();
    assert_eq!(code, Some(0), "{log}");
}

#[test]
fn a_frozen_gateway_delays_neither_a_workers_exit_nor_its_writes() {
    let stage = Stage::set();
    let mut impatient = stage.worker("127.0.0.1:0");
    impatient.env("ARCHWAY_DRAIN_TIMEOUT", "1");
    let worker = Role::start(impatient);
    let gateway = Role::start(stage.gateway(&worker.address));
    gateway.becomes(200, "ready");
    let _silent = std::net::TcpStream::connect(&worker.address).unwrap();
    // The writer waits for this lock, and the next read waits in the queue.
    let written = stage.hold("file_accesses");
    let read = || stage.call(&gateway, "read_file", READ).unwrap();
    assert!(read().body.contains("sesame"));
    wait_until("the writer waits", || stage.count(WAITING) == 1);
    assert!(read().body.contains("sesame"));

    gateway.signal(Signal::STOP);
    let asked = SystemTime::now();
    worker.signal(Signal::TERM);
    worker.becomes(503, "draining");
    drop(written);
    let (code, log) = worker.end();
    let took = asked.elapsed().unwrap();
    assert_eq!(code, Some(0), "{log}");
    assert!(
        log.contains("connections of unresponsive gateways are dropped"),
        "{log}"
    );
    assert!(!log.contains("queued rows are lost"), "{log}");
    assert!(took < Duration::from_secs(10), "{took:?}");
    let reads = "select sum(count)::bigint from file_accesses";
    assert_eq!(stage.count(reads), 2, "{log}");
}

#[test]
fn a_call_that_waits_past_its_deadline_is_answered_by_the_worker_itself() {
    let stage = Stage::set();
    let worker = Role::start(stage.worker("127.0.0.1:0"));
    let mut hasty = stage.gateway(&worker.address);
    hasty.args(["--call-deadline", "1"]);
    let gateway = Role::start(hasty);
    gateway.becomes(200, "ready");
    let _held = stage.hold_projects();
    let answer = stage.call(&gateway, "read_file", READ).unwrap();
    assert!(answer.body.contains("deadline_exceeded"), "{answer:?}");
    let counted = get(&worker.admin, "/metrics").unwrap().body;
    let told = r#"tool_calls_total{tool="read_file",outcome="deadline_exceeded"} 1"#;
    assert!(counted.contains(told), "{counted}");
}
