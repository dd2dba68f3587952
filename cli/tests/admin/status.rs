//! `archway status`.

use std::io::{Read, Write};
use std::net::TcpListener;

use serde_json::json;

use crate::installation::Installation;

#[test]
fn the_database_is_counted() {
    let installation = Installation::new();
    for tenant in ["acme", "zeta"] {
        installation.run(&format!("tenant create {tenant}")).ok();
    }
    installation.run("tenant disable zeta").ok();
    for project in ["site", "docs"] {
        installation
            .run(&format!("project add acme {project}"))
            .ok();
    }
    installation.run("project remove acme docs").ok();
    for _ in 0..3 {
        installation.run("key issue acme").ok();
    }
    installation.sql(
        "with k as (select id, row_number() over () as n from api_keys) \
         update api_keys set revoked_at = case when n = 1 then now() end, \
             expires_at = case when n = 2 then now() end from k where k.id = api_keys.id; \
         insert into worker_mounts (worker, pool, tenant_id, project_id, seen_at) \
         select 'worker-a', 'shared', tenant_id, id, now() - interval '20 seconds' from projects",
    );
    let status = installation.json("status");
    assert_eq!(status["ready"], true);
    assert_eq!(status["tenants"], json!({ "in_use": 1, "disabled": 1 }));
    assert_eq!(status["projects"], json!({ "served": 1, "removed": 1 }));
    assert_eq!(
        status["keys"],
        json!({ "live": 1, "expired": 1, "revoked": 1 })
    );
    let mut workers = status["workers"].clone();
    let ago = workers[0]["last_seen_seconds"].take().as_u64();
    assert!(ago.is_some_and(|ago| (20..90).contains(&ago)), "{ago:?}");
    let expected = json!([{
        "name": "worker-a", "pool": "shared", "projects": 2, "last_seen_seconds": null,
    }]);
    assert_eq!(workers, expected);
    let newest = installation.count("select max(version) from _sqlx_migrations");
    assert_eq!(status["schema"], newest);

    let shown = installation.run("status").ok();
    assert!(
        shown.contains("keys      1 live, 1 expired, 1 revoked"),
        "{shown}"
    );
    let row = shown.lines().find(|line| line.contains("worker-a  shared"));
    assert!(row.is_some_and(|row| row.ends_with(" s ago")), "{shown}");
    assert!(shown.contains("reported folders to Postgres"), "{shown}");
    assert!(shown.contains("no gateway was queried"), "{shown}");
}

/// Answers one request, like a gateway without `/status`. Returns its URL.
pub(crate) fn admin_port(status: &'static str, body: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 1024];
        let length = stream.read(&mut request).unwrap();
        assert!(request[..length].starts_with(b"GET /readyz HTTP/1.1\r\n"));
        let length = body.len();
        write!(
            stream,
            "HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
    });
    url
}

#[test]
fn gateways_are_queried_and_one_not_ready_fails_the_command() {
    let installation = Installation::new();
    let ready = admin_port("200 OK", "ready\n");
    let status = installation.json(&format!("status --admin-url {ready}"));
    assert_eq!(status["gateways"][0]["reason"], "ready");

    let ready = admin_port("200 OK", "ready\n");
    let waiting = admin_port("503 Service Unavailable", "no worker was seen yet\n");
    let nobody = "http://127.0.0.1:1";
    let all = format!("status --json --admin-url {ready},{waiting} --admin-url {nobody}");
    let done = installation.run(&all);
    assert_eq!(done.code, 1);
    assert!(
        done.err.contains(&waiting) && done.err.contains(nobody),
        "{}",
        done.err
    );
    assert!(!done.err.contains(&ready), "{}", done.err);
    let status: serde_json::Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(status["ready"], false);
    let verdicts: Vec<_> = status["gateways"].as_array().unwrap().iter().collect();
    assert_eq!(verdicts[0]["ready"], true);
    assert_eq!(verdicts[1]["reason"], "no worker was seen yet");
    assert_eq!(verdicts[2]["ready"], false);
}

/// Answers `/readyz`, then `/status` with `body`. Returns its URL.
pub(crate) fn telling_port(body: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for (path, body) in [("/readyz", "ready\n"), ("/status", &body)] {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 1024];
            let length = stream.read(&mut request).unwrap();
            let asked = format!("GET {path} HTTP/1.1\r\n");
            assert!(request[..length].starts_with(asked.as_bytes()));
            let length = body.len();
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
            stream.write_all(head.as_bytes()).unwrap();
            stream.write_all(body.as_bytes()).unwrap();
        }
    });
    url
}

#[test]
fn circuits_that_are_not_closed_are_shown_and_all_of_them_to_programs() {
    let installation = Installation::new();
    let circuit = |family: &str, state: &str| {
        json!({
            "pool": "shared", "family": family, "state": state,
            "calls": 12, "faults": 7, "slow": 0,
        })
    };
    let mut open = circuit("search", "open");
    open["retry_after_seconds"] = json!(4);
    let mut tenants = circuit("git", "half-open");
    tenants["tenant"] = json!("acme");
    let told = json!({
        "version": "9.9.9", "circuits": [open, circuit("files", "closed")],
        "tenant_circuits_open": [tenants], "tenant_circuits_open_total": 3,
    });
    let url = telling_port(told.to_string());
    let shown = installation.run(&format!("status --admin-url {url}")).ok();
    for (family, tenant, state, wait) in [
        ("search", "-", "open", "4 s"),
        ("git", "acme", "half-open", "-"),
    ] {
        let line = shown.lines().find(|line| line.contains(family));
        let cells: Vec<_> = line.unwrap().split_whitespace().collect();
        let wait = wait.split(' ');
        let expected: Vec<_> = [family, tenant, state].into_iter().chain(wait).collect();
        assert!(cells[2..].starts_with(&expected), "{shown}");
    }
    assert!(!shown.contains("files"), "{shown}");
    assert!(shown.contains("2 more tenants"), "{shown}");

    let url = telling_port(told.to_string());
    let status = installation.json(&format!("status --admin-url {url}"));
    assert_eq!(status["gateways"][0]["status"], told);
    let breakers = status["breakers"].as_array().unwrap();
    let of: Vec<_> = breakers
        .iter()
        .map(|it| (it["family"].as_str(), it["state"].as_str()))
        .collect();
    assert_eq!(
        of,
        [
            (Some("search"), Some("open")),
            (Some("git"), Some("half-open"))
        ]
    );
    assert!(breakers[0]["gateway"].as_str().unwrap().starts_with(&url));

    let closed = json!({ "circuits": [circuit("files", "closed")] });
    let url = telling_port(closed.to_string());
    let shown = installation.run(&format!("status --admin-url {url}")).ok();
    assert!(shown.contains("circuits: all closed"), "{shown}");
}

#[test]
fn calls_of_tools_are_added_up_over_gateways() {
    let installation = Installation::new();
    let told = |hello: u64, late: u64| {
        let sums = |invocations: u64, failures: u64| {
            json!({
                "invocations": invocations, "failures": failures, "timeouts": failures,
                "total_ms": 10 * invocations,
            })
        };
        json!({ "tools": { "hello": sums(hello, 0), "git_blame": sums(1, late) } }).to_string()
    };
    let urls = || format!("{},{}", telling_port(told(3, 0)), telling_port(told(4, 1)));
    let shown = installation
        .run(&format!("status --admin-url {}", urls()))
        .ok();
    let cells = |tool: &str| {
        let line = shown.lines().find(|line| line.starts_with(tool)).unwrap();
        line.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(cells("hello"), ["hello", "7", "0", "0", "10", "ms"]);
    assert_eq!(cells("git_blame"), ["git_blame", "2", "1", "1", "10", "ms"]);
    let status = installation.json(&format!("status --admin-url {}", urls()));
    assert_eq!(
        status["tools"]["hello"],
        json!({ "invocations": 7, "failures": 0, "timeouts": 0, "total_ms": 70 })
    );
}

#[test]
fn workers_and_the_store_of_limits_are_shown_as_each_gateway_sees_them() {
    let installation = Installation::new();
    let worker = |address: &str, state: &str, in_flight: u64| json!({ "pool": "gold", "address": address, "state": state, "in_flight": in_flight });
    let told = json!({
        "version": "9.9.9", "limits_store": "away",
        "workers": [worker("10.0.0.7:7000", "draining", 3), worker("10.0.0.8:7000", "away", 0)],
    });
    let (url, without) = (
        telling_port(told.to_string()),
        telling_port("{}".to_owned()),
    );
    let shown = installation
        .run(&format!("status --admin-url {url},{without}"))
        .ok();
    let line = |text: &str| shown.lines().find(|line| line.contains(text)).unwrap();
    for (address, rest) in [
        ("10.0.0.7:7000", "draining  3"),
        ("10.0.0.8:7000", "away      0"),
    ] {
        let row = line(address);
        assert!(row.contains(&url) && row.ends_with(rest), "{shown}");
        assert!(row.contains("  gold  "), "{shown}");
    }
    let store = line("store of limits: away at ");
    assert!(store.contains(&url) && !store.contains(&without), "{shown}");

    let url = telling_port(told.to_string());
    let status = installation.json(&format!("status --admin-url {url}"));
    assert_eq!(status["gateways"][0]["status"]["limits_store"], "away");
}
