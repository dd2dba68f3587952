//! A failure as an agent reads it: what failed, and what to try next.
//!
//! Both sides create failures (the gateway for bad arguments, a worker for a missing file), so their
//! shape is defined here. `{"error": {code, message, suggestion, details}}` is the only text block, and is
//! in `_meta` as well, with `isError: true` and no `structuredContent`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{fault::Fault, meta, refused_by::RefusedBy};

/// Why a tool call failed, for the agent. Contains no host path, SQL or secret.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{code}: {message}")]
pub struct Failure {
    /// The fault.
    pub code: Fault,
    /// What failed, and on which input.
    pub message: String,
    /// What to try instead.
    pub suggestion: String,
    /// Facts for programs: violations, positions, seconds to wait.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub details: BTreeMap<String, Value>,
    /// What refused the call. Operators read it in the audit trail, and agents never.
    #[serde(skip)]
    pub refused_by: Option<RefusedBy>,
}

impl Failure {
    /// A failure without details.
    pub fn new(code: Fault, message: impl Into<String>, suggestion: impl Into<String>) -> Self {
        Failure {
            code,
            message: message.into(),
            suggestion: suggestion.into(),
            details: BTreeMap::new(),
            refused_by: None,
        }
    }

    /// Adds a fact for programs.
    #[must_use]
    pub fn detail(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.details.insert(name.to_owned(), value.into());
        self
    }

    /// Sets what refused the call.
    #[must_use]
    pub fn refused_by(mut self, refused_by: RefusedBy) -> Self {
        self.refused_by = Some(refused_by);
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
    fn text_and_meta_contain_the_same_failure() {
        let failure = Failure::new(Fault::FileNotFound, "no file \"a\"", "call list_files")
            .detail("path", "a")
            .refused_by(RefusedBy::new("close glob sesame"));
        let result = failure.to_result();
        let text: Value =
            serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(text, result["_meta"][meta::ERROR]);
        assert_eq!(text["error"]["code"], "file_not_found");
        assert_eq!(result["isError"], true);
        assert!(result.get("structuredContent").is_none());
        assert!(!result.to_string().contains("sesame"), "{result}");
    }
}
