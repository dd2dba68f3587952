//! The helper of this crate's tests, which have no program of their own that git could start.

use std::process::ExitCode;

fn main() -> ExitCode {
    archway_sync::helper::run().unwrap_or(ExitCode::FAILURE)
}
