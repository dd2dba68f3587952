//! The binary `archway`: parses, runs, and tells how it went.

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use archway::command::{self, CommandLine};
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

/// What failed, and line by line why.
fn report(error: &dyn Error) -> String {
    let mut text = format!("archway: {error}\n");
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!("  because: {cause}\n"));
        source = cause.source();
    }
    text
}
