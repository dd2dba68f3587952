//! A gateway, a worker or a sync as a separate process.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
    time::Duration,
};

use serde_json::Value;
use tokio::time::Instant;

use crate::{
    Usage,
    process::{binary, end},
};

/// The metric of completed runs of a worker's indexer.
pub const COMPLETED_RUNS: &str = r#"archway_worker_index_run_seconds_count{outcome="whole"}"#;

/// One gateway, worker or sync.
pub struct Running {
    child: Child,
    /// The address for gateways, agents or webhooks.
    pub address: String,
    /// The address for probes.
    pub admin: String,
}

impl Running {
    /// Starts it, and returns once it has logged its addresses.
    pub(crate) fn start(mut command: Command) -> Running {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("archway starts");
        let mut log = BufReader::new(child.stderr.take().expect("stderr is piped"));
        let listens = |line: std::io::Result<String>| {
            let line = line.expect("a log");
            let said: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"));
            said["fields"]["admin"].is_string().then_some(said)
        };
        let said = log.by_ref().lines().find_map(listens);
        let said = said.expect("it says where it listens");
        // The log is always read, because a full pipe would stop the process.
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        let field = |name: &str| said["fields"][name].as_str().expect("a string").to_owned();
        let address = ["address", "hooks"].map(|name| said["fields"][name].as_str());
        let address = address.into_iter().flatten().next().expect("an address");
        Running {
            address: address.to_owned(),
            admin: field("admin"),
            child,
        }
    }

    /// The MCP endpoint of a gateway.
    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Lets the peak of its memory begin again at what it has now (`proc_pid_clear_refs(5)`).
    pub fn reset_peak(&self) {
        let file = format!("/proc/{}/clear_refs", self.pid());
        std::fs::write(file, "5").expect("its own process");
    }

    /// What the process has used so far.
    pub fn usage(&self) -> Usage {
        Usage::of(self.child.id())
    }

    /// The current value of a metric with these labels; 0 before it is first counted.
    pub fn metric(&self, name: &str) -> f64 {
        let mut stream = TcpStream::connect(&self.admin).expect("its admin port");
        let request = format!(
            "GET /metrics HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
            self.admin
        );
        stream.write_all(request.as_bytes()).expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let value = answer
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.map_or(0.0, |value| value.trim().parse().expect("a number"))
    }

    /// Waits until a worker has completed this many runs of its indexer.
    ///
    /// # Panics
    /// If that takes longer than `patience`.
    pub async fn completes_runs(&self, count: f64, patience: Duration) {
        let begun = Instant::now();
        while self.metric(COMPLETED_RUNS) < count {
            assert!(begun.elapsed() < patience, "not all was indexed");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until it is ready.
    pub(crate) fn is_ready(&self) {
        let url = format!("http://{}", self.admin);
        let check = || {
            let mut check = Command::new(binary());
            check.args(["healthcheck", "--admin-url", &url]);
            check.output().expect("archway starts").status.success()
        };
        assert!(
            (0..300).any(|_| check() || pause()),
            "the gateway did not become ready"
        );
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        end(&mut self.child, "-TERM");
    }
}

/// Sleeps between two polls. Returns false.
fn pause() -> bool {
    std::thread::sleep(Duration::from_millis(50));
    false
}
