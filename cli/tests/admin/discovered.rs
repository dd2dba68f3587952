//! Gateways that `archway status` discovers by their rows in Postgres.

use std::net::TcpListener;
use std::time::SystemTime;

use serde_json::json;

use crate::dev::{Home, PATIENCE};
use crate::installation::{CommandResult, Installation, bare};
use crate::status::{admin_port, telling_port};

/// Reports a running gateway, as of `ago` seconds ago.
fn runs(installation: &Installation, name: &str, host: &str, admin: &str, ago: u32) {
    installation.sql(&format!(
        "insert into gateways (id, name, host, admin, seen_at) values \
         (gen_random_uuid(), '{name}', '{host}', '{admin}', now() - interval '{ago} seconds')"
    ));
}

fn this_host() -> String {
    let system = rustix::system::uname();
    system.nodename().to_str().unwrap().to_owned()
}

#[test]
fn status_finds_running_gateways_and_queries_reachable_ones() {
    let installation = Installation::new();
    let here = this_host();
    let calls = json!({ "invocations": 3, "failures": 0, "timeouts": 0, "total_ms": 30 });
    let told = json!({ "tools": { "hello": calls } }).to_string();
    let url = telling_port(told);
    let admin = url.strip_prefix("http://").unwrap();
    runs(&installation, "a-here", &here, admin, 5);
    // None of these may be queried: the address is another host's, a public one, or outdated.
    let trap = TcpListener::bind("127.0.0.1:0").unwrap();
    trap.set_nonblocking(true).unwrap();
    let trapped = trap.local_addr().unwrap().to_string();
    runs(&installation, "b-elsewhere", "another-host", &trapped, 5);
    runs(&installation, "c-public", &here, "192.0.2.1:9090", 5);
    runs(&installation, "d-long-ago", &here, &trapped, 31);
    // A port that only root may open.
    runs(&installation, "e-gone", &here, "127.0.0.1:1", 5);

    let status = installation.json("status");
    assert_eq!(status["tools"]["hello"], calls, "{status}");
    assert_eq!(
        status["ready"], true,
        "who can't be reached decides nothing"
    );
    assert_eq!(status["gateways_running"], 4);
    let rows = status["gateways"].as_array().unwrap().iter();
    let rows: Vec<_> = rows
        .map(|row| (row["name"].as_str().unwrap(), row["reached"] == true))
        .collect();
    let expected = [
        ("a-here", true),
        ("b-elsewhere", false),
        ("c-public", false),
        ("e-gone", false),
    ];
    assert_eq!(rows, expected, "{status}");
    assert!(trap.accept().is_err(), "nobody came");
}

#[test]
fn status_fails_if_a_discovered_gateway_is_not_ready() {
    let installation = Installation::new();
    let waiting = admin_port("503 Service Unavailable", "no worker was seen yet\n");
    let admin = waiting.strip_prefix("http://").unwrap();
    runs(&installation, "a", &this_host(), admin, 0);
    let done = installation.run("status");
    assert_eq!(done.code, 1);
    assert!(done.out.contains("no worker was seen yet"), "{}", done.out);
    // If gateways are named, only those are queried.
    let ready = admin_port("200 OK", "ready\n");
    let status = installation.json(&format!("status --admin-url {ready}"));
    assert_eq!(status["gateways"].as_array().unwrap().len(), 1);
}

#[test]
fn status_of_a_running_dev_shows_its_tool_calls() {
    let home = Home::new();
    let dev = home.start("site");
    let text = |name: &str| dev.ready[name].as_str().unwrap().to_owned();
    for _ in 0..2 {
        let mut call = bare();
        call.args(["call", "hello", "--url", &text("url")]);
        CommandResult::of(call.env("ARCHWAY_API_KEY", text("api_key"))).ok();
    }
    let deadline = SystemTime::now() + PATIENCE;
    let status = loop {
        let status = home.run("status --json").json();
        if status["tools"]["hello"]["invocations"] == 2 || SystemTime::now() > deadline {
            break status;
        }
    };
    let admin = format!("{}/readyz", text("admin_url"));
    dev.stop();
    assert_eq!(status["tools"]["hello"]["invocations"], 2, "{status}");
    assert_eq!(status["gateways"][0]["ready"], true, "{status}");
    assert_eq!(status["gateways"][0]["url"], admin);
}
