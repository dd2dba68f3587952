//! Stops a server of an earlier process that still runs.
//!
//! Normally the supervisor stops it. If both were killed, the server remains; or a new process starts
//! before the old server has stopped. The claimed data folder proves that the server's owner is gone, so
//! it is stopped. `postmaster.pid` outlives its process, and its number may belong to another program
//! (in a container that is common). So a process counts as the server only if its command line names
//! this cluster.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use tokio::time::Instant;

/// Time for a graceful stop, then for an immediate one.
const STOP_TIMEOUTS: [(Signal, Duration); 2] = [
    (Signal::INT, Duration::from_secs(15)),
    (Signal::QUIT, Duration::from_secs(5)),
];
const POLL: Duration = Duration::from_millis(20);

/// Why an earlier server still runs.
#[derive(Debug, thiserror::Error)]
pub enum StaleClusterError {
    /// It does not stop.
    #[error("PostgreSQL (pid {pid}) of an earlier start doesn't stop; end it with `kill -9 {pid}`")]
    StillRunning {
        /// Its process id.
        pid: i32,
    },
    /// It cannot be signalled.
    #[error("stopping PostgreSQL (pid {pid}) of an earlier start")]
    Signal {
        /// Its process id.
        pid: i32,
        /// The operating system's error.
        #[source]
        source: io::Error,
    },
    /// Its pid file cannot be read.
    #[error("reading {}", path.display())]
    PidFile {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        #[source]
        source: io::Error,
    },
}

/// Stops the cluster's server if one is running. Returns the process id of a stale pid file if it
/// belongs to another program now: PostgreSQL would take that program for its own and refuse to start.
pub(super) async fn stop(cluster: &Path) -> Result<Option<i32>, StaleClusterError> {
    let Some(pid) = recorded_pid(cluster)? else {
        return Ok(None);
    };
    if !is_server(pid, cluster) {
        return Ok(is_alive(pid).then(|| pid.as_raw_pid()));
    }
    tracing::warn!(
        pid = pid.as_raw_pid(),
        "stopping the PostgreSQL of an earlier start"
    );
    for (signal, limit) in STOP_TIMEOUTS {
        send(pid, signal)?;
        let deadline = Instant::now() + limit;
        while is_server(pid, cluster) && Instant::now() < deadline {
            tokio::time::sleep(POLL).await;
        }
        if !is_server(pid, cluster) {
            return Ok(None);
        }
    }
    Err(StaleClusterError::StillRunning {
        pid: pid.as_raw_pid(),
    })
}

fn recorded_pid(cluster: &Path) -> Result<Option<Pid>, StaleClusterError> {
    let path = cluster.join("postmaster.pid");
    match std::fs::read_to_string(&path) {
        // A pid file that was being written when the machine stopped contains no valid number.
        Ok(text) => {
            let number = text
                .lines()
                .next()
                .and_then(|line| line.trim().parse().ok());
            Ok(number.filter(|number| *number > 0).and_then(Pid::from_raw))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(StaleClusterError::PidFile { path, source }),
    }
}

fn is_alive(pid: Pid) -> bool {
    !matches!(test_kill_process(pid), Err(rustix::io::Errno::SRCH))
}

fn send(pid: Pid, signal: Signal) -> Result<(), StaleClusterError> {
    match kill_process(pid, signal) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(StaleClusterError::Signal {
            pid: pid.as_raw_pid(),
            source: error.into(),
        }),
    }
}

/// Whether the process is this cluster's postmaster. Its children rewrite their command line.
fn is_server(pid: Pid, cluster: &Path) -> bool {
    let pid = pid.as_raw_pid();
    let folder = cluster.as_os_str().as_encoded_bytes();
    if cfg!(target_os = "linux") {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        return line
            .split(|byte| *byte == 0)
            .any(|argument| argument == folder);
    }
    let output = Command::new("ps")
        .args(["-ww", "-o", "command=", "-p", &pid.to_string()])
        .output();
    output.is_ok_and(|output| {
        output
            .stdout
            .windows(folder.len())
            .any(|part| part == folder)
    })
}
