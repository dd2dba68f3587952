//! `archway call`, with a gateway and a worker as separate processes.

use std::net::TcpListener;
use std::process::{Command, Output, Stdio};

use rustix::process::Signal;
use serde_json::Value;

use crate::proxy::{Proxy, identity};
use crate::refused::refusal;
use crate::role::{Role, archway};
use crate::stage::Stage;

const HELLO: &str = "Hello from Archway!";

impl Stage {
    /// `archway call` at this address, with the stage's key.
    fn calling(&self, address: &str, arguments: &[&str]) -> Command {
        let mut command = archway(&["call"]);
        command
            .args(arguments)
            .env("ARCHWAY_URL", format!("http://{address}/mcp"))
            .env("ARCHWAY_API_KEY", &self.key);
        command
    }
}

/// The output of a command that must succeed.
fn printed(mut command: Command) -> String {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    let said = String::from_utf8(stderr).unwrap();
    assert!(status.success(), "{said}");
    String::from_utf8(stdout).unwrap()
}

#[test]
fn call_prints_the_tools_answer_with_a_key_from_environment_or_file() {
    let stage = Stage::set();
    let (_worker, gateway) = stage.both();
    let call = |arguments: &[&str]| stage.calling(&gateway.address, arguments);
    assert!(printed(call(&[])).contains(HELLO));
    let read = ["read_file", "--arguments", r#"{"path":"greeting.txt"}"#];
    assert!(printed(call(&read)).contains("sesame"));

    let file = stage.path("key");
    std::fs::write(&file, format!("{}\n", stage.key)).unwrap();
    let mut by_file = call(&["hello", "--json"]);
    by_file.env("ARCHWAY_API_KEY", "awy_of_another");
    by_file.env("ARCHWAY_API_KEY_FILE", &file);
    let result: Value = serde_json::from_str(&printed(by_file)).unwrap();
    assert_eq!(result["structuredContent"]["message"], HELLO);
    assert_eq!(result["resultType"], "complete");
}

#[test]
fn a_failed_tool_fails_the_command_with_its_suggestion() {
    let stage = Stage::set();
    let (_worker, gateway) = stage.both();
    let missing = ["read_file", "--arguments", r#"{"path":"missing.txt"}"#];
    let said = refusal(stage.calling(&gateway.address, &missing));
    let told = said.contains("read_file failed: file_not_found") && said.contains("list_files");
    assert!(told, "{said}");

    let mut whole = stage.calling(&gateway.address, &missing);
    let whole = whole.arg("--json").output().unwrap();
    let result: Value = serde_json::from_slice(&whole.stdout).unwrap();
    assert_eq!(whole.status.code(), Some(1));
    assert_eq!(result["isError"], true);
    // No retry: it would fail again.
    let mut patient = stage.calling(&gateway.address, &missing);
    patient.args(["--wait", "600"]);
    assert!(refusal(patient).contains("file_not_found"));
}

#[test]
fn a_refused_call_says_why_and_never_repeats_the_key() {
    let stage = Stage::set();
    let (_worker, gateway) = stage.both();
    let address = gateway.address.as_str();
    let mut wrong = stage.calling(address, &[]);
    wrong.env("ARCHWAY_API_KEY", "awy_sesame");
    let mut keyless = stage.calling(address, &[]);
    keyless.env_remove("ARCHWAY_API_KEY");
    let mut elsewhere = stage.calling(address, &[]);
    elsewhere.env("ARCHWAY_URL", format!("http://{address}/sse"));
    let misspelt = stage.calling(address, &["helo"]);
    let unnamed = stage.calling(address, &["größe"]);
    for (command, told) in [
        (wrong, ["401", "archway key issue"]),
        (keyless, ["ARCHWAY_API_KEY", "--key-file"]),
        (elsewhere, ["404", "/mcp"]),
        (misspelt, ["-32602", "did you mean hello?"]),
        (unnamed, ["-32602", "größe"]),
    ] {
        let said = refusal(command);
        assert!(told.iter().all(|told| said.contains(told)), "{said}");
        assert!(
            !said.contains("sesame") && !said.contains(&stage.key),
            "{said}"
        );
    }
}

#[test]
fn an_absent_gateway_is_reported_at_once_or_waited_for_on_request() {
    let stage = Stage::set();
    let (worker, gateway) = stage.both();
    let (of_worker, address) = (worker.address.clone(), gateway.address.clone());
    for role in [worker, gateway] {
        role.signal(Signal::KILL);
        role.end();
    }
    // In the gateway's database, a listener that closes connections.
    let nobody = TcpListener::bind(&address).unwrap();
    let impatient = stage.calling(&address, &[]).stderr(Stdio::piped()).spawn();
    drop(nobody.accept().unwrap());
    let said = impatient.unwrap().wait_with_output().unwrap();
    let text = String::from_utf8(said.stderr).unwrap();
    assert_eq!(said.status.code(), Some(1), "{text}");
    assert!(
        text.contains("can't be reached") && text.contains("--wait"),
        "{text}"
    );

    let mut patient = stage.calling(&address, &["hello", "--wait", "60"]);
    let patient = patient.stdout(Stdio::piped()).spawn().unwrap();
    drop(nobody.accept().unwrap());
    drop(nobody);
    let mut gateway = stage.gateway(&of_worker);
    gateway.env("ARCHWAY_LISTEN", &address);
    let gateway = Role::start(gateway);
    // The gateway runs, its worker does not.
    let unavailable = refusal(stage.calling(&gateway.address, &[]));
    assert!(unavailable.contains("unavailable"), "{unavailable}");
    let _worker = Role::start(stage.worker(&of_worker));
    let answered = patient.wait_with_output().unwrap();
    assert!(answered.status.success(), "{answered:?}");
    assert!(String::from_utf8(answered.stdout).unwrap().contains(HELLO));
}

#[test]
fn waiting_covers_an_unknown_key_and_a_proxy_without_backend() {
    let stage = Stage::set();
    let (_worker, gateway) = stage.both();
    let refusals = &[
        "401 Unauthorized",
        "503 Service Unavailable",
        "502 Bad Gateway",
    ];
    let proxy = Proxy::refusing(refusals, &gateway.address);
    let address = format!("127.0.0.1:{}", proxy.port);
    assert!(printed(stage.calling(&address, &["hello", "--wait", "60"])).contains(HELLO));
    proxy.was_passed();
}

#[test]
fn permanent_failures_are_not_waited_for() {
    let stage = Stage::set();
    for (statuses, told) in [
        (&["403 Forbidden"], "--allowed-host"),
        (&["429 Too Many Requests"], "try again in a minute"),
        (
            &["301 Moved Permanently"],
            "use the URL that it redirects to",
        ),
    ] {
        // There is no listener for a second request.
        let proxy = Proxy::refusing(statuses, "127.0.0.1:1");
        let address = format!("127.0.0.1:{}", proxy.port);
        let said = refusal(stage.calling(&address, &["hello", "--wait", "600"]));
        assert!(said.contains(statuses[0]) && said.contains(told), "{said}");
    }
}

#[test]
fn a_call_over_https_trusts_only_the_authorities_of_its_machine() {
    let stage = Stage::set();
    let (_worker, gateway) = stage.both();
    let (tls, certificate) = identity(&stage.path(""));
    let proxy = Proxy::secured(tls.clone(), &gateway.address);
    let mut call = stage.calling("", &[]);
    call.env("ARCHWAY_URL", format!("https://localhost:{}", proxy.port));
    call.env("SSL_CERT_FILE", &certificate);
    assert!(printed(call).contains(HELLO));
    proxy.was_passed();

    let elsewhere = stage.path("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let (_tls, stranger) = identity(&elsewhere);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut call = stage.calling("", &[]);
    call.env("ARCHWAY_URL", format!("https://localhost:{port}"));
    call.env("SSL_CERT_FILE", &stranger);
    let serving = std::thread::spawn(move || {
        let (socket, _) = listener.accept().unwrap();
        let connection = rustls::ServerConnection::new(tls).unwrap();
        let mut socket = rustls::StreamOwned::new(connection, socket);
        std::io::Read::read(&mut socket, &mut [0]).unwrap_err()
    });
    let said = refusal(call);
    assert!(said.contains("certificate"), "{said}");
    let heard = serving.join().unwrap().to_string();
    assert!(heard.contains("alert"), "{heard}");
}
