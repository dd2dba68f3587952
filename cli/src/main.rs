//! The binary `archway`: parses, runs, and tells how it went.

use std::io::Write;
use std::process::ExitCode;

use archway::command::{self, CommandLine};
use archway::shown::report;
use clap::Parser;

fn main() -> ExitCode {
    match command::run(CommandLine::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody to tell is no reason to fail otherwise.
            std::io::stderr().write_all(report(&error).as_bytes()).ok();
            ExitCode::FAILURE
        }
    }
}
