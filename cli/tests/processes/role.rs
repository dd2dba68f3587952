//! A role as a process. Its addresses are read from its log.
//!
//! The log is always read, because a full pipe would stop the process.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, SystemTime};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::http::get;

/// Longer than any wait takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
/// Between two polls of a condition.
pub(crate) const LOOK: Duration = Duration::from_millis(20);

/// A running process.
pub(crate) struct Role {
    child: Child,
    pub(crate) address: String,
    pub(crate) admin: String,
    /// The lines of its log after the one with its addresses.
    pub(crate) log: Receiver<String>,
}

impl Role {
    /// Starts it, and returns once it has logged its addresses.
    pub(crate) fn start(mut command: Command) -> Role {
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = lines(child.stderr.take().unwrap());
        // A gateway may log that it found its workers before its addresses.
        let fields = log.iter().find_map(|line| {
            let said: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"));
            let fields = said["fields"].clone();
            fields["admin"].is_string().then_some(fields)
        });
        let fields = fields.unwrap();
        let text = |name: &str| fields[name].as_str().unwrap().to_owned();
        Role {
            child,
            // `archway sync` has a port of webhooks instead.
            address: fields["address"]
                .as_str()
                .map_or_else(|| text("hooks"), str::to_owned),
            admin: text("admin"),
            log,
        }
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.id().try_into().unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Waits until `/readyz` answers with this status and reason.
    pub(crate) fn becomes(&self, status: u16, reason: &str) {
        wait_until(&format!("{status} {reason}"), || {
            let answer = get(&self.admin, "/readyz");
            answer.is_ok_and(|answer| answer.status == status && answer.body.trim() == reason)
        });
    }

    /// Waits for its end. Returns the exit code and the rest of its log.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let rest: Vec<String> = self.log.iter().collect();
        (self.child.wait().unwrap().code(), rest.join("\n"))
    }
}

impl Drop for Role {
    fn drop(&mut self) {
        // It has usually ended already.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn lines(log: std::process::ChildStderr) -> Receiver<String> {
    let (send, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(log).lines() {
            send.send(line.unwrap()).ok();
        }
    });
    lines
}

/// The binary without the environment of the tests: no options, no proxies, no defaults for Postgres
/// connections.
pub(crate) fn archway(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_archway"));
    for (name, _) in std::env::vars_os() {
        let name_of = name.to_string_lossy();
        let begins = ["ARCHWAY_", "OTEL_", "PG"]
            .iter()
            .any(|it| name_of.starts_with(it));
        if begins || name_of.to_ascii_uppercase().ends_with("_PROXY") {
            command.env_remove(name);
        }
    }
    command.args(arguments);
    command
}

/// Polls a condition until it holds.
pub(crate) fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let deadline = SystemTime::now() + PATIENCE;
    while !holds() {
        assert!(SystemTime::now() < deadline, "in vain: {what}");
        std::thread::sleep(LOOK);
    }
}
