//! Default names of several workers and gateways on one host.

use rustix::process::Signal;
use sqlx::ConnectOptions;

use crate::READ;
use crate::role::{Role, archway, wait_until};
use crate::stage::Stage;

impl Stage {
    /// A worker without a configured name.
    fn nameless(&self) -> Role {
        let mut worker = self.worker("127.0.0.1:0");
        worker.env_remove("ARCHWAY_WORKER_NAME");
        Role::start(worker)
    }

    /// The names of the workers in `archway status`.
    fn shown(&self) -> Vec<String> {
        let mut status = archway(&["status", "--json"]);
        let url = self.database().to_url_lossy().to_string();
        let done = status.env("ARCHWAY_MIGRATE_DATABASE_URL", url).output();
        let status: serde_json::Value = serde_json::from_slice(&done.unwrap().stdout).unwrap();
        let workers = status["workers"].as_array().unwrap().iter();
        let mut names: Vec<String> = workers
            .map(|worker| worker["name"].as_str().unwrap().to_owned())
            .collect();
        names.sort();
        names
    }
}

/// The name that it logs.
fn called(role: &Role) -> String {
    let host = rustix::system::uname();
    let port = role.address.rsplit(':').next().unwrap();
    format!("{}-{port}", host.nodename().to_str().unwrap())
}

#[test]
fn workers_of_one_host_have_names_of_their_own_and_status_shows_each() {
    let stage = Stage::set();
    let workers = [stage.nameless(), stage.nameless()];
    let mut names: Vec<String> = workers.iter().map(called).collect();
    names.sort();
    wait_until("both are shown", || stage.shown() == names);
}

#[test]
fn workers_that_were_given_one_name_are_both_shown() {
    let stage = Stage::set();
    let [first, second] = [stage.worker("127.0.0.1:0"), stage.worker("127.0.0.1:0")];
    let (first, _second) = (Role::start(first), Role::start(second));
    wait_until("both are shown", || stage.shown() == ["one", "one"]);
    // A worker that ends takes back what it reported, and not what the other did.
    first.signal(Signal::TERM);
    assert_eq!(first.end().0, Some(0));
    assert_eq!(stage.shown(), ["one"]);
}

#[test]
fn gateways_of_one_host_have_names_of_their_own_in_audit_records() {
    let stage = Stage::set();
    let worker = Role::start(stage.worker("127.0.0.1:0"));
    for _ in 0..2 {
        let gateway = Role::start(stage.gateway(&worker.address));
        gateway.becomes(200, "ready");
        let read = stage.call(&gateway, "read_file", READ).unwrap();
        assert!(read.body.contains("sesame"), "{read:?}");
        let name = called(&gateway);
        wait_until("it begins its chain by that name", || {
            let begun = "select record from audit_records where number = 1";
            let records = sqlx::query_scalar(begun).fetch_all(&stage.owner);
            let records: Vec<String> = stage.runtime.block_on(records).unwrap();
            records.iter().any(|record| record.contains(&name))
        });
    }
}
