//! Holds the documentation to reality: links lead somewhere, named tests exist, and every command is run
//! in a real shell, by the built binary.
//!
//! A block of commands (`sh`, `bash`, `console`) belongs to a scenario. A comment above it, invisible to
//! readers, names the scenario: `<!-- scenario: KIND/NAME -->`. The blocks of one scenario in one page run
//! in order in one shell, on a stage of their kind (`stage.rs`). The output in a `console` block is
//! compared with the command's output; `…` matches anything. A block below `<!-- file: NAME -->` is
//! written to a file first. A block below `<!-- sample: TOOL ARGUMENTS -->` is the answer of that call
//! (`samples.rs`). `commands.rs` lists what cannot be run, with the reason.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test"
)]

// In the order in which a page is processed.
mod pages;
mod links;
mod inline_code;
mod settings;
mod samples;
mod figures;
mod limits;
mod steps;
mod expected_output;
mod shell;
mod stage;
mod commands;

#[expect(dead_code, reason = "the administration's tests need all of it")]
#[path = "../admin/installation.rs"]
mod installation;
#[path = "../dev/git_http.rs"]
mod git_http;
#[path = "../../../tests/src/self_signed.rs"]
mod self_signed;
