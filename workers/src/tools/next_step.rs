//! The next step that a failure suggests, for a caller who may not call all tools that it names.

use archway_proto::failure::Failure;
use tokio::time::{Duration, timeout};

use super::Registry;
use crate::context::GivenTools;

/// How long to wait for the rules that say which tools are given.
const WAIT: Duration = Duration::from_millis(100);

impl Registry {
    /// Adds to a failure which of the tools that it suggests are not given to the caller, if that is known soon.
    pub(super) async fn with_lacked_tools(
        &self,
        given: &GivenTools,
        mut failure: Failure,
    ) -> Failure {
        let lacked = timeout(WAIT, self.lacked_tools(given, &failure.suggestion)).await;
        let lacked = lacked.unwrap_or_default();
        if !lacked.is_empty() {
            let lacked = lacked.join(", ");
            failure.suggestion = format!("{} (not given to you: {lacked})", failure.suggestion);
        }
        failure
    }

    /// The tools that a suggestion names and that are not given to the caller.
    async fn lacked_tools(&self, given: &GivenTools, suggestion: &str) -> Vec<&str> {
        let mut lacked = Vec::new();
        for tool in &self.list.tools {
            let is_named = names(suggestion, &tool.name);
            if is_named && !given.have(&tool.family, tool.scope).await {
                lacked.push(tool.name.as_str());
            }
        }
        lacked
    }
}

/// Whether a suggestion names a tool. Between backticks stand paths and arguments.
fn names(suggestion: &str, tool: &str) -> bool {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut parts = suggestion.split('`').step_by(2);
    parts.any(|part| part.split(|c| !is_of_name(c)).any(|word| word == tool))
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn a_tool_is_named_by_a_whole_word_outside_of_backticks() {
        let suggestion = "did you mean `src/outline.rs`? Or call list_files, or git_log";
        assert!(names(suggestion, "list_files") && names(suggestion, "git_log"));
        for other in ["outline", "list_file", "log", "files"] {
            assert!(!names(suggestion, other), "{other}");
        }
    }
}
