//! The tools of a gateway that starts without workers: the last list that workers provided.

use rustix::process::Signal;

use crate::READ;
use crate::http::{Connection, HttpResponse, message};
use crate::role::{Role, wait_until};
use crate::stage::Stage;

const KEPT: &str = "select count(*) from catalogs where pool = 'shared'";

impl Stage {
    /// The answer to `tools/list`.
    fn list(&self, gateway: &Role) -> HttpResponse {
        let ask = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#;
        let mut connection = Connection::open(&gateway.address).unwrap();
        connection.exchange(&message(&self.key, ask)).unwrap()
    }

    /// Runs a statement as the database's owner. Returns the number of changed rows.
    fn change(&self, statement: &'static str) -> u64 {
        let done = sqlx::query(statement).execute(&self.owner);
        self.runtime.block_on(done).unwrap().rows_affected()
    }
}

/// A stage whose database has the tools of a worker that is gone. Returns the worker's address, and what a
/// gateway listed while the worker ran.
fn after_a_worker(stage: &Stage) -> (String, String) {
    let (worker, gateway) = stage.both();
    let address = worker.address.clone();
    let listed = stage.list(&gateway);
    assert!(listed.body.contains("grep_codebase"), "{listed:?}");
    wait_until("the tools are kept", || stage.count(KEPT) == 1);
    for role in [worker, gateway] {
        role.signal(Signal::KILL);
        role.end();
    }
    (address, listed.body)
}

/// Waits for a message in the gateway's log.
fn says(gateway: &Role, message: &str) {
    wait_until(message, || {
        gateway.log.try_iter().any(|line| line.contains(message))
    });
}

#[test]
fn a_gateway_without_workers_is_ready_and_lists_the_last_known_tools() {
    let stage = Stage::set();
    let (address, listed) = after_a_worker(&stage);
    let gateway = Role::start(stage.gateway(&address));
    gateway.becomes(200, "ready");
    assert_eq!(stage.list(&gateway).body, listed);
    let call = stage.call(&gateway, "read_file", READ).unwrap();
    assert!(
        call.status == 200 && call.body.contains("unavailable"),
        "{call:?}"
    );
    // Arguments are validated by its schemas as well.
    let wrong = stage.call(&gateway, "read_file", r#"{"path":5}"#).unwrap();
    assert!(wrong.body.contains("invalid_arguments"), "{wrong:?}");

    let _worker = Role::start(stage.worker(&address));
    wait_until("calls are answered", || {
        let call = stage.call(&gateway, "read_file", READ).unwrap();
        call.body.contains("sesame")
    });
    assert_eq!(stage.list(&gateway).body, listed);
}

#[test]
fn a_workers_tools_replace_the_stored_ones() {
    let stage = Stage::set();
    let (address, listed) = after_a_worker(&stage);
    // The tools of an older version's workers: one tool, with another name.
    let older = "update catalogs set tools = convert_to(replace(convert_from(tools, 'UTF8'), \
                 'grep_codebase', 'grep_of_old'), 'UTF8')";
    assert_eq!(stage.change(older), 1);
    let gateway = Role::start(stage.gateway(&address));
    gateway.becomes(200, "ready");
    assert!(stage.list(&gateway).body.contains("grep_of_old"));
    let _worker = Role::start(stage.worker(&address));
    wait_until("the worker's tools are listed", || {
        stage.list(&gateway).body == listed
    });
    let new = "select count(*) from catalogs where convert_from(tools, 'UTF8') like '%codebase%'";
    wait_until("the worker's tools are kept", || stage.count(new) == 1);
}

#[test]
fn a_corrupt_or_foreign_tool_list_does_not_count_as_a_worker() {
    let stage = Stage::set();
    let (address, listed) = after_a_worker(&stage);
    let never = "no catalogue is stored yet";
    let useless = "stored catalogue is invalid";
    for (statement, said) in [
        ("update catalogs set pool = 'other'", never),
        (
            "update catalogs set pool = 'shared', tools = 'nonsense'",
            useless,
        ),
        (
            r#"update catalogs set tools = '{"tools":[{"name":"hello"}]}'"#,
            useless,
        ),
        (r"update catalogs set tools = '\xff00'", useless),
    ] {
        assert_eq!(stage.change(statement), 1, "{statement}");
        let gateway = Role::start(stage.gateway(&address));
        says(&gateway, said);
        gateway.becomes(503, "no worker was seen yet");
        gateway.signal(Signal::KILL);
        gateway.end();
    }
    let gateway = Role::start(stage.gateway(&address));
    let _worker = Role::start(stage.worker(&address));
    gateway.becomes(200, "ready");
    assert_eq!(stage.list(&gateway).body, listed);
    // As bytes: the row is no valid text until it is repaired.
    let mended = "select count(*) from catalogs where position('hello'::bytea in tools) > 0";
    wait_until("the row is mended", || stage.count(mended) == 1);
}
