//! The instructions that a client reads first: which tools to begin with, of those that its caller may call.

use crate::{caller::Principal, catalog::ToolSet};

const WHAT: &str = "Archway serves your organisation's repositories as tools.";
const COMMIT: &str = "Every answer names the commit it was read from in _meta.";
const DOCUMENTS: &str = "What projects wrote down of decisions, rules and ways to work is among the resources and prompts.";
const NOTHING: &str = "No tool is given to you: ask the operator for access.";

/// What tools are for.
const PURPOSES: [(&str, &[&str]); 6] = [
    ("Start with", &["list_projects", "get_repo_overview"]),
    ("Read files", &["read_file", "list_files", "outline"]),
    ("Find text", &["grep_codebase", "search_files"]),
    ("Find code by what it does", &["context_search"]),
    (
        "Find definitions and who uses them",
        &["find_symbol", "find_references"],
    ),
    (
        "See who changed what, when and why",
        &["git_log", "git_blame", "git_diff"],
    ),
];
/// Tools whose callers may read documents, too.
const READERS: [&str; 2] = ["read_file", "search_architecture"];

/// The instructions for a caller. `tools` is `None` as long as no worker was seen.
pub(super) fn instructions(tools: Option<&ToolSet>, who: &Principal) -> String {
    let Some(tools) = tools else {
        return format!("{WHAT} {COMMIT}");
    };
    if tools.gives_nothing(who) {
        return format!("{WHAT} {NOTHING}");
    }
    let may_call = |name: &&&str| tools.callable(who, name).is_some();
    let mut sentences = vec![WHAT.to_owned()];
    for (purpose, names) in PURPOSES {
        let names: Vec<&str> = names.iter().filter(may_call).copied().collect();
        if !names.is_empty() {
            sentences.push(format!("{purpose}: {}.", names.join(", ")));
        }
    }
    if READERS.iter().any(|name| may_call(&name)) {
        sentences.push(DOCUMENTS.to_owned());
    }
    sentences.push(COMMIT.to_owned());
    sentences.join(" ")
}
