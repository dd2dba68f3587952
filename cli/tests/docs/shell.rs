//! One bash for one scenario: it is given a command, and says what that said and how it ended.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

/// Nothing that a page shows takes longer; what does is ended with all that it started.
const PATIENCE: Duration = Duration::from_secs(100);
/// What stands before a command's exit code; no command says it.
const MARK: char = '\u{1e}';

/// A shell, and with it whatever it left running.
pub(crate) struct Shell {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
}

/// How a command went.
pub(crate) struct Answer {
    pub(crate) code: i32,
    /// Both of its outputs.
    pub(crate) said: String,
}

impl Shell {
    /// Starts one with an environment that the caller has set.
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

    /// Runs a command to its end; an output that has no line end gets one.
    pub(crate) fn run(&mut self, command: &str) -> Answer {
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
            return Answer {
                code: code.parse().unwrap(),
                said: said.join("\n").trim_end().to_owned(),
            };
        }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let group = Pid::from_raw(self.child.id().try_into().unwrap()).unwrap();
        // What was started in the background belongs to its group, and ends as it is meant to.
        kill_process_group(group, Signal::TERM).ok();
        kill_process_group(group, Signal::KILL).ok();
        self.child.wait().ok();
    }
}
