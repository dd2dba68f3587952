//! The binary `archway`: parses the command line, runs the command, reports failures.

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use archway::command::{self, CommandLine};
use archway::output::{self, report};
use clap::Parser;

fn main() -> ExitCode {
    if let Some(ended) = archway_sync::helper::run() {
        return ended;
    }
    let line = match CommandLine::try_parse() {
        Ok(line) => line,
        Err(error) => return print_usage(&error),
    };
    match command::run(line) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if output::is_closed(&error) => ExitCode::from(output::CLOSED),
        Err(error) => {
            // If standard error is closed as well, the exit status still reports the failure.
            std::io::stderr().write_all(report(&error).as_bytes()).ok();
            ExitCode::FAILURE
        }
    }
}

/// Prints help, the version, or what is wrong with the command line.
fn print_usage(usage: &clap::Error) -> ExitCode {
    match usage.print() {
        Err(error) if !usage.use_stderr() && error.kind() == ErrorKind::BrokenPipe => {
            ExitCode::from(output::CLOSED)
        }
        Ok(()) | Err(_) => {
            u8::try_from(usage.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
        }
    }
}
