//! The binary `archway`: parses, runs, and tells how it went.

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use archway::command::{self, CommandLine};
use archway::output::{self, report};
use clap::Parser;

fn main() -> ExitCode {
    let line = match CommandLine::try_parse() {
        Ok(line) => line,
        Err(told) => return tell(&told),
    };
    match command::run(line) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if output::is_closed(&error) => ExitCode::from(output::CLOSED),
        Err(error) => {
            // Nobody to tell is no reason to fail otherwise.
            std::io::stderr().write_all(report(&error).as_bytes()).ok();
            ExitCode::FAILURE
        }
    }
}

/// Prints what was asked about the command line, or what is wrong with it.
fn tell(told: &clap::Error) -> ExitCode {
    match told.print() {
        Err(error) if !told.use_stderr() && error.kind() == ErrorKind::BrokenPipe => {
            ExitCode::from(output::CLOSED)
        }
        Ok(()) | Err(_) => u8::try_from(told.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from),
    }
}
