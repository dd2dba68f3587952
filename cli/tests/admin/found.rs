//! Gateways that `archway status` finds by what they told Postgres.

use std::net::TcpListener;
use std::time::SystemTime;

use serde_json::json;

use crate::dev::{Home, PATIENCE};
use crate::place::{Done, Place, bare};
use crate::status::{admin_port, telling_port};

/// Says that a gateway runs, `ago` seconds ago.
fn runs(place: &Place, name: &str, host: &str, admin: &str, ago: u32) {
    place.sql(&format!(
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
    let place = Place::new();
    let here = this_host();
    let calls = json!({ "invocations": 3, "failures": 0, "timeouts": 0, "total_ms": 30 });
    let told = json!({ "tools": { "hello": calls } }).to_string();
    let url = telling_port(told);
    let admin = url.strip_prefix("http://").unwrap();
    runs(&place, "a-here", &here, admin, 5);
    // Nobody may connect to these: the address is another host's, a stranger's, or of long ago.
    let trap = TcpListener::bind("127.0.0.1:0").unwrap();
    trap.set_nonblocking(true).unwrap();
    let trapped = trap.local_addr().unwrap().to_string();
    runs(&place, "b-elsewhere", "another-host", &trapped, 5);
    runs(&place, "c-public", &here, "192.0.2.1:9090", 5);
    runs(&place, "d-long-ago", &here, &trapped, 31);
    // A port that nobody but root may open.
    runs(&place, "e-gone", &here, "127.0.0.1:1", 5);

    let status = place.json("status");
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
    let place = Place::new();
    let waiting = admin_port("503 Service Unavailable", "no worker was seen yet\n");
    let admin = waiting.strip_prefix("http://").unwrap();
    runs(&place, "a", &this_host(), admin, 0);
    let done = place.run("status");
    assert_eq!(done.code, 1);
    assert!(done.out.contains("no worker was seen yet"), "{}", done.out);
    // Those that are named are asked, and no others.
    let ready = admin_port("200 OK", "ready\n");
    let status = place.json(&format!("status --admin-url {ready}"));
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
        Done::of(call.env("ARCHWAY_API_KEY", text("api_key"))).ok();
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
