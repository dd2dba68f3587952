//! What a tool answered, for people and for programs.

use archway_proto::fault::Fault;
use archway_proto::meta;
use serde_json::Value;

/// The result of a call.
#[derive(Debug)]
pub(super) struct Answer {
    result: Value,
}

impl Answer {
    /// The result in a message, if it is that of a tool.
    pub(super) fn of(mut message: Value) -> Option<Answer> {
        let result = message.get_mut("result")?.take();
        result["content"].is_array().then_some(Answer { result })
    }

    /// All of it on one line.
    pub(super) fn json(&self) -> String {
        self.result.to_string()
    }

    /// Its text; what is no text is named.
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

    /// What failed and what to do next, if the tool says that it failed.
    pub(super) fn failure(&self) -> Option<String> {
        if self.result["isError"] != true {
            return None;
        }
        let told = |name: &str| self.error()[name].as_str();
        let said = match (told("code"), told("message"), told("suggestion")) {
            (Some(code), Some(message), Some(next)) => format!("{code}: {message}; {next}"),
            _ => self.text(),
        };
        Some(said.trim_end().to_owned())
    }

    /// Whether it failed for a reason that may be over soon.
    pub(super) fn is_passing(&self) -> bool {
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

    fn answer(result: Value) -> Answer {
        Answer::of(json!({ "jsonrpc": "2.0", "id": 1, "result": result })).unwrap()
    }

    #[test]
    fn text_is_printed_block_by_block_and_what_is_no_text_is_named() {
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
    fn a_failure_says_what_to_do_next_and_some_pass() {
        let failed = |code| answer(Failure::new(code, "no file", "call list_files").to_result());
        let missing = failed(Fault::FileNotFound);
        let said = "file_not_found: no file; call list_files";
        assert_eq!(missing.failure().as_deref(), Some(said));
        assert!(!missing.is_passing());
        assert!(failed(Fault::Unavailable).is_passing());
        // Of a tool that is not Archway's.
        let content = json!([{ "type": "text", "text": "no\n" }]);
        let other = answer(json!({ "content": content, "isError": true }));
        assert_eq!(other.failure().as_deref(), Some("no"));
        assert!(!other.is_passing());
    }

    #[test]
    fn what_is_no_result_of_a_tool_is_none() {
        for message in [json!(null), json!({ "result": {} }), json!({ "ok": true })] {
            assert!(Answer::of(message).is_none());
        }
    }
}
