//! `archway audit`, for the calls of a running `archway dev`.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::dev::{Dev, Home};
use crate::installation::Installation;

/// Calls `hello` once.
pub(crate) fn call(dev: &Dev) {
    let url = dev.ready["url"].as_str().unwrap();
    let address = url.trim_start_matches("http://").trim_end_matches("/mcp");
    let message = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "hello", "arguments": {} },
    });
    let body = message.to_string();
    let mut socket = TcpStream::connect(address).unwrap();
    write!(
        socket,
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nAccept: application/json\r\nConnection: close\r\n\
         Content-Length: {}\r\n\r\n{body}",
        dev.key(),
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("Hello from Archway!"), "{answer}");
}

/// Three calls of a `dev` that ended and so flushed its records, and a new `dev` that runs.
fn called() -> (Home, Dev) {
    let home = Home::new();
    let dev = home.start("site");
    for _ in 0..3 {
        call(&dev);
    }
    dev.stop();
    let dev = home.start("site");
    (home, dev)
}

/// One JSON document a line.
pub(crate) fn lines(text: &str) -> Vec<Value> {
    let lines = text.lines().filter(|line| !line.is_empty());
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn calls_are_exported_a_line_each_and_verified() {
    let (home, dev) = called();
    let exported = lines(&home.run("audit export --tenant dev").ok());
    let kinds: Vec<&str> = exported
        .iter()
        .map(|line| line["record"]["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["begin", "call", "call", "call", "end"]);
    assert_eq!(exported[1]["record"]["tool"], "hello");
    assert_eq!(exported[1]["tenant"], "dev");
    assert!(exported[1]["at"].as_str().unwrap().ends_with('Z'));
    let none = home
        .run("audit export --tenant dev --until 2020-01-01")
        .ok();
    assert_eq!(lines(&none), Vec::<Value>::new());

    let verified = home.run("audit verify --json").json();
    assert_eq!(verified["intact"], true);
    let chain = &verified["tenants"][0]["chains"][0];
    assert_eq!(
        (&chain["records"], &chain["ended"]),
        (&json!(5), &json!(true))
    );
    assert_eq!(chain["last"]["mac"], exported[4]["mac"]);
    let shown = home.run("audit verify").ok();
    assert!(shown.contains("intact"), "{shown}");
    dev.stop();
}

#[test]
fn a_removed_chain_is_detected() {
    let (home, dev) = called();
    let verified = home.run("audit verify --json").json();
    let mut known = verified.clone();
    let chain = json!({
        "chain": "01890a5d-ac96-774b-bcce-b302099a8057", "last": { "number": 9, "mac": "00".repeat(32) },
    });
    known["tenants"][0]["chains"]
        .as_array_mut()
        .unwrap()
        .push(chain);
    let file = home.path("known.json");
    std::fs::write(&file, known.to_string()).unwrap();
    let done = home.run(&format!("audit verify --known {}", file.display()));
    assert_eq!(done.code, 1);
    assert!(done.out.contains("records 1 to 9 are gone"), "{}", done.out);
    assert!(done.err.contains("not what gateways wrote"), "{}", done.err);

    std::fs::write(&file, verified.to_string()).unwrap();
    home.run(&format!("audit verify --known {}", file.display()))
        .ok();
    std::fs::write(&file, "{}").unwrap();
    let refusal = home
        .run(&format!("audit verify --known {}", file.display()))
        .refusal();
    assert!(refusal.contains("this is not what"), "{refusal}");
    dev.stop();
}

#[test]
fn past_months_are_pruned_once_confirmed_and_the_current_one_never() {
    let installation = Installation::new();
    installation.run("tenant create acme").ok();
    installation.sql(
        "create table audit_records_2020_01 partition of audit_records \
             for values from ('2020-01-01Z') to ('2020-02-01Z'); \
         insert into audit_records (tenant_id, chain, number, at, record, mac) \
             select id, gen_random_uuid(), 1, '2020-01-15Z', '{\"kind\":\"begin\"}', \
                    sha256('x') from tenants;",
    );
    let unsure = installation.run("audit prune --before 2020-02").refusal();
    assert!(unsure.contains("add --confirm 2020-02"), "{unsure}");
    let tampered = installation.run("audit prune --before 2020-02 --confirm 2020-02");
    assert!(tampered.refusal().contains("nothing was removed"));
    assert_eq!(installation.count("select count(*) from audit_records"), 1);
    installation.sql("delete from audit_records");
    let done = installation.json("audit prune --before 2020-02 --confirm 2020-02");
    assert_eq!(
        done,
        json!({ "before": "2020-02", "months": 1, "changes": 0 })
    );
    let partitions = "select count(*) from pg_inherits where inhparent = 'audit_records'::regclass";
    assert_eq!(installation.count(partitions), 0);
    let later = installation
        .run("audit prune --before 2999-01 --confirm 2999-01")
        .refusal();
    assert!(
        later.contains("a month can be pruned a day after"),
        "{later}"
    );
}
