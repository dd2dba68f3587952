//! TLS to Postgres under a private authority, including reconnects and confined workers.

use std::path::Path;
use std::process::Command;

use archway_repo::confine::{Confinement, confine};
use archway_store::UNTRUSTED_CERTIFICATE;

use crate::issued::Issued;
use crate::refused::refusal;
use crate::role::{Role, archway, wait_until};
use crate::secured::{PASSWORD, Secured};
use crate::stage::{Stage, private};

const TENANTS: &str =
    "{tenants: [{slug: acme, projects: [{slug: site}], keys: [{label: ci, from_env: CI}]}]}";

/// The output of a command that must succeed.
fn printed(command: &mut Command) -> String {
    let done = command.output().unwrap();
    assert!(done.status.success(), "{done:?}");
    String::from_utf8(done.stdout).unwrap()
}

/// Waits until a log line contains all texts. No line may contain the password.
fn says(role: &Role, told: &[&str]) {
    wait_until(&format!("a line says {told:?}"), || {
        role.log.try_iter().any(|line| {
            assert!(!line.contains(PASSWORD), "{line}");
            told.iter().all(|told| line.contains(told))
        })
    });
}

/// Whether this kernel can confine a worker.
fn confines() -> bool {
    let level = std::thread::spawn(|| confine(&[], &[]).unwrap()).join();
    level.unwrap() != Confinement::Absent
}

impl Stage {
    /// An authority, and a server with its certificate for `localhost`.
    fn secured(&self) -> (Issued, Secured) {
        let issued = self.issue("postgres", "localhost");
        let secured = Secured::start(&self.runtime, &issued);
        (issued, secured)
    }

    /// An `archway` command, as the owner of the database at `url`.
    fn owner(&self, url: &str, arguments: &[&str]) -> Command {
        let mut command = archway(arguments);
        command.env("ARCHWAY_MIGRATE_DATABASE_URL", url);
        command.env("ARCHWAY_SECRET_FILE", self.path("secret"));
        command
    }

    /// Migrates, sets the roles' passwords and creates a tenant. Returns its key.
    fn furnish(&self, url: &str) -> String {
        let (password, tenants) = (self.path("password"), self.path("tenants.yaml"));
        private(&password, PASSWORD);
        std::fs::write(&tenants, TENANTS).unwrap();
        let mut migrate = self.owner(url, &["migrate"]);
        migrate.arg("--gateway-password-file").arg(&password);
        migrate.arg("--worker-password-file").arg(&password);
        printed(&mut migrate);
        let key = printed(&mut archway(&["key", "generate"]));
        let mut apply = self.owner(url, &["apply", "--file"]);
        printed(apply.arg(tenants).env("CI", key.trim()));
        key.trim().to_owned()
    }

    fn worker_of(&self, url: &str) -> Command {
        let mut worker = self.worker("127.0.0.1:0");
        worker.env("ARCHWAY_DATABASE_URL", url);
        worker
    }

    fn gateway_of(&self, url: &str, worker: &str) -> Command {
        let mut gateway = self.gateway(worker);
        gateway.env("ARCHWAY_DATABASE_URL", url);
        gateway
    }
}

#[test]
fn a_private_authority_is_trusted_even_after_its_file_is_replaced() {
    let mut stage = Stage::set();
    let (issued, mut secured) = stage.secured();
    let url = |role| secured.url(role, "localhost", &issued.authority);
    stage.key = stage.furnish(&url("archway"));
    let mut worker = stage.worker_of(&url("archway_worker"));
    if confines() {
        worker.arg("--require-confinement");
    }
    let worker = Role::start(worker);
    let gateway = Role::start(stage.gateway_of(&url("archway_gateway"), &worker.address));
    gateway.becomes(200, "ready");
    let write = |event: &str| {
        let entry = format!(r#"{{"timestamp":"2026-01-07T14:00:00Z","event":"{event}"}}"#);
        let arguments = format!(r#"{{"file":"progress_log.jsonl","entry":{entry}}}"#);
        let answer = stage
            .call(&gateway, "write_memory_entry", &arguments)
            .unwrap();
        answer.status == 200 && !answer.body.contains(r#""isError":true"#)
    };
    assert!(write("before"));

    // As certificate renewal does it: another file takes the name.
    let renewed = stage.path("renewed");
    std::fs::copy(&issued.authority, &renewed).unwrap();
    std::fs::rename(&renewed, &issued.authority).unwrap();
    secured.end();
    assert!(!write("between"));
    secured.begin();
    wait_until("memory is written again", || write("after"));
    let read = stage.call(&gateway, "search_memory", "{}").unwrap();
    assert!(
        read.body.contains("before") && read.body.contains("after"),
        "{read:?}"
    );
}

#[test]
fn a_wrong_authority_or_host_is_refused_with_advice_and_no_password() {
    let stage = Stage::set();
    let (issued, secured) = stage.secured();
    let other = stage.issue("other", "localhost");
    for (host, authority, reason) in [
        ("localhost", &other.authority, "UnknownIssuer"),
        ("127.0.0.1", &issued.authority, "not valid for name"),
    ] {
        let url = |role| secured.url(role, host, authority);
        for command in [&["migrate"][..], &["tenant", "list"]] {
            let said = refusal(stage.owner(&url("archway"), command));
            let told = [UNTRUSTED_CERTIFICATE, reason];
            assert!(told.iter().all(|told| said.contains(told)), "{said}");
            assert!(!said.contains(PASSWORD), "{said}");
        }
        let worker = Role::start(stage.worker_of(&url("archway_worker")));
        let gateway = Role::start(stage.gateway_of(&url("archway_gateway"), &worker.address));
        says(&worker, &[UNTRUSTED_CERTIFICATE, reason]);
        says(&gateway, &[reason]);
        gateway.becomes(503, UNTRUSTED_CERTIFICATE);
    }
}

#[test]
fn a_file_of_the_url_that_is_missing_another_or_unasked_stops_the_start() {
    let stage = Stage::set();
    let issued = stage.issue("postgres", "localhost");
    let missing = stage.path("missing");
    let url = |mode: &str, file: &Path| {
        let file = file.display();
        format!("postgres://a:{PASSWORD}@127.0.0.1:1/archway?sslmode={mode}&sslrootcert={file}")
    };
    for (url, told) in [
        (url("verify-full", &missing), "can't be read"),
        (url("verify-full", &issued.key), "holds no certificate"),
        (url("require", &issued.authority), "add one of them"),
    ] {
        for command in [
            stage.owner(&url, &["migrate"]),
            stage.owner(&url, &["tenant", "list"]),
            stage.worker_of(&url),
            stage.gateway_of(&url, "127.0.0.1:1"),
        ] {
            let said = refusal(command);
            let clean = !said.contains(PASSWORD) && !said.contains("BEGIN");
            assert!(said.contains(told) && clean, "{told} in {said}");
        }
    }
}
