//! The helper of tests that mirror: git starts it as it starts `archway` itself.

use std::process::ExitCode;

fn main() -> ExitCode {
    archway_sync::helper::run().unwrap_or(ExitCode::FAILURE)
}
