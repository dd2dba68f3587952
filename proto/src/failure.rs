//! A failure as an agent reads it: what failed, and what to try next.
//!
//! Both sides make these (the gateway refuses bad arguments, a worker a missing file), so the
//! shape stands here: `{"error": {code, message, suggestion, details}}` as the only text block
//! and in `_meta`, with `isError: true` and no `structuredContent`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{fault::Fault, meta};

/// Why a tool call failed, in words for the agent. Holds no host path, SQL or secret.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{code}: {message}")]
pub struct Failure {
    /// Which fault of the closed list.
    pub code: Fault,
    /// What failed, on which input.
    pub message: String,
    /// What to try instead.
    pub suggestion: String,
    /// Facts for programs: violations, positions, seconds to wait.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub details: BTreeMap<String, Value>,
}

impl Failure {
    /// A failure without details.
    pub fn new(code: Fault, message: impl Into<String>, suggestion: impl Into<String>) -> Self {
        Failure {
            code,
            message: message.into(),
            suggestion: suggestion.into(),
            details: BTreeMap::new(),
        }
    }

    /// Adds one fact for programs.
    #[must_use]
    pub fn detail(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.details.insert(name.to_owned(), value.into());
        self
    }

    /// The MCP tool result that carries this failure.
    pub fn to_result(&self) -> Value {
        let error = json!({ "error": self });
        json!({
            "content": [{ "type": "text", "text": error.to_string() }],
            "isError": true,
            "_meta": { meta::ERROR: error },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_the_same_for_readers_of_text_and_of_meta() {
        let failure = Failure::new(Fault::FileNotFound, "no file \"a\"", "call list_files")
            .detail("path", "a");
        let result = failure.to_result();
        let text: Value =
            serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(text, result["_meta"][meta::ERROR]);
        assert_eq!(text["error"]["code"], "file_not_found");
        assert_eq!(result["isError"], true);
        assert!(result.get("structuredContent").is_none());
    }
}
