//! Processes under test: how they are started, and what they cost.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use serde_json::Value;

use crate::{Client, HELLO};

/// A running `archway dev`. It ends with this value.
pub struct Dev {
    child: Child,
    data: PathBuf,
    /// The MCP endpoint.
    pub url: String,
    /// A key for everything.
    pub key: String,
}

impl Dev {
    /// Starts the binary beside this bench for `repo`, with its data in `data`, and waits until it is ready.
    pub fn start(repo: &Path, data: &Path) -> Dev {
        Dev::start_of(&binary(), repo, data)
    }

    /// The same with another build of the binary.
    pub fn start_of(binary: &Path, repo: &Path, data: &Path) -> Dev {
        let mut child = Command::new(binary)
            .args(["dev", "--json", "--port", "0", "--repo"])
            .arg(repo)
            .arg("--data")
            .arg(data)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("archway starts");
        let stdout = child.stdout.take().expect("stdout is piped");
        let mut line = String::new();
        BufReader::new(stdout)
            .read_line(&mut line)
            .expect("archway says where it is");
        let said: Value =
            serde_json::from_str(&line).expect("one line of JSON, as --json promises");
        let field = |name: &str| said[name].as_str().expect("a string").to_owned();
        Dev {
            url: field("url"),
            key: field("api_key"),
            data: data.to_owned(),
            child,
        }
    }

    /// Sets every limit of its tenant to the maximum. Benches call far more often than an agent may, and
    /// the cost of counting is part of what is measured.
    pub async fn lift(&self) {
        let data = self.data.display().to_string();
        set_limits("dev", 1_000_000, |command| {
            command.args(["--data", &data]);
        });
        in_force(&self.url, &self.key).await;
    }

    /// What the process has used so far.
    pub fn usage(&self) -> Usage {
        Usage::of(self.child.id())
    }

    /// Ends it as Ctrl-C does, and waits.
    pub fn stop(mut self) {
        self.interrupt();
    }

    fn interrupt(&mut self) {
        end(&mut self.child, "-INT");
    }
}

/// Sends a process this signal, and waits for its end.
pub(crate) fn end(child: &mut Child, signal: &str) {
    let pid = child.id().to_string();
    let kill = Command::new("kill").args([signal, &pid]).status();
    kill.expect("kill runs");
    child.wait().expect("archway ends");
}

impl Drop for Dev {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            self.interrupt();
        }
    }
}

/// Sets every limit of a tenant by the operator's command, at each level; 0 removes them. `place` names
/// the database.
pub(crate) fn set_limits(tenant: &str, per_minute: u32, place: impl Fn(&mut Command)) {
    for level in ["session", "key", "tenant"] {
        // A session has no total.
        let limited = &LIMITED[usize::from(level == "session")..];
        let mut command = Command::new(binary());
        command.args(["limits", "set", tenant, "--level", level]);
        command.args(limited.iter().map(|name| format!("{name}={per_minute}")));
        place(&mut command);
        let done = command.output().expect("archway starts");
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{command:?}: {said}");
    }
}

/// Waits until the default limits no longer apply.
pub(crate) async fn in_force(url: &str, key: &str) {
    let mut client = Client::connect(url, key, HELLO).await;
    loop {
        let answer = client.exchange().await.expect("an answer");
        if !client.head(answer).contains(";q=100;") {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

/// The limited tools that benches call.
const LIMITED: [&str; 13] = [
    "total",
    "hello",
    "list_projects",
    "list_files",
    "get_repo_overview",
    "read_file",
    "grep_codebase",
    "search_files",
    "context_search",
    "find_symbol",
    "find_references",
    "write_memory_entry",
    "search_memory",
];

/// The release binary next to this bench: `target/release/archway`.
pub(crate) fn binary() -> PathBuf {
    let bench = std::env::current_exe().expect("a bench knows where it is");
    let release = bench.ancestors().nth(2).expect("target/release/deps/bench");
    let binary = release.join("archway");
    assert!(binary.exists(), "build it first: cargo build --release");
    binary
}

/// What a process has used, as the kernel reports.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// User and system time of all its threads, in seconds (a clock tick is 10 ms).
    pub cpu_seconds: f64,
    /// The peak of resident memory, in MiB.
    pub peak_mib: f64,
    /// Resident memory now, in MiB.
    pub resident_mib: f64,
    /// The part of it that is no file's, in MiB.
    pub anonymous_mib: f64,
}

impl Usage {
    /// Reads `/proc/<pid>`.
    pub fn of(pid: u32) -> Usage {
        Usage::of_living(pid).expect("the process runs")
    }

    /// The same, for a process that may have ended.
    pub fn of_living(pid: u32) -> Option<Usage> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let mib = |name: &str| {
            // A process that is ending has no memory any more.
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let kib = line.unwrap_or("0").trim().trim_end_matches(" kB");
            kib.parse::<f64>().expect("a number") / 1024.0
        };
        Some(Usage {
            cpu_seconds: cpu_seconds(&stat, 11),
            peak_mib: mib("VmHWM:"),
            resident_mib: mib("VmRSS:"),
            anonymous_mib: mib("RssAnon:"),
        })
    }

    /// The CPU seconds of a process's children, living and ended ones.
    pub fn of_children(pid: u32) -> f64 {
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        let children = children.expect("the process runs");
        let living = children.split_whitespace().filter_map(|child| {
            let usage = Usage::of_living(child.parse().ok()?)?;
            Some(usage.cpu_seconds)
        });
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("the process runs");
        living.sum::<f64>() + cpu_seconds(&stat, 13)
    }
}

/// The user and system time in two fields of `/proc/<pid>/stat`, in seconds. Counted from 0 after the
/// command, field 11 begins that of the process, and 13 that of its ended children (`proc_pid_stat(5)`).
fn cpu_seconds(stat: &str, from: usize) -> f64 {
    // The command's name, in parentheses, may contain blanks.
    let fields = stat.rsplit_once(')').expect("a name").1.split_whitespace();
    let ticks = fields.skip(from).take(2);
    let ticks = ticks.map(|ticks| ticks.parse::<f64>().expect("a number"));
    ticks.sum::<f64>() / 100.0
}

/// A program on these cores.
pub fn held(cores: Option<&str>, program: &Path) -> Command {
    match cores {
        None => Command::new(program),
        Some(cores) => {
            let mut command = Command::new("taskset");
            command.args(["--cpu-list", cores]).arg(program);
            command
        }
    }
}

/// Runs a command that answers with one JSON document, or nothing.
pub(crate) fn answer(command: &mut Command) -> Value {
    let done = command.output().expect("archway starts");
    assert!(
        done.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&done.stderr)
    );
    serde_json::from_slice(&done.stdout).unwrap_or_default()
}
