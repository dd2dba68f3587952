//! The embedded PostgreSQL ends while `archway dev` runs: killed, or with a cluster that cannot be
//! started. Meanwhile what needs no database works, and afterwards everything works again.

use std::path::PathBuf;
use std::process::Command;

use rustix::process::{Signal, kill_process, test_kill_process};

use crate::git_http::git;
use crate::{Dev, Workspace, wait_until};

const ENTRY: &str = r#"{"file":"progress_log.jsonl","entry":{"timestamp":"2026-01-07T14:00:00Z","event":"walrus"}}"#;
const FOUND: &str = r#"{"query":"walrus"}"#;
const READ: &str = r#"{"path":"greeting.txt"}"#;
const NOT_STARTED: &str = "PostgreSQL could not be restarted";

impl Workspace {
    /// Commits all files of the repository.
    fn commit(&self) {
        let site = self.0.path().join("My Site");
        for line in ["init -q", "add -A", "commit -q -m sesame"] {
            git(&site, line);
        }
    }

    /// Kills the server only.
    fn kill_server(&self) {
        kill_process(self.server(), Signal::KILL).unwrap();
    }

    /// The file without which the server cannot start.
    fn control(&self) -> PathBuf {
        self.data().join("postgres/global/pg_control")
    }
}

impl Dev {
    fn reads(&self) {
        let read = self.call("read_file", READ);
        assert!(read.contains("sesame"), "{read}");
        let log = self.call("git_log", "{}");
        assert!(log.contains("sesame"), "{log}");
    }

    fn remembers(&self) -> bool {
        let found = self.call("search_memory", FOUND);
        found.contains("walrus") && !found.contains(r#""isError":true"#)
    }

    fn is_unavailable(&self, tool: &str, arguments: &str) -> bool {
        let answer = self.call(tool, arguments);
        let refused = answer.contains(r#""isError":true"#);
        refused && answer.contains(r#""code":"unavailable""#)
    }

    fn writes(&self) -> bool {
        let written = self.call("write_memory_entry", ENTRY);
        written.contains(r#""entry_count":"#) && !written.contains(r#""isError":true"#)
    }
}

/// `archway status` reports the outage, and the log repeats nothing.
fn status_and_log_report_the_outage_once(workspace: &Workspace, dev: &Dev) {
    let mut status = Command::new(env!("CARGO_BIN_EXE_archway"));
    let status = status
        .args(["status", "--data"])
        .arg(workspace.data())
        .output();
    let refusal = String::from_utf8(status.unwrap().stderr).unwrap();
    let said = format!("(pid {}) runs", dev.pid().as_raw_pid());
    assert!(refusal.contains(&said), "{refusal}");
    assert!(refusal.contains("its PostgreSQL does not"), "{refusal}");
    let log = dev.log.text();
    assert_eq!(
        log.matches("no change notifications are received").count(),
        1,
        "{log}"
    );
    assert!(log.matches("key look-up failed").count() <= 1, "{log}");
    assert!(!log.contains("(os error 2): No such file"), "{log}");
}

#[test]
fn a_postgres_that_is_killed_runs_again_by_itself_and_dev_goes_on() {
    let workspace = Workspace::new();
    workspace.commit();
    let dev = workspace.start();
    dev.reads();
    assert!(dev.writes());
    for time in 1..=2 {
        let server = workspace.server();
        workspace.kill_server();
        dev.reads();
        wait_until("memory is there again", || dev.remembers());
        assert_ne!(workspace.server(), server);
        dev.reads();
        wait_until("it is said", || {
            dev.log.says("PostgreSQL runs again") == time
        });
        assert_eq!(dev.log.says("PostgreSQL ended"), time);
        assert!(dev.writes(), "{}", dev.log.text());
    }
    assert!(test_kill_process(dev.pid()).is_ok());
    let server = workspace.server();
    assert!(dev.end(Signal::TERM).0.success());
    assert!(crate::is_gone(server));
}

#[test]
fn failed_starts_of_postgres_are_rare_logged_and_recover() {
    let workspace = Workspace::new();
    workspace.commit();
    let dev = workspace.start();
    dev.reads();
    assert!(dev.writes());
    let control = workspace.control();
    let aside = control.with_extension("aside");
    std::fs::rename(&control, &aside).unwrap();
    workspace.kill_server();

    wait_until("three attempts failed", || dev.log.says(NOT_STARTED) >= 3);
    dev.reads();
    assert!(dev.is_unavailable("search_memory", FOUND));
    assert!(dev.is_unavailable("write_memory_entry", ENTRY));
    status_and_log_report_the_outage_once(&workspace, &dev);
    let log = std::fs::read_to_string(workspace.data().join("postgres.log")).unwrap();
    let last = log.lines().last().unwrap();
    assert!(last.starts_with("but could not open file"), "{log}");
    let quoted = dev.log.says("its log ends: but could not open file");
    assert_eq!(quoted, dev.log.says(NOT_STARTED), "{}", dev.log.text());
    assert!(!workspace.data().join("postgres.new").exists());

    std::fs::rename(&aside, &control).unwrap();
    wait_until("memory is there again", || dev.remembers());
    dev.reads();
    assert!(dev.writes());
    // Each attempt was logged; there are at most six within half a minute.
    let log = std::fs::read_to_string(workspace.data().join("postgres.log")).unwrap();
    let tried = log.matches("could not find the database system").count();
    assert_eq!(dev.log.says(NOT_STARTED), tried, "{log}");
    assert!((3..6).contains(&tried), "{log}");
    // New content is indexed, and key changes are noticed.
    let file = workspace.0.path().join("My Site/octopus.txt");
    std::fs::write(file, "octopus\n").unwrap();
    workspace.commit();
    wait_until("it is found by its words", || {
        let found = dev.call("context_search", r#"{"query":"octopus"}"#);
        found.contains("octopus.txt")
    });
    let key = dev.text("api_key").split('_').nth(1).unwrap();
    let mut revoke = Command::new(env!("CARGO_BIN_EXE_archway"));
    revoke
        .args(["key", "revoke", key, "--data"])
        .arg(workspace.data());
    assert!(revoke.status().unwrap().success());
    wait_until("the key is refused", || {
        dev.post("hello", "{}").starts_with("HTTP/1.1 401")
    });
    assert!(dev.end(Signal::TERM).0.success());
}

#[test]
fn dev_and_its_postgres_end_when_the_data_folder_is_deleted() {
    let workspace = Workspace::new();
    let mut dev = workspace.start();
    let server = workspace.server();
    wait_until("the folder is deleted", || {
        // PostgreSQL may write into it meanwhile.
        std::fs::remove_dir_all(workspace.data()).is_ok() || !workspace.data().exists()
    });
    // It may have ended by itself already.
    kill_process(server, Signal::KILL).ok();
    assert!(!dev.ended().success());
    wait_until("it says why", || {
        dev.log
            .says("its data folder is gone, or another `archway dev` has it")
            == 1
    });
    assert!(!workspace.data().exists());

    let second = workspace.start();
    second.call("hello", "{}");
    assert!(second.end(Signal::TERM).0.success());
}

#[test]
fn dev_stops_on_request_while_postgres_cannot_start() {
    let workspace = Workspace::new();
    let dev = workspace.start();
    let control = workspace.control();
    std::fs::rename(&control, control.with_extension("aside")).unwrap();
    workspace.kill_server();
    wait_until("an attempt failed", || dev.log.says(NOT_STARTED) >= 1);
    let (status, rest) = dev.end(Signal::INT);
    assert!(status.success(), "{status}");
    assert_eq!(rest, "");
}
