//! One `tools/call` as a self-contained request of MCP 2026-07-28, without a session.
//!
//! Each attempt has a deadline, and its answer a bound; both include connecting and the last byte. Plain
//! HTTP bypasses proxies, because they could read the key.

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

use super::error::{CallError, CallFailure};
use super::tool_result::ToolResult;

const REVISION: &str = "2026-07-28";
const METHOD: &str = "tools/call";
/// A gateway answers within 30 s, even if its workers don't.
const TIMEOUT: Duration = Duration::from_secs(35);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The largest result of a worker, and what the gateway adds to it.
const LARGEST: usize = MAX_MESSAGE_BYTES + 64 * 1024;
/// How many characters of an unexpected answer are repeated.
const MOST_REPEATED: usize = 300;

/// A prepared call, which can be made repeatedly.
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
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(TIMEOUT)
            .redirect(Policy::none());
        let http = match url.scheme() {
            "https" => builder,
            // Plain HTTP doesn't need the machine's certificate authorities.
            _ => builder.no_proxy().tls_certs_only([]),
        };
        Ok(Exchange {
            http: http.build().map_err(CallError::Client)?,
            url: url.clone(),
            headers: headers(key, tool)?,
            body: message(tool, arguments).to_string().into(),
        })
    }

    /// Makes one attempt.
    pub(super) async fn ask(&self) -> Result<ToolResult, CallFailure> {
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
                origin: self.origin(),
                status,
                said: said(&message, &body),
                retry_after,
            });
        }
        ToolResult::of(message).ok_or_else(|| CallFailure::NotMcp {
            origin: self.origin(),
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
                    origin: self.origin(),
                    most: LARGEST,
                });
            }
            body.extend_from_slice(&part);
        }
        Ok(body)
    }

    fn unreachable(&self, error: reqwest::Error) -> CallFailure {
        CallFailure::Unreachable {
            origin: self.origin(),
            source: error.without_url(),
        }
    }

    /// The URL's origin. The path is omitted, as it may be confidential.
    fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }
}

/// Whether a JSON-RPC error with this status says more than the status does.
fn speaks_for_itself(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::OK | StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND
    )
}

/// The headers of MCP 2026-07-28, which repeat parts of the body.
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

/// A tool's name as a header: base64 unless it is plain ASCII.
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

/// A refusal's readable message. Empty for HTML pages and JSON.
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

/// One line of bounded length.
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
