//! The pages that people read, held against what is there: links lead somewhere, tests that are named
//! exist, and each command in them is run, in a real shell, by the built binary.
//!
//! A block of commands (`sh`, `bash`, `console`) belongs to a scenario, which a comment above it names
//! and readers don't see: `<!-- scenario: KIND/NAME -->`. The blocks of one scenario in one page run in
//! order in one shell, on a stage of their kind (`stage.rs`). What a `console` block shows after a
//! command is compared with what the command said, `…` standing for anything. A block under
//! `<!-- file: NAME -->` is written to a file before, one under `<!-- sample: TOOL ARGUMENTS -->` is what
//! that call answers (`samples.rs`). What can't be run stands in `commands.rs`, with the
//! reason.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test"
)]

// In the order in which a page comes to be run.
mod pages;
mod links;
mod words;
mod settings;
mod samples;
mod figures;
mod steps;
mod told;
mod shell;
mod stage;
mod commands;

#[expect(dead_code, reason = "the administration's tests need all of it")]
#[path = "../admin/place.rs"]
mod place;
