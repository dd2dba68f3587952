//! `/readyz` while dependencies come and go, and during shutdown.

use std::time::{Duration, SystemTime};

use rustix::process::Signal;

use crate::READ;
use crate::role::{Role, wait_until};
use crate::stage::Stage;

#[test]
fn readiness_fails_before_shutdown_and_a_second_signal_ends_at_once() {
    let stage = Stage::set();
    let worker = Role::start(stage.worker("127.0.0.1:0"));
    let mut polite = stage.gateway(&worker.address);
    polite.args(["--drain-delay", "60"]);
    let gateway = Role::start(polite);
    gateway.becomes(200, "ready");
    gateway.signal(Signal::TERM);
    gateway.becomes(503, "draining");
    let read = stage.call(&gateway, "read_file", READ).unwrap();
    assert!(read.body.contains("sesame"), "{read:?}");
    let asked = SystemTime::now();
    gateway.signal(Signal::TERM);
    assert_eq!(gateway.end().0, Some(130));
    assert!(asked.elapsed().unwrap() < Duration::from_secs(10));
}

#[test]
fn readiness_fails_without_workers_or_postgres_and_recovers() {
    let stage = Stage::set();
    // The connection to Postgres is a relay that can be stopped.
    let sockets = stage.database().get_socket().unwrap().clone();
    let link = stage.path("sockets");
    let url = stage.database().username("archway_gateway").socket(&link);
    let url = sqlx::ConnectOptions::to_url_lossy(&url).to_string();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = port.local_addr().unwrap().to_string();
    drop(port);
    let mut command = stage.gateway(&address);
    command
        .env("ARCHWAY_DATABASE_URL", url)
        .args(["--key-grace", "0"]);
    let gateway = Role::start(command);
    gateway.becomes(503, "no worker was seen yet");
    let worker = Role::start(stage.worker(&address));
    gateway.becomes(503, "postgres does not answer");
    // Workers are ready without Postgres.
    worker.becomes(200, "ready");
    let away = stage.call(&gateway, "hello", "{}").unwrap();
    assert!(
        away.status == 503 && away.head.contains("retry-after"),
        "{away:?}"
    );
    std::os::unix::fs::symlink(&sockets, &link).unwrap();
    gateway.becomes(200, "ready");
    wait_until("calls are answered", || {
        stage
            .call(&gateway, "read_file", READ)
            .unwrap()
            .body
            .contains("sesame")
    });

    std::fs::remove_file(&link).unwrap();
    stage.count(
        "select count(pg_terminate_backend(pid)) from pg_stat_activity \
         where datname = current_database() and usename = 'archway_gateway'",
    );
    gateway.becomes(503, "postgres does not answer");
    std::os::unix::fs::symlink(&sockets, &link).unwrap();
    gateway.becomes(200, "ready");

    std::fs::rename(stage.path("repos"), stage.path("elsewhere")).unwrap();
    worker.becomes(503, "the repositories can't be read");
    std::fs::rename(stage.path("elsewhere"), stage.path("repos")).unwrap();
    worker.becomes(200, "ready");
}

#[test]
fn an_unreachable_limit_store_is_reported_with_its_fallback() {
    let stage = Stage::set();
    let mut command = stage.gateway("127.0.0.1:1");
    command.env("ARCHWAY_LIMITS_URL", "redis://127.0.0.1:1");
    let gateway = Role::start(command);
    let told = "divided by the number of gateways, 1, until it is back (--limits-when-down shares); \
                gateways are not counted: name the address of all (--gateway-service)";
    let says = |level: &str, what: &str| {
        wait_until(&format!("{level} {what}"), || {
            let says = |line: String| line.contains(level) && line.contains(what);
            gateway
                .log
                .try_iter()
                .any(|line| line.contains(told) && says(line))
        });
    };
    // The store may still be starting; a lasting outage is logged as a warning.
    says("INFO", "the store of limits is not there yet");
    says("WARN", "the store of limits is away");
}

#[test]
fn a_gateway_registers_its_admin_port_and_removes_it_at_shutdown() {
    let stage = Stage::set();
    let said = || {
        let rows = sqlx::query_scalar("select admin from gateways").fetch_all(&stage.owner);
        let rows: Vec<String> = stage.runtime.block_on(rows).unwrap();
        rows
    };
    let (_worker, gateway) = stage.both();
    wait_until("it says so", || said() == [gateway.admin.clone()]);
    gateway.signal(Signal::TERM);
    assert_eq!(gateway.end().0, Some(0));
    assert!(said().is_empty());
}
