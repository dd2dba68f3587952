//! Searches by `grep_codebase` and by ripgrep for the same lines.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

/// ripgrep in a folder, with the options that `grep_codebase` promises. Needs `rg` in PATH or in
/// `ARCHWAY_TEST_RG`.
pub fn rg(folder: &Path, pattern: &str) -> Command {
    let rg = std::env::var_os("ARCHWAY_TEST_RG").unwrap_or_else(|| "rg".into());
    let mut command = Command::new(rg);
    command
        .args(["--no-config", "--hidden", "--ignore-case"])
        .args(["--line-number", "--column"])
        .args(["--glob", "!.git", "--regexp", pattern, "."])
        .current_dir(folder)
        .stdin(Stdio::null());
    command
}

/// The body of a `grep_codebase` call.
pub fn grep_call(pattern: &str) -> String {
    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "grep_codebase", "arguments": { "pattern": pattern } },
    });
    call.to_string()
}

/// The number of lines that a reply of `grep_codebase` counts.
pub fn total_matches(reply: &[u8]) -> u64 {
    let reply: Value = serde_json::from_slice(reply).expect("JSON");
    let total = &reply["result"]["structuredContent"]["totalMatches"];
    total
        .as_u64()
        .unwrap_or_else(|| panic!("no result: {reply}"))
}
