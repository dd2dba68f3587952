//! A tool's result, for people and for programs.

use archway_proto::fault::Fault;
use archway_proto::meta;
use serde_json::Value;

/// The result of a call.
#[derive(Debug)]
pub(super) struct ToolResult {
    result: Value,
}

impl ToolResult {
    /// Parses a message; `None` unless it is a tool's result.
    pub(super) fn of(mut message: Value) -> Option<ToolResult> {
        let result = message.get_mut("result")?.take();
        result["content"]
            .is_array()
            .then_some(ToolResult { result })
    }

    /// The whole result on one line.
    pub(super) fn json(&self) -> String {
        self.result.to_string()
    }

    /// Its text blocks. Other blocks are named.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for block in self.blocks() {
            match block["text"].as_str() {
                Some(part) => text.push_str(&part.replace("\r\n", "\n")),
                None => {
                    let kind = block["type"].as_str().unwrap_or("unknown");
                    text.push_str(&format!("[{kind}: see --json]"));
                }
            }
            if !text.ends_with('\n') {
                text.push('\n');
            }
        }
        text
    }

    /// The failure and what to do next, if the tool reported one.
    pub(super) fn failure(&self) -> Option<String> {
        if self.result["isError"] != true {
            return None;
        }
        let field = |name: &str| self.error()[name].as_str();
        let said = match (field("code"), field("message"), field("suggestion")) {
            (Some(code), Some(message), Some(next)) => format!("{code}: {message}; {next}"),
            _ => self.text(),
        };
        Some(said.trim_end().to_owned())
    }

    /// Whether the failure may be temporary.
    pub(super) fn is_temporary(&self) -> bool {
        let code = self.error()["code"].as_str();
        let passing = [Fault::Unavailable, Fault::CircuitOpen];
        self.failure().is_some() && passing.iter().any(|it| code == Some(it.code()))
    }

    fn blocks(&self) -> impl Iterator<Item = &Value> {
        self.result["content"].as_array().into_iter().flatten()
    }

    fn error(&self) -> &Value {
        &self.result["_meta"][meta::ERROR]["error"]
    }
}

#[cfg(test)]
mod tests {
    use archway_proto::failure::Failure;
    use serde_json::json;

    use super::*;

    fn answer(result: Value) -> ToolResult {
        ToolResult::of(json!({ "jsonrpc": "2.0", "id": 1, "result": result })).unwrap()
    }

    #[test]
    fn text_blocks_are_printed_and_others_are_named() {
        let answer = answer(json!({ "content": [
            { "type": "text", "text": "a\tb\r\nc" },
            { "type": "image", "data": "AA==" },
        ]}));
        assert_eq!(answer.text(), "a\tb\nc\n[image: see --json]\n");
        assert_eq!(answer.failure(), None);
        let read: Value = serde_json::from_str(&answer.json()).unwrap();
        assert_eq!(read, answer.result);
    }

    #[test]
    fn a_failure_says_what_to_do_next_and_some_are_temporary() {
        let failed = |code| answer(Failure::new(code, "no file", "call list_files").to_result());
        let missing = failed(Fault::FileNotFound);
        let said = "file_not_found: no file; call list_files";
        assert_eq!(missing.failure().as_deref(), Some(said));
        assert!(!missing.is_temporary());
        assert!(failed(Fault::Unavailable).is_temporary());
        // A tool that is not Archway's.
        let content = json!([{ "type": "text", "text": "no\n" }]);
        let other = answer(json!({ "content": content, "isError": true }));
        assert_eq!(other.failure().as_deref(), Some("no"));
        assert!(!other.is_temporary());
    }

    #[test]
    fn only_a_tools_result_is_parsed() {
        for message in [json!(null), json!({ "result": {} }), json!({ "ok": true })] {
            assert!(ToolResult::of(message).is_none());
        }
    }
}
