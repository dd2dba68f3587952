//! Programs that the tests run but do not build: their locations from `tests/run`, and how to run one.

use std::{env, ffi::OsString, process::Stdio, time::Duration};

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::timeout,
};

/// How long a program may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

/// The value of a variable that `tests/run` sets. Without it, as under plain `cargo test`, the test
/// prints that and passes, except in CI.
pub(crate) fn given(variable: &str) -> Option<OsString> {
    let value = env::var_os(variable);
    if value.is_none() {
        assert!(env::var_os("CI").is_none(), "{variable} is not set");
        println!("not tried: {variable} is not set; use tests/run");
    }
    value
}

/// A Node program whose path a variable holds.
pub(crate) fn node(program: &str) -> Option<Command> {
    let mut command = Command::new(given("ARCHWAY_TEST_NODE")?);
    command.arg(given(program)?);
    Some(command)
}

/// The outcome of a program.
pub(crate) struct Outcome {
    pub(crate) success: bool,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs a program to its end.
pub(crate) async fn run(mut command: Command) -> Outcome {
    command.stdin(Stdio::null()).kill_on_drop(true);
    let output = timeout(PATIENCE, command.output())
        .await
        .expect("the program ends in time")
        .unwrap();
    Outcome {
        success: output.status.success(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// A program that prints lines of JSON and reads lines in between.
pub(crate) struct Talk {
    child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Talk {
    /// Starts it. Dropping the value kills it.
    pub(crate) fn start(mut command: Command) -> Talk {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.kill_on_drop(true).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Talk {
            stdin: child.stdin.take().unwrap(),
            child,
            lines,
        }
    }

    /// The next line. Panics if the program ended: its stderr says why.
    pub(crate) async fn hear(&mut self) -> Value {
        let line = timeout(PATIENCE, self.lines.next_line()).await;
        let line = line.expect("the program speaks in time").unwrap();
        let line = line.expect("the program has more to say");
        serde_json::from_str(&line).expect("a line of JSON")
    }

    /// Sends a line.
    pub(crate) async fn say(&mut self, line: &str) {
        let line = format!("{line}\n");
        self.stdin.write_all(line.as_bytes()).await.unwrap();
    }

    /// Waits for its end. Panics unless it succeeded.
    pub(crate) async fn end(mut self) {
        drop(self.stdin);
        let ended = timeout(PATIENCE, self.child.wait()).await;
        let ended = ended.expect("the program ends in time").unwrap();
        assert!(ended.success(), "{ended}");
    }
}
