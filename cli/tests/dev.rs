//! `archway dev` as a user runs it: started, called, stopped, killed.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::Value;
use tempfile::TempDir;

#[path = "dev/git_http.rs"]
mod git_http;
#[path = "dev/postgres.rs"]
mod postgres;
#[path = "dev/repositories.rs"]
mod repositories;
#[path = "dev/session.rs"]
mod session;

/// A data folder and a repository, readable by PostgreSQL's user even if the test runs as root.
struct Workspace(TempDir);

impl Workspace {
    fn new() -> Self {
        let workspace = tempfile::Builder::new()
            .prefix("archway-test-")
            .tempdir_in("/tmp")
            .unwrap();
        std::fs::create_dir(workspace.path().join("My Site")).unwrap();
        std::fs::write(workspace.path().join("My Site/greeting.txt"), "sesame\n").unwrap();
        Workspace(workspace)
    }

    fn data(&self) -> std::path::PathBuf {
        self.0.path().join("data")
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_archway"));
        command
            .args(["dev", "--json", "--port", "0", "--data"])
            .arg(self.data());
        command.arg("--repo").arg(self.0.path().join("My Site"));
        command
    }

    fn start(&self) -> Dev {
        Dev::start(&mut self.command())
    }

    fn server(&self) -> Pid {
        let file = self.data().join("postgres/postmaster.pid");
        let text = std::fs::read_to_string(file).unwrap();
        Pid::from_raw(text.lines().next().unwrap().parse().unwrap()).unwrap()
    }
}

struct Dev {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
    ready: Value,
    log: Log,
}

/// Its standard error so far. It is always read, because a full pipe would stop the process.
struct Log(Arc<Mutex<String>>);

impl Log {
    fn of(mut errors: std::process::ChildStderr) -> Log {
        let text = Arc::new(Mutex::new(String::new()));
        let written = Arc::clone(&text);
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(length @ 1..) = errors.read(&mut piece) {
                written
                    .lock()
                    .push_str(&String::from_utf8_lossy(&piece[..length]));
            }
        });
        Log(text)
    }

    fn text(&self) -> String {
        self.0.lock().clone()
    }

    /// How many of its lines contain a text.
    fn says(&self, what: &str) -> usize {
        let text = self.text();
        text.lines().filter(|line| line.contains(what)).count()
    }
}

impl Dev {
    fn start(command: &mut Command) -> Dev {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // From here on, dropping the value ends the process, however the test ends.
        let mut dev = Dev {
            log: Log::of(child.stderr.take().unwrap()),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
            ready: Value::Null,
        };
        let mut line = String::new();
        dev.output.read_line(&mut line).unwrap();
        assert!(line.starts_with('{'), "{line}{}", dev.log.text());
        dev.ready = serde_json::from_str(&line).unwrap();
        dev
    }

    fn text(&self, name: &str) -> &str {
        self.ready[name].as_str().unwrap()
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().try_into().unwrap()).unwrap()
    }

    /// The text of a tool's result.
    fn call(&self, tool: &str, arguments: &str) -> String {
        let answer = self.post(tool, arguments);
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        answer
    }

    /// The answer to a call, whatever its status.
    fn post(&self, tool: &str, arguments: &str) -> String {
        let address = self
            .text("url")
            .strip_prefix("http://")
            .unwrap()
            .strip_suffix("/mcp")
            .unwrap();
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
        );
        let mut stream = TcpStream::connect(address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
             Authorization: Bearer {}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n{body}",
            self.text("api_key"),
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// An answer of its admin port.
    fn admin(&self, path: &str) -> String {
        let address = self.text("admin_url").strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        let head = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn end(mut self, signal: Signal) -> (ExitStatus, String) {
        kill_process(self.pid(), signal).unwrap();
        let status = self.ended();
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        (status, rest)
    }

    /// Waits for its end, within a deadline.
    fn ended(&mut self) -> ExitStatus {
        let mut status = None;
        wait_until("dev ends", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap()
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        // Killing an ended process fails, and waiting for it returns at once.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = SystemTime::now() + Duration::from_secs(20);
    while !holds() {
        assert!(SystemTime::now() < deadline, "in vain: {what}");
        std::thread::yield_now();
    }
}

/// Whether a process is gone. A zombie that was not reaped has no command line.
fn is_gone(pid: Pid) -> bool {
    let line = std::fs::read(
        Path::new("/proc")
            .join(pid.as_raw_pid().to_string())
            .join("cmdline"),
    );
    test_kill_process(pid).is_err() || line.is_ok_and(|line| line.is_empty())
}

#[test]
fn dev_answers_calls_stops_cleanly_and_restarts_with_the_same_key() {
    let workspace = Workspace::new();
    let first = workspace.start();
    assert_eq!(
        (first.text("tenant"), first.text("project")),
        ("dev", "my-site")
    );
    assert!(first.admin("/readyz").starts_with("HTTP/1.1 200"));
    let found = first.call("grep_codebase", r#"{"pattern":"sesame"}"#);
    assert!(found.contains("greeting.txt"), "{found}");
    let metrics = first.admin("/metrics");
    for both in [
        "archway_gateway_",
        r#"archway_worker_tool_calls_total{tool="grep_codebase""#,
    ] {
        assert!(metrics.contains(both), "{both} in {metrics}");
    }
    assert_eq!(metrics.matches("# EOF\n").count(), 1);
    assert!(metrics.ends_with("# EOF\n"), "{metrics}");
    assert_eq!(first.log.text(), "", "a good start has nothing to tell");
    let (key, server) = (first.text("api_key").to_owned(), workspace.server());

    let refused = workspace.command().output().unwrap();
    assert!(!refused.status.success());
    let why = String::from_utf8(refused.stderr).unwrap();
    assert!(
        why.contains(&format!("(pid {})", first.child.id())),
        "{why}"
    );
    assert!(refused.stdout.is_empty());

    let (status, rest) = first.end(Signal::INT);
    assert!(status.success(), "{status}");
    assert_eq!(rest, "");
    assert!(is_gone(server));

    let second = workspace.start();
    assert_eq!(second.text("api_key"), key);
    second.call("hello", "{}");
    assert!(second.end(Signal::TERM).0.success());
}

#[test]
fn killed_it_takes_postgres_along_and_the_next_start_works() {
    let workspace = Workspace::new();
    let first = workspace.start();
    let (key, server) = (first.text("api_key").to_owned(), workspace.server());
    first.end(Signal::KILL);
    wait_until("PostgreSQL ends", || is_gone(server));

    let second = workspace.start();
    assert_eq!(second.text("api_key"), key);
    // This time without waiting for the old server to be gone.
    second.end(Signal::KILL);
    let third = workspace.start();
    third.call("hello", "{}");
    assert!(third.end(Signal::TERM).0.success());
}
