//! The answer to a call, written once: the worker's JSON is passed through without a second parse.
//!
//! Adds the gateway's part to a worker's result: the text block if the worker left it out (the same
//! JSON), the sealed cursor, the duration, and the fields that the revision requires.

use std::time::Duration;

use archway_proto::{failure::Failure, fault::Fault, meta, meta::Files};
use axum::{body::Body, response::Response};
use http::HeaderValue;
use http_body_util::{BodyExt, Collected};
use serde::{Deserialize, Serialize};
use serde_json::{
    Map, Value, json,
    value::{RawValue, to_raw_value},
};

use super::{content::json_response, envelope::RequestId, era::Era};
use crate::{audit::AnswerFacts, cursor::CURSOR, session::HANDLE_HEADER};

/// The fields that every answer to a call starts with.
pub(crate) struct Head<'a> {
    pub(crate) id: &'a RequestId,
    pub(crate) era: Era,
    /// From the end of the body to the finished result.
    pub(crate) took: Duration,
}

/// Why a worker's result could not be passed on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReplyError {
    #[error("the worker's result is not a tool result")]
    Malformed(#[from] serde_json::Error),
    #[error("the worker's result has neither content nor data")]
    Empty,
    #[error("the cursor could not be sealed")]
    Cursor,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WorkerResult<'a> {
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    structured_content: Option<&'a RawValue>,
    #[serde(default)]
    is_error: bool,
    #[serde(default, rename = "_meta")]
    meta: Map<String, Value>,
}

#[derive(Serialize)]
struct JsonRpcAnswer<'a> {
    jsonrpc: &'static str,
    id: &'a RequestId,
    result: ToolResult<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolResult<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    result_type: Option<&'static str>,
    content: Content<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    structured_content: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_error: bool,
    #[serde(rename = "_meta")]
    meta: Map<String, Value>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Raw(&'a RawValue),
    Text([TextBlock<'a>; 1]),
}

#[derive(Serialize)]
struct TextBlock<'a> {
    r#type: &'static str,
    text: &'a str,
}

/// A worker's result in the client's form.
pub(crate) struct WrittenReply {
    /// The JSON-RPC message.
    pub(crate) message: Vec<u8>,
    /// The fault that it carries, if any.
    pub(crate) fault: Option<Fault>,
    /// The tool ran out of time and returned a partial result. A tool with nothing to return
    /// reports a fault instead.
    pub(crate) incomplete: bool,
    /// Facts for the audit trail.
    pub(crate) facts: AnswerFacts,
}

/// Writes the JSON-RPC message for a worker's result. `seal` seals the worker's cursor.
pub(crate) fn result(
    head: &Head<'_>,
    result: &[u8],
    seal: impl FnOnce(&str) -> Option<String>,
) -> Result<WrittenReply, ReplyError> {
    let mut worker: WorkerResult<'_> = serde_json::from_slice(result)?;
    let (mut spliced, mut extended) = (None, None);
    if let (Some(Value::String(plain)), Some(structured)) =
        (worker.meta.remove(meta::CURSOR), worker.structured_content)
    {
        let sealed = seal(&plain).ok_or(ReplyError::Cursor)?;
        spliced = Some(splice(structured.get(), &sealed)?);
        let content = worker.content;
        extended = content.map(|it| append_cursor(it, &sealed)).transpose()?;
    }
    let structured = spliced.as_deref().or(worker.structured_content);
    let content = match (extended.as_deref().or(worker.content), structured) {
        (Some(content), _) => Content::Raw(content),
        (None, Some(json)) => Content::Text([TextBlock {
            r#type: "text",
            text: json.get(),
        }]),
        (None, None) => return Err(ReplyError::Empty),
    };
    let fault = fault(&worker);
    let incomplete = worker.meta.contains_key(meta::INCOMPLETE);
    let facts = facts(&mut worker.meta);
    let message = write(head, content, structured, worker.is_error, worker.meta)?;
    Ok(WrittenReply {
        message,
        fault,
        incomplete,
        facts,
    })
}

/// The JSON-RPC message for a call that failed without a worker's result.
pub(crate) fn failure(head: &Head<'_>, failure: &Failure) -> Vec<u8> {
    let worker = failure.to_result().to_string();
    // A failure is a valid tool result without a cursor, so this cannot fail.
    result(head, worker.as_bytes(), |_none| None)
        .map(|written| written.message)
        .unwrap_or_default()
}

fn write(
    head: &Head<'_>,
    content: Content<'_>,
    structured_content: Option<&RawValue>,
    is_error: bool,
    mut meta: Map<String, Value>,
) -> Result<Vec<u8>, serde_json::Error> {
    let micros = u32::try_from(head.took.as_micros()).unwrap_or(u32::MAX);
    meta.insert(
        meta::DURATION_MS.to_owned(),
        json!(f64::from(micros) / 1000.0),
    );
    let result_type = match head.era {
        Era::Legacy => None,
        Era::Modern => Some("complete"),
    };
    let result = ToolResult {
        result_type,
        content,
        structured_content,
        is_error,
        meta,
    };
    let mut message = Vec::with_capacity(size(&result));
    serde_json::to_writer(
        &mut message,
        &JsonRpcAnswer {
            jsonrpc: "2.0",
            id: head.id,
            result,
        },
    )?;
    Ok(message)
}

/// Estimated size of the message for this result. An estimate that is too low would make the buffer
/// grow to twice its size.
fn size(result: &ToolResult<'_>) -> usize {
    let data = result.structured_content.map_or("", RawValue::get);
    let content = match result.content {
        Content::Raw(content) => content.get().len(),
        // Each of these bytes is escaped with one more.
        Content::Text([TextBlock { text, .. }]) => {
            let escaped = |byte: &u8| matches!(byte, b'"' | b'\\' | b'\n' | b'\r' | b'\t');
            text.len() + text.bytes().filter(|byte| escaped(byte)).count()
        }
    };
    data.len() + content + 2 * 1024
}

fn fault(worker: &WorkerResult<'_>) -> Option<Fault> {
    let code = || {
        worker
            .meta
            .get(meta::ERROR)?
            .get("error")?
            .get("code")?
            .as_str()
    };
    worker.is_error.then(|| {
        code()
            .and_then(Fault::from_code)
            .unwrap_or(Fault::InternalError)
    })
}

/// The facts in a worker's `_meta` for the audit trail. Removes those that are for the gateway
/// only.
pub(crate) fn facts(fields: &mut Map<String, Value>) -> AnswerFacts {
    let commit = fields.get(meta::COMMIT).and_then(|it| it.get("id"));
    let commit = commit.and_then(Value::as_str).map(str::to_owned);
    let files = fields.remove(meta::FILES);
    let files: Files = files
        .and_then(|it| serde_json::from_value(it).ok())
        .unwrap_or_default();
    AnswerFacts {
        commit,
        files: files.paths,
        more_files: files.more,
        bytes: 0,
    }
}

/// Adds `"cursor"` as the last member of a JSON object.
fn splice(object: &str, sealed: &str) -> Result<Box<RawValue>, serde_json::Error> {
    let members = object
        .trim_end()
        .strip_suffix('}')
        .unwrap_or("{")
        .trim_end();
    let comma = if members.ends_with('{') { "" } else { "," };
    RawValue::from_string(format!("{members}{comma}\"{CURSOR}\":\"{sealed}\"}}"))
}

/// Adds the cursor to the last text block: some clients show a model nothing else.
fn append_cursor(content: &RawValue, sealed: &str) -> Result<Box<RawValue>, serde_json::Error> {
    let mut blocks: Vec<Value> = serde_json::from_str(content.get())?;
    let text = blocks.last_mut().and_then(|block| block.get_mut("text"));
    if let Some(Value::String(text)) = text {
        match text.starts_with('{') {
            // A text that is JSON itself must stay JSON.
            true => *text = splice(text, sealed)?.get().to_owned(),
            false => text.push_str(&format!("\n{CURSOR}: {sealed}\n")),
        }
    }
    to_raw_value(&blocks)
}

/// The empty result of older revisions.
pub(crate) fn empty(id: &RequestId) -> Response {
    let message = json!({ "jsonrpc": "2.0", "id": id, "result": {} });
    json_response(message.to_string().into_bytes())
}

/// Adds the handle of the new session to the answer to `initialize`; an error opens no session.
pub(crate) async fn with_handle(response: Response, handle: &str) -> Response {
    let (mut parts, body) = response.into_parts();
    let body = body.collect().await.map(Collected::to_bytes);
    // The SDK's body is in memory, so reading it cannot fail.
    let body = body.unwrap_or_default();
    let answer = serde_json::from_slice::<Value>(&body);
    if answer.is_ok_and(|answer| answer.get("result").is_some()) {
        // Base64 is always a valid header value.
        let handle = HeaderValue::try_from(handle).ok();
        parts.headers.extend(handle.map(|it| (HANDLE_HEADER, it)));
    }
    Response::from_parts(parts, Body::from(body))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(era: Era, worker: &str) -> (Value, Option<Fault>) {
        let id = RequestId::Number(1);
        let head = Head {
            id: &id,
            era,
            took: Duration::from_micros(1500),
        };
        let written = result(&head, worker.as_bytes(), |plain| {
            Some(format!("sealed-{plain}"))
        })
        .unwrap();
        (
            serde_json::from_slice(&written.message).unwrap(),
            written.fault,
        )
    }

    #[test]
    fn a_result_without_content_gets_its_json_as_the_text() {
        let (answer, fault) = answered(Era::Legacy, r#"{"structuredContent":{"a":"é\n"}}"#);
        let expected = json!({
            "jsonrpc": "2.0", "id": 1,
            "result": {
                "content": [{ "type": "text", "text": r#"{"a":"é\n"}"# }],
                "structuredContent": { "a": "é\n" },
                "_meta": { "io.archway/durationMs": 1.5 },
            },
        });
        assert_eq!((answer, fault), (expected, None));
    }

    #[test]
    fn content_that_the_worker_wrote_is_unchanged() {
        let worker = r##"{"content":[{"type":"text","text":"# md"}],"structuredContent":{}}"##;
        let (answer, _) = answered(Era::Modern, worker);
        assert_eq!(
            answer["result"]["content"],
            json!([{ "type": "text", "text": "# md" }])
        );
        assert_eq!(answer["result"]["resultType"], "complete");
    }

    #[test]
    fn a_cursor_moves_sealed_into_text_and_data() {
        for (structured, expected) in [
            (r#"{"a":{}}"#, json!({ "a": {}, "cursor": "sealed-7" })),
            ("{ }", json!({ "cursor": "sealed-7" })),
        ] {
            let worker = format!(
                r#"{{"structuredContent":{structured},"_meta":{{"io.archway/cursor":"7"}}}}"#
            );
            let (answer, _) = answered(Era::Legacy, &worker);
            let result = &answer["result"];
            assert_eq!(result["structuredContent"], expected);
            let text = result["content"][0]["text"].as_str().unwrap();
            assert_eq!(serde_json::from_str::<Value>(text).unwrap(), expected);
            assert!(result["_meta"].get("io.archway/cursor").is_none());
        }
    }

    #[test]
    fn a_text_that_is_json_stays_so_with_the_sealed_cursor() {
        let worker = r#"{"content":[{"type":"text","text":"{\"a\":1}"}],
            "structuredContent":{"a":2},"_meta":{"io.archway/cursor":"7"}}"#;
        let (answer, _) = answered(Era::Legacy, worker);
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        let text: Value = serde_json::from_str(text).unwrap();
        assert_eq!(text, json!({ "a": 1, "cursor": "sealed-7" }));
    }

    #[test]
    fn a_text_that_is_not_the_data_ends_with_the_sealed_cursor() {
        let worker = r##"{"content":[{"type":"text","text":"# \"md\"\n"}],
            "structuredContent":{},"_meta":{"io.archway/cursor":"7"}}"##;
        let (answer, _) = answered(Era::Modern, worker);
        let told = "# \"md\"\n\ncursor: sealed-7\n";
        assert_eq!(
            answer["result"]["content"],
            json!([{ "type": "text", "text": told }])
        );
        assert_eq!(answer["result"]["structuredContent"]["cursor"], "sealed-7");
    }

    #[test]
    fn a_failure_is_an_error_result_and_names_its_fault() {
        let id = RequestId::Text("x".into());
        let head = Head {
            id: &id,
            era: Era::Legacy,
            took: Duration::ZERO,
        };
        let failed = Failure::new(Fault::FileNotFound, "no file \"a\"", "call list_files");
        let answer: Value = serde_json::from_slice(&failure(&head, &failed)).unwrap();
        assert_eq!(answer["result"]["isError"], true);
        assert!(answer["result"].get("structuredContent").is_none());
        let (_, fault) = answered(Era::Legacy, &failed.to_result().to_string());
        assert_eq!(fault, Some(Fault::FileNotFound));
    }

    #[test]
    fn anything_but_a_tool_result_is_a_malformed_reply() {
        let id = RequestId::Number(1);
        let head = Head {
            id: &id,
            era: Era::Legacy,
            took: Duration::ZERO,
        };
        for worker in ["", "[]", "{}", r#"{"_meta":3}"#] {
            assert!(
                result(&head, worker.as_bytes(), |_| None).is_err(),
                "{worker}"
            );
        }
    }
}
