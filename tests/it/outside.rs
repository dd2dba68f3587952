//! Programs that the tests run and did not build: where `tests/run` put them, and running one.

use std::{env, ffi::OsString, process::Stdio, time::Duration};

use tokio::{process::Command, time::timeout};

/// No program of the tests takes longer, on a machine with much else to do.
const PATIENCE: Duration = Duration::from_secs(300);

/// The value of a variable that `tests/run` sets. Without it, as under plain `cargo test`, the
/// test says so and passes, unless it is CI.
pub(crate) fn given(variable: &str) -> Option<OsString> {
    let value = env::var_os(variable);
    if value.is_none() {
        assert!(env::var_os("CI").is_none(), "{variable} is not set");
        println!("not tried: {variable} is not set; use tests/run");
    }
    value
}

/// A program of Node that stands in a variable.
pub(crate) fn node(program: &str) -> Option<Command> {
    let mut command = Command::new(given("ARCHWAY_TEST_NODE")?);
    command.arg(given(program)?);
    Some(command)
}

/// What a program did.
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
