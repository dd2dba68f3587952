//! A role as a process, whose addresses are read from its log.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, SystemTime};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::http::get;

/// Nothing takes longer; what is not true by then will not be.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(20);

/// A process that runs.
pub(crate) struct Role {
    child: Child,
    pub(crate) address: String,
    pub(crate) admin: String,
    log: RefCell<BufReader<std::process::ChildStderr>>,
}

impl Role {
    /// Starts it; returns once it says where it listens.
    pub(crate) fn start(mut command: Command) -> Role {
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        log.read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"));
        let text = |name: &str| said["fields"][name].as_str().unwrap().to_owned();
        Role {
            child,
            address: text("address"),
            admin: text("admin"),
            log: RefCell::new(log),
        }
    }

    /// The next line of its log, parsed.
    pub(crate) fn next_line(&self) -> Value {
        let mut line = String::new();
        self.log.borrow_mut().read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"))
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id().try_into().unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Waits until `/readyz` answers so.
    pub(crate) fn becomes(&self, status: u16, reason: &str) {
        wait_until(&format!("{status} {reason}"), || {
            let answer = get(&self.admin, "/readyz");
            answer.is_ok_and(|answer| answer.status == status && answer.body.trim() == reason)
        });
    }

    /// Waits for its end: exit code and the rest of its log.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let mut rest = String::new();
        self.log.borrow_mut().read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap().code(), rest)
    }
}

impl Drop for Role {
    fn drop(&mut self) {
        // Ended already, mostly.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The binary, with nothing of the environment of whoever runs the tests.
pub(crate) fn archway(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_archway"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("ARCHWAY_") {
            command.env_remove(name);
        }
    }
    command.args(arguments);
    command
}

/// Runs a command that is meant to fail soon: what it said.
pub(crate) fn refusal(mut command: Command) -> String {
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let deadline = SystemTime::now() + PATIENCE;
    while child.try_wait().unwrap().is_none() && SystemTime::now() < deadline {
        std::thread::sleep(LOOK);
    }
    child.kill().ok();
    let Output { status, stderr, .. } = child.wait_with_output().unwrap();
    let said = String::from_utf8(stderr).unwrap();
    assert_eq!(status.code(), Some(1), "{said}");
    said
}

/// Looks again and again until it holds.
pub(crate) fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let deadline = SystemTime::now() + PATIENCE;
    while !holds() {
        assert!(SystemTime::now() < deadline, "in vain: {what}");
        std::thread::sleep(LOOK);
    }
}
