//! One `tools/call` as a request of MCP 2026-07-28, which stands for itself: no session before it.
//!
//! Each try has its time and its answer a bound, connecting and the last byte included. Plain HTTP
//! goes by no proxy: the key would be there for it to read.

use std::time::Duration;

use archway_proto::misleading::on_one_line;
use archway_proto::{MAX_MESSAGE_BYTES, meta};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, Url};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::answer::Answer;
use super::error::{CallError, CallFailure};

const REVISION: &str = "2026-07-28";
const METHOD: &str = "tools/call";
/// A gateway answers within 30 s, whatever its workers do.
const PATIENCE: Duration = Duration::from_secs(35);
const CONNECT_PATIENCE: Duration = Duration::from_secs(5);
/// A worker's largest result, and what the gateway adds.
const LARGEST: usize = MAX_MESSAGE_BYTES + 64 * 1024;
/// Characters of an answer that is no result which are repeated.
const MOST_REPEATED: usize = 300;

/// A call, ready to be made as often as it takes.
pub(super) struct Exchange {
    http: Client,
    url: Url,
    headers: HeaderMap,
    body: Bytes,
}

impl Exchange {
    pub(super) fn new(
        url: &Url,
        key: &SecretString,
        tool: &str,
        arguments: &Map<String, Value>,
    ) -> Result<Self, CallError> {
        let builder = Client::builder()
            .user_agent(concat!("archway/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_PATIENCE)
            .timeout(PATIENCE)
            .redirect(Policy::none());
        let http = match url.scheme() {
            "https" => builder,
            // Nor do the machine's authorities have to be there.
            _ => builder.no_proxy().tls_certs_only([]),
        };
        Ok(Exchange {
            http: http.build().map_err(CallError::Client)?,
            url: url.clone(),
            headers: headers(key, tool)?,
            body: message(tool, arguments).to_string().into(),
        })
    }

    /// Makes the call once.
    pub(super) async fn ask(&self) -> Result<Answer, CallFailure> {
        let request = self.http.post(self.url.clone());
        let request = request.headers(self.headers.clone());
        let sent = request.body(self.body.clone()).send().await;
        let answer = sent.map_err(|error| self.unreachable(error))?;
        let status = answer.status();
        let retry_after = retry_after(answer.headers());
        let body = self.read(answer).await?;
        let message: Value = serde_json::from_slice(&body).unwrap_or_default();
        if speaks_for_itself(status)
            && let Some(error) = message.get("error").filter(|error| error.is_object())
        {
            return Err(CallFailure::Refused {
                code: error["code"].as_i64().unwrap_or_default(),
                message: repeated(error["message"].as_str().unwrap_or_default()),
            });
        }
        if !status.is_success() {
            return Err(CallFailure::Status {
                place: self.place(),
                status,
                said: said(&message, &body),
                retry_after,
            });
        }
        Answer::of(message).ok_or_else(|| CallFailure::NotMcp {
            place: self.place(),
        })
    }

    async fn read(&self, mut answer: Response) -> Result<Vec<u8>, CallFailure> {
        let mut body = Vec::new();
        while let Some(part) = answer
            .chunk()
            .await
            .map_err(|error| self.unreachable(error))?
        {
            if body.len() + part.len() > LARGEST {
                return Err(CallFailure::TooLong {
                    place: self.place(),
                    most: LARGEST,
                });
            }
            body.extend_from_slice(&part);
        }
        Ok(body)
    }

    fn unreachable(&self, error: reqwest::Error) -> CallFailure {
        CallFailure::Unreachable {
            place: self.place(),
            source: error.without_url(),
        }
    }

    /// Without the path, which people may keep to themselves.
    fn place(&self) -> String {
        self.url.origin().ascii_serialization()
    }
}

/// Whether a JSON-RPC error of this status says more than the status does.
fn speaks_for_itself(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::OK | StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND
    )
}

/// The headers of 2026-07-28, which repeat what the body says.
fn headers(key: &SecretString, tool: &str) -> Result<HeaderMap, CallError> {
    let credential = format!("Bearer {}", key.expose_secret());
    let mut credential =
        HeaderValue::try_from(credential).map_err(|_not_a_header| CallError::KeyForm)?;
    credential.set_sensitive(true);
    let json = HeaderValue::from_static("application/json");
    Ok(HeaderMap::from_iter([
        (AUTHORIZATION, credential),
        (CONTENT_TYPE, json.clone()),
        (ACCEPT, json),
        (
            HeaderName::from_static("mcp-protocol-version"),
            HeaderValue::from_static(REVISION),
        ),
        (
            HeaderName::from_static("mcp-method"),
            HeaderValue::from_static(METHOD),
        ),
        (HeaderName::from_static("mcp-name"), name(tool)),
    ]))
}

/// What is no plain header travels in base64.
fn name(tool: &str) -> HeaderValue {
    let plain = tool.bytes().all(|byte| byte.is_ascii_graphic()) && !tool.starts_with("=?");
    let plain = plain.then(|| HeaderValue::from_str(tool).ok()).flatten();
    plain.unwrap_or_else(|| {
        let encoded = format!("=?base64?{}?=", STANDARD.encode(tool));
        HeaderValue::try_from(encoded).unwrap_or(HeaderValue::from_static(""))
    })
}

fn message(tool: &str, arguments: &Map<String, Value>) -> Value {
    json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": METHOD,
        "params": {
            "name": tool,
            "arguments": arguments,
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": REVISION,
                "io.modelcontextprotocol/clientInfo": {
                    "name": "archway-call",
                    "version": env!("CARGO_PKG_VERSION"),
                },
                "io.modelcontextprotocol/clientCapabilities": {},
                meta::IDEMPOTENCY_KEY: Uuid::new_v4().to_string(),
            },
        },
    })
}

fn retry_after(headers: &HeaderMap) -> Option<u64> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.parse().ok()
}

/// What a refusal says in words; a page for browsers says nothing.
fn said(message: &Value, body: &[u8]) -> String {
    let text = match message["error"]["message"].as_str() {
        Some(text) => text.to_owned(),
        None => String::from_utf8_lossy(body).trim().to_owned(),
    };
    if text.is_empty() || text.starts_with(['<', '{']) {
        return String::new();
    }
    format!(", {}", repeated(&text))
}

/// On one line, and not longer than makes sense.
fn repeated(text: &str) -> String {
    let start: String = text.chars().take(MOST_REPEATED).collect();
    on_one_line(&start.replace(char::is_whitespace, " ")).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_no_header_is_encoded() {
        assert_eq!(name("read_file"), "read_file");
        assert_eq!(name("größe"), "=?base64?Z3LDtsOfZQ==?=");
        assert_eq!(name("=?base64?aA==?="), "=?base64?PT9iYXNlNjQ/YUE9PT89?=");
    }

    #[test]
    fn of_a_refusal_one_line_of_words_is_repeated_and_no_page() {
        let words = |body: &str| {
            let message = serde_json::from_str(body).unwrap_or_default();
            said(&message, body.as_bytes())
        };
        assert_eq!(words("not\nnow\u{1b}[2J\n"), r", not now\u{1b}[2J");
        assert_eq!(words(r#"{"error":{"message":"no"}}"#), ", no");
        for nothing in ["", " ", "<html>", r#"{"a":1}"#] {
            assert_eq!(words(nothing), "", "{nothing}");
        }
        assert_eq!(words(&"x".repeat(5000)).len(), MOST_REPEATED + 2);
    }

    #[test]
    fn the_key_is_not_in_what_is_printed_of_the_headers() {
        let key = SecretString::from("awy_sesame");
        let shown = format!("{:?}", headers(&key, "hello").unwrap());
        assert!(!shown.contains("sesame"), "{shown}");
        let odd = headers(&SecretString::from("a\nb"), "hello");
        assert!(matches!(odd, Err(CallError::KeyForm)));
    }
}
