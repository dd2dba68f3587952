//! A gateway or a worker as a process of its own.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
};

use serde_json::Value;

use crate::{
    Usage,
    process::{binary, end},
};

/// One gateway or worker.
pub struct Running {
    child: Child,
    /// Where gateways or agents connect.
    pub address: String,
    /// Where probes ask.
    pub admin: String,
}

impl Running {
    /// Starts it; returns once it says where it listens.
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
        // A process whose log nobody reads stops at a full pipe.
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        let field = |name: &str| said["fields"][name].as_str().expect("a string").to_owned();
        Running {
            address: field("address"),
            admin: field("admin"),
            child,
        }
    }

    /// The MCP endpoint of a gateway.
    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What the process has used so far.
    pub fn usage(&self) -> Usage {
        Usage::of(self.child.id())
    }

    /// What its metric of this name and labels is now; 0 before it is counted.
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

    /// Waits until it is.
    pub(crate) fn is_ready(&self) {
        let url = format!("http://{}", self.admin);
        let check = || {
            let mut check = Command::new(binary());
            check.args(["healthcheck", "--admin-url", &url]);
            check.output().expect("archway starts").status.success()
        };
        assert!(
            (0..300).any(|_| check() || pause()),
            "the gateway never was ready"
        );
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        end(&mut self.child, "-TERM");
    }
}

/// Between two looks; false.
fn pause() -> bool {
    std::thread::sleep(std::time::Duration::from_millis(50));
    false
}
