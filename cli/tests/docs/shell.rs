//! One bash per scenario: it runs commands, and returns their output and exit code.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

/// Longer than any command of a page takes. A longer one is killed with all its children.
const PATIENCE: Duration = Duration::from_secs(100);
/// Precedes a command's exit code. No command prints it.
const MARK: char = '\u{1e}';

/// A shell, with all processes that it left running.
pub(crate) struct Shell {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
}

/// The result of a command.
pub(crate) struct CommandOutput {
    pub(crate) code: i32,
    /// Standard output and standard error.
    pub(crate) said: String,
}

impl Shell {
    /// Starts a shell with the environment that the caller has set.
    pub(crate) fn start(mut command: Command) -> Shell {
        command.args(["--noprofile", "--norc"]).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let output = child.stdout.take().unwrap();
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                let Ok(line) = line else { break };
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        let mut shell = Shell {
            input: child.stdin.take().unwrap(),
            child,
            lines,
        };
        shell.run("exec 2>&1");
        shell
    }

    /// Runs a command to its end. A final newline is added to its output if missing.
    pub(crate) fn run(&mut self, command: &str) -> CommandOutput {
        let asked = format!("{{ {command}\n}} </dev/null\nprintf '\\n\\036%d\\n' $?\n");
        self.input.write_all(asked.as_bytes()).unwrap();
        let mut said = Vec::new();
        loop {
            let line = match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => {
                    panic!("{command}: does not end; it said {said:?}")
                }
                Err(RecvTimeoutError::Disconnected) => {
                    panic!("{command}: the shell ended; it said {said:?}")
                }
            };
            let Some(code) = line.strip_prefix(MARK) else {
                said.push(line);
                continue;
            };
            return CommandOutput {
                code: code.parse().unwrap(),
                said: said.join("\n").trim_end().to_owned(),
            };
        }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let group = Pid::from_raw(self.child.id().try_into().unwrap()).unwrap();
        // Background processes are in its group, and are terminated gracefully.
        kill_process_group(group, Signal::TERM).ok();
        kill_process_group(group, Signal::KILL).ok();
        self.child.wait().ok();
    }
}
