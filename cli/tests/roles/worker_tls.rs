//! TLS between gateway and worker: which certificates are trusted, and no fallback to plain text.

use std::path::PathBuf;

use serde_json::Value;

use crate::READ;
use crate::http::get;
use crate::issued::Issued;
use crate::refused::refusal;
use crate::role::{Role, archway, wait_until};
use crate::stage::Stage;

impl Stage {
    /// A worker with TLS, and its address by name for gateways.
    fn secured_worker(&self, issued: &Issued) -> (Role, String) {
        let mut worker = self.worker("127.0.0.1:0");
        worker.env("ARCHWAY_TLS_CERT_FILE", &issued.certificate);
        worker.env("ARCHWAY_TLS_KEY_FILE", &issued.key);
        let worker = Role::start(worker);
        let named = by_name(&worker);
        (worker, named)
    }

    /// A gateway that trusts this authority.
    fn believing(&self, authority: &Issued, worker: &str) -> Role {
        let mut gateway = self.gateway(worker);
        gateway.env("ARCHWAY_WORKER_CA_FILE", &authority.authority);
        Role::start(gateway)
    }

    /// Asserts that the gateway considers the worker down and reports so to calls. Returns its log.
    fn has_no_worker(&self, gateway: Role) -> String {
        wait_until("the worker is away", || state(&gateway) == "away");
        let told = self.call(&gateway, "read_file", READ).unwrap();
        let unavailable = told.status == 200 && told.body.contains("unavailable");
        assert!(unavailable && !told.body.contains("sesame"), "{told:?}");
        assert_ne!(get(&gateway.admin, "/readyz").unwrap().status, 200);
        gateway.signal(rustix::process::Signal::KILL);
        gateway.end().1
    }
}

fn by_name(worker: &Role) -> String {
    worker.address.replace("127.0.0.1", "localhost")
}

/// The state of the gateway's one worker.
fn state(gateway: &Role) -> String {
    let status = get(&gateway.admin, "/status").unwrap().body;
    let status: Value = serde_json::from_str(&status).unwrap();
    let state = status["workers"][0]["state"].as_str();
    state.unwrap_or_default().to_owned()
}

#[test]
fn calls_go_by_tls_to_a_worker_whose_certificate_is_for_its_name() {
    let stage = Stage::set();
    let issued = stage.issue("tls", "localhost");
    let (worker, named) = stage.secured_worker(&issued);
    let gateway = stage.believing(&issued, &named);
    gateway.becomes(200, "ready");
    let read = stage.call(&gateway, "read_file", READ).unwrap();
    assert!(read.body.contains("sesame"), "{read:?}");
    assert_eq!(state(&gateway), "ready");
    // Probes use plain HTTP.
    worker.becomes(200, "ready");

    // TLS does not authenticate callers.
    let (private, public) = (stage.path("other"), stage.path("other.pub"));
    let mut make = archway(&["pass-key", "generate", "--private"]);
    make.arg(&private).arg("--public").arg(public);
    assert!(make.output().unwrap().status.success());
    let mut stranger = stage.gateway(&named);
    stranger.env("ARCHWAY_WORKER_CA_FILE", &issued.authority);
    stranger.env("ARCHWAY_PASS_KEY_FILE", &private);
    let stranger = Role::start(stranger);
    let denied = stage.call(&stranger, "read_file", READ).unwrap();
    let refused = denied.body.contains(r#""isError":true"#);
    assert!(refused && !denied.body.contains("sesame"), "{denied:?}");
    // Only calls over TLS carry a pass that can be refused: the call's own, or the gateway's for the list of
    // tools, after which it considers the worker down.
    let says_why = || {
        let mut lines = worker.log.try_iter();
        lines.any(|line| line.contains("pass refused"))
    };
    wait_until("the worker says why", says_why);
}

#[test]
fn an_untrusted_worker_counts_as_down_and_is_logged_once() {
    let stage = Stage::set();
    let issued = stage.issue("tls", "localhost");
    let (_worker, named) = stage.secured_worker(&issued);
    let other = stage.issue("other", "localhost");
    let misnamed = stage.issue("misnamed", "worker.example");
    let (_misnamed, elsewhere) = stage.secured_worker(&misnamed);
    for (gateway, reason) in [
        (stage.believing(&other, &named), "UnknownIssuer"),
        (stage.believing(&misnamed, &elsewhere), "not valid for name"),
    ] {
        let log = stage.has_no_worker(gateway);
        assert_eq!(log.matches("worker not trusted").count(), 1, "{log}");
        assert!(log.contains(reason), "{reason} in {log}");
        assert!(!log.contains("BEGIN") && !log.contains("PRIVATE"), "{log}");
    }
}

#[test]
fn no_side_falls_back_to_plain_text() {
    let stage = Stage::set();
    let issued = stage.issue("tls", "localhost");
    let (secured, named) = stage.secured_worker(&issued);
    stage.has_no_worker(Role::start(stage.gateway(&named)));
    let warned = "a connection did not open with TLS";
    wait_until("the worker says so", || {
        secured.log.try_iter().any(|line| line.contains(warned))
    });

    let plain = Role::start(stage.worker("127.0.0.1:0"));
    let log = stage.has_no_worker(stage.believing(&issued, &by_name(&plain)));
    assert!(log.contains("TLS handshake failed"), "{log}");
}

#[test]
fn a_replaced_authority_is_trusted_without_a_restart() {
    let stage = Stage::set();
    let issued = stage.issue("tls", "localhost");
    let other = stage.issue("other", "localhost");
    let (_worker, named) = stage.secured_worker(&issued);
    let gateway = stage.believing(&other, &named);
    wait_until("the worker is away", || state(&gateway) == "away");
    std::fs::copy(&issued.authority, &other.authority).unwrap();
    gateway.becomes(200, "ready");
    let read = stage.call(&gateway, "read_file", READ).unwrap();
    assert!(read.body.contains("sesame"), "{read:?}");
}

#[test]
fn missing_or_mismatched_tls_files_stop_the_start() {
    let stage = Stage::set();
    let issued = stage.issue("tls", "localhost");
    let other = stage.issue("other", "localhost");
    let gateway = |authority: PathBuf| {
        let mut gateway = stage.gateway("127.0.0.1:1");
        gateway.env("ARCHWAY_WORKER_CA_FILE", authority);
        refusal(gateway)
    };
    let worker = |certificate: PathBuf, key: PathBuf| {
        let mut worker = stage.worker("127.0.0.1:0");
        worker.env("ARCHWAY_TLS_CERT_FILE", certificate);
        worker.env("ARCHWAY_TLS_KEY_FILE", key);
        refusal(worker)
    };
    let missing = stage.path("missing");
    let (certificate, key) = (issued.certificate, issued.key);
    for (said, told) in [
        (gateway(missing.clone()), "ARCHWAY_WORKER_CA_FILE"),
        (gateway(key.clone()), "it holds no certificate"),
        (
            worker(missing.clone(), key.clone()),
            "ARCHWAY_TLS_CERT_FILE",
        ),
        (worker(certificate.clone(), missing), "ARCHWAY_TLS_KEY_FILE"),
        (worker(certificate.clone(), other.key), "is not the key of"),
        (worker(key, certificate.clone()), "holds no certificate"),
    ] {
        assert!(said.contains(told), "{told} in {said}");
        assert!(!said.contains("BEGIN"), "{said}");
    }
    // Half of the pair is refused as well.
    let mut half = stage.worker("127.0.0.1:0");
    half.env("ARCHWAY_TLS_CERT_FILE", &certificate);
    let half = half.output().unwrap();
    let said = String::from_utf8(half.stderr).unwrap();
    assert!(
        half.status.code() == Some(2) && said.contains("--tls-key"),
        "{said}"
    );
}

#[test]
fn a_damaged_private_key_is_reported_without_its_text() {
    let stage = Stage::set();
    let issued = stage.issue("tls", "localhost");
    let text = std::fs::read_to_string(&issued.key).unwrap();
    let flat = stage.path("flat.key");
    std::fs::write(&flat, text.replace('\n', "")).unwrap();
    let mut worker = stage.worker("127.0.0.1:0");
    worker.env("ARCHWAY_TLS_CERT_FILE", &issued.certificate);
    worker.env("ARCHWAY_TLS_KEY_FILE", &flat);
    let mut gateway = stage.gateway("127.0.0.1:1");
    gateway.env("ARCHWAY_WORKER_CA_FILE", &flat);
    let secret = text.lines().nth(1).unwrap();
    let decimals = format!("{:?}", secret.as_bytes());
    let decimals = decimals.trim_matches(['[', ']']);
    for said in [refusal(worker), refusal(gateway)] {
        assert!(said.contains("a section has no END line"), "{said}");
        assert!(!said.contains(secret) && !said.contains(decimals), "{said}");
    }
}

#[test]
fn a_removed_authority_is_not_trusted_by_new_connections() {
    let stage = Stage::set();
    let issued = stage.issue("tls", "localhost");
    let other = stage.issue("other", "localhost");
    let (worker, named) = stage.secured_worker(&issued);
    let gateway = stage.believing(&issued, &named);
    gateway.becomes(200, "ready");
    std::fs::rename(&other.authority, &issued.authority).unwrap();
    // Existing connections are not verified again.
    let read = stage.call(&gateway, "read_file", READ).unwrap();
    assert!(read.body.contains("sesame"), "{read:?}");

    let address = worker.address.clone();
    worker.signal(rustix::process::Signal::KILL);
    worker.end();
    let mut again = stage.worker(&address);
    again.env("ARCHWAY_TLS_CERT_FILE", &issued.certificate);
    again.env("ARCHWAY_TLS_KEY_FILE", &issued.key);
    let again = Role::start(again);
    again.becomes(200, "ready");
    let not_believed = || {
        let mut lines = gateway.log.try_iter();
        lines.any(|line| line.contains("worker not trusted") && line.contains("UnknownIssuer"))
    };
    wait_until("the gateway says why", not_believed);
    let told = stage.call(&gateway, "read_file", READ).unwrap();
    let unavailable = told.status == 200 && told.body.contains("unavailable");
    assert!(unavailable && !told.body.contains("sesame"), "{told:?}");
    assert_eq!(state(&gateway), "away");
}
