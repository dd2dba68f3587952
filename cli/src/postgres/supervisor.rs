//! Ties the server's lifetime to this process's.
//!
//! Postgres must not outlive this process, even if that is killed by `kill -9`, and must not receive the
//! terminal's Ctrl-C first. The usual means are not sufficient: a parent-death signal exists on Linux
//! only, follows the *thread* that started the child, and needs unsafe code between fork and exec. So a
//! small shell runs in between, in its own process group, with the reading end of a pipe whose writing
//! end only this process has. When this process ends, the kernel closes the pipe, `read` returns, and
//! the server gets a fast shutdown (SIGINT). The shell ends when the server does, with its status, so
//! waiting for the shell is waiting for the server. If the shell is killed, its reader still has the
//! pipe and does its work.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, ExitStatus, Stdio};
use std::time::Duration;

use archway_proto::chain::Chain;
use tokio::task::JoinHandle;

use crate::account::Account;

/// Descriptor 3 holds the pipe: a shell gives background commands no standard input. The signal is
/// repeated, because a server that was just started ignores it. A server that still runs after 10 s gets
/// an immediate shutdown (SIGQUIT): the next start recovers, as after a crash. [`Server::stop`] allows
/// 15 s for that. The shell ends the reader before it ends itself, as the reader's signal might otherwise
/// reach another process that got the server's number.
const SUPERVISE: &str = r#"
exec 3<&0 </dev/null
"$@" 3<&- &
server=$!
{
    read -r line
    for attempt in 1 2 3 4 5 6 7 8 9 10; do kill -INT "$server" 2>/dev/null || exit; sleep 1; done
    kill -QUIT "$server" 2>/dev/null
} <&3 3<&- &
reader=$!
exec 3<&-
wait "$server"
status=$?
kill "$reader" 2>/dev/null
exit "$status"
"#;

/// A log file larger than this is truncated, in bytes.
const MAX_LOG: u64 = 4 << 20;
/// What connections of a killed server write to the log of the next one: no reason why that one ends.
const ORPHANED: &str = "terminating connection due to unexpected postmaster exit";
/// Levels in PostgreSQL's log with which a server ends.
const FATAL: [&str; 2] = ["FATAL:", "PANIC:"];
/// How much of the log an error quotes, in bytes.
const QUOTE: u64 = 2048;

/// A server and the pipe that keeps it running.
#[derive(Debug)]
pub(super) struct Server {
    // Held open; closing it stops the server.
    lifeline: Option<ChildStdin>,
    ended: JoinHandle<io::Result<ExitStatus>>,
    log: ServerLog,
}

#[derive(Debug)]
struct ServerLog {
    path: PathBuf,
    /// Where this run's part begins.
    start: u64,
}

/// How a server ended.
#[derive(Debug, thiserror::Error)]
pub enum SupervisorError {
    /// It could not be started.
    #[error("starting PostgreSQL")]
    Spawn(#[source] io::Error),
    /// It ended by itself.
    #[error("PostgreSQL ended by itself ({status}); its log {} says:\n{said}", log.display())]
    Ended {
        /// Its exit status.
        status: String,
        /// Its log file.
        log: PathBuf,
        /// The end of this run's log.
        said: String,
    },
    /// It did not stop when requested.
    #[error("PostgreSQL did not stop within {} s; its log is {}", limit.as_secs(), log.display())]
    StillRunning {
        /// How long it had.
        limit: Duration,
        /// Its log file.
        log: PathBuf,
    },
    /// Its log cannot be opened.
    #[error("opening the log {}", path.display())]
    Log {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        #[source]
        source: io::Error,
    },
}

impl SupervisorError {
    /// The failure on one line. For a server that ended, with the end of its log: from the last line
    /// that names a fatal error, if there is one.
    pub(super) fn in_a_line(&self) -> String {
        match self {
            SupervisorError::Ended { status, said, .. } => {
                format!("it ended ({status}); its log ends: {}", last_lines(said))
            }
            other => Chain(other).to_string(),
        }
    }
}

/// The last line, and those before it back to the last fatal error.
fn last_lines(said: &str) -> String {
    let lines: Vec<&str> = said
        .lines()
        .filter(|line| !line.trim().is_empty() && !line.contains(ORPHANED))
        .collect();
    let is_end = |line: &&str| FATAL.iter().any(|level| line.contains(level));
    let last = lines.len().saturating_sub(1);
    let from = lines.iter().rposition(is_end).unwrap_or(last);
    match lines.get(from..) {
        None | Some([]) => "(nothing)".to_owned(),
        Some(end) => end.join(" / ").replace(char::is_control, "\u{fffd}"),
    }
}

impl Server {
    /// Starts `server` under `account`, with its output appended to `log`.
    pub(super) fn launch(
        server: Command,
        account: Account,
        log: PathBuf,
    ) -> Result<Self, SupervisorError> {
        let (log, output) = ServerLog::open(log)?;
        let errors = output.try_clone().map_err(SupervisorError::Spawn)?;
        let mut shell = supervised(server);
        shell
            .stdin(Stdio::piped())
            .stdout(output)
            .stderr(errors)
            .process_group(0);
        account.apply(&mut shell);
        let mut child = shell.spawn().map_err(SupervisorError::Spawn)?;
        let lifeline = child.stdin.take();
        let ended = tokio::task::spawn_blocking(move || child.wait());
        Ok(Server {
            lifeline,
            ended,
            log,
        })
    }

    /// Returns once the server has ended. Must not be called again after that.
    pub(super) async fn ended(&mut self) -> SupervisorError {
        let status = match (&mut self.ended).await {
            Ok(Ok(status)) => status.to_string(),
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        };
        SupervisorError::Ended {
            status,
            said: self.log.end(),
            log: self.log.path.clone(),
        }
    }

    /// Requests a stop, and waits for it.
    pub(super) async fn stop(&mut self, limit: Duration) -> Result<(), SupervisorError> {
        drop(self.lifeline.take());
        if self.ended.is_finished() {
            return Ok(());
        }
        match tokio::time::timeout(limit, &mut self.ended).await {
            Ok(_ended) => Ok(()),
            Err(_elapsed) => Err(SupervisorError::StillRunning {
                limit,
                log: self.log.path.clone(),
            }),
        }
    }
}

impl ServerLog {
    fn open(path: PathBuf) -> Result<(Self, File), SupervisorError> {
        let mut options = OpenOptions::new();
        let opened = options
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&path)
            .and_then(|file| {
                if file.metadata()?.len() > MAX_LOG {
                    file.set_len(0)?;
                }
                let start = file.metadata()?.len();
                Ok((file, start))
            });
        match opened {
            Ok((file, start)) => Ok((ServerLog { path, start }, file)),
            Err(source) => Err(SupervisorError::Log { path, source }),
        }
    }

    /// The last lines of this run.
    fn end(&self) -> String {
        read_end(&self.path, self.start).unwrap_or_else(|error| error.to_string())
    }
}

fn read_end(path: &Path, start: u64) -> io::Result<String> {
    let mut file = File::open(path)?;
    let end = file.metadata()?.len();
    file.seek(SeekFrom::Start(start.max(end.saturating_sub(QUOTE))))?;
    let mut bytes = Vec::new();
    file.take(QUOTE).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned())
}

fn supervised(server: Command) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell
        .args(["-c", SUPERVISE, "archway-postgres"])
        .arg(server.get_program());
    shell.args(server.get_args());
    if let Some(folder) = server.get_current_dir() {
        shell.current_dir(folder);
    }
    for (name, value) in server.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A shell's background commands ignore both signals; `env` restores the second.
    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_server_that_ignores_a_fast_shutdown_is_killed() {
        let home = tempfile::tempdir().unwrap();
        let mut deaf = Command::new("env");
        deaf.args(["--default-signal=QUIT", "sleep", "60"]);
        let log = home.path().join("postgres.log");
        let mut server = Server::launch(deaf, Account::Own, log).unwrap();
        server.stop(super::super::STOP).await.unwrap();
    }

    #[test]
    fn a_servers_end_is_one_line_with_the_end_of_its_log() {
        let ended = |said: &str| {
            let error = SupervisorError::Ended {
                status: "exit status: 1".to_owned(),
                log: PathBuf::from("/data/postgres.log"),
                said: said.to_owned(),
            };
            error.in_a_line()
        };
        let full = "LOG:  starting\nFATAL:  could not write: No space left on device\n\
                    HINT:\tmake room\u{1b}[2J\nLOG:  database system is shut down";
        assert_eq!(
            ended(full),
            "it ended (exit status: 1); its log ends: FATAL:  could not write: No space left on \
             device / HINT:\u{fffd}make room\u{fffd}[2J / LOG:  database system is shut down"
        );
        let killed = "LOG:  starting\nLOG:  ready\n";
        assert!(ended(killed).ends_with("its log ends: LOG:  ready"));
        assert!(ended("").ends_with("its log ends: (nothing)"));
        let late = format!("FATAL:  no data\nFATAL:  {ORPHANED}\n");
        assert!(ended(&late).ends_with("its log ends: FATAL:  no data"));
    }
}
