//! Every way in which a request is refused, and one table of how each looks on the wire.
//!
//! Middleware layers reject a request with a [`GatewayError`]. Failures of a tool call are results
//! (`archway_proto::failure`); so are its refusals by limits, circuits and bulkheads. The only 5xx
//! is 503: a credential that cannot be checked, limits that cannot be counted, or a session change
//! that cannot be recorded. -32603 is for internal errors: bugs, and files that cannot be read.

use archway_proto::{failure::Failure, misleading::escape, trace};
use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use http::{
    HeaderValue, StatusCode,
    header::{ALLOW, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE},
};
use serde::Serialize;
use serde_json::{Value, json};

use failure::RATE_LIMITED;
use quoted::truncate;

pub(crate) use failure::NOT_NOW;
pub(crate) use quoted::{MAX_QUOTED_BYTES, quoted};
pub(crate) use reason::RefusalReason;
pub(crate) use scope::{MissingScope, insufficient_scope};

mod failure;
mod quoted;
mod reason;
mod scope;

/// The protocol revisions that this gateway speaks, oldest first.
pub(crate) const REVISIONS: [&str; 5] = [
    "2024-11-05",
    "2025-03-26",
    "2025-06-18",
    "2025-11-25",
    "2026-07-28",
];

/// Why a request was refused. The texts are for the caller: they contain no secret and no address.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GatewayError {
    // HTTP.
    #[error("this host name is not served here: an operator can allow it with --allowed-host")]
    HostRefused,
    #[error("this origin is not allowed: an operator can allow it with --allowed-origin")]
    OriginRefused,
    #[error("not found: the MCP endpoint is /mcp")]
    NotFound,
    #[error("method not allowed: the MCP endpoint takes POST, and DELETE to end a session")]
    MethodNotAllowed,
    #[error("method not allowed: this document is read with GET")]
    GetOnly,
    #[error("more than 100 request headers")]
    TooManyHeaders,
    #[error("the body is larger than 1 MiB")]
    BodyTooLarge,
    #[error("the body did not arrive within 15 seconds")]
    BodyTooSlow,
    #[error(
        "too many bodies over 64 KiB are being read at the moment: send fewer of them at once, \
         or smaller ones, and try again"
    )]
    TooManyLargeBodies,
    #[error("the body ended before it was complete")]
    BodyBroken,
    #[error("the body must be application/json without a content encoding")]
    UnsupportedMediaType,
    #[error("the client must accept application/json or text/event-stream")]
    NotAcceptable,

    // The credential.
    #[error("a credential is required: send Authorization: Bearer <api key>")]
    NoCredential,
    #[error("the credential is not valid: check the key, or ask the operator for a new one")]
    BadCredential,
    #[error("the token names over 200 groups, or a long one: have its issuer list fewer")]
    TooManyGroups,
    #[error(
        "too many requests with bad credentials came from this address: wait, or send a valid credential"
    )]
    TooManyFailures { retry_after: u64 },
    #[error("the credential can't be checked at the moment: try again")]
    CredentialUnchecked,
    #[error("the credential lacks the scope {}: ask the operator for a key that has it", .0.lacked.name())]
    ScopeMissing(MissingScope),

    // The limits.
    #[error("{}", .0.message)]
    RateLimited(Box<OverLimit>),
    #[error("limits can't be counted at the moment, so requests are refused: try again")]
    LimitsUncounted,

    // The session.
    #[error(
        "invalid request: the session is unknown (it expired, was ended, or belongs to \
         another caller): call initialize again"
    )]
    SessionUnknown,
    #[error("invalid request: to end a session, send its handle in Mcp-Session-Id")]
    SessionHandleMissing,
    #[error("the session's change could not be recorded: try again")]
    SessionUnrecorded,

    // The message.
    #[error("parse error: {0}")]
    NotJson(String),
    #[error("invalid request: {0}")]
    InvalidRequest(String),
    #[error("invalid params: {0}")]
    InvalidRequestParams(String),
    #[error("header mismatch: {0}")]
    HeaderMismatch(String),
    #[error("unsupported protocol version {}", quoted(.0))]
    UnsupportedVersion(String),
    #[error("method not found: initialize exists only in revisions before 2026-07-28")]
    InitializeUnsupported,
    #[error("method not found: {}", quoted(.method))]
    UnknownMethod {
        method: String,
        /// Whether the revision requires a 404.
        modern: bool,
    },
    #[error("invalid params: level {0}")]
    InvalidLogLevel(String),

    // The call.
    #[error("unknown tool {}: {hint}", quoted(.name))]
    UnknownTool {
        name: String,
        /// What to do next.
        hint: String,
    },
    #[error("invalid params: {0}")]
    InvalidCallParams(&'static str),

    // A method other than a tool call that failed at the workers.
    #[error("{}; {}", .0.message, .0.suggestion)]
    WorkerFailure(Box<Failure>),
}

/// A limit that the caller exceeded.
#[derive(Debug)]
pub(crate) struct OverLimit {
    /// Names the limit's level and the wait.
    pub(crate) message: String,
    /// In seconds.
    pub(crate) retry_after: u64,
    /// The same for programs.
    pub(crate) details: Value,
}

impl GatewayError {
    /// The HTTP status, and the JSON-RPC code if the refusal is a JSON-RPC error.
    fn status_and_code(&self) -> (StatusCode, Option<i32>) {
        match self {
            GatewayError::HostRefused => (StatusCode::FORBIDDEN, None),
            GatewayError::OriginRefused => (StatusCode::FORBIDDEN, None),
            GatewayError::NotFound => (StatusCode::NOT_FOUND, None),
            GatewayError::MethodNotAllowed => (StatusCode::METHOD_NOT_ALLOWED, None),
            GatewayError::GetOnly => (StatusCode::METHOD_NOT_ALLOWED, None),
            GatewayError::TooManyHeaders => (StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, None),
            GatewayError::BodyTooLarge => (StatusCode::PAYLOAD_TOO_LARGE, None),
            GatewayError::BodyTooSlow => (StatusCode::REQUEST_TIMEOUT, None),
            GatewayError::TooManyLargeBodies => (StatusCode::TOO_MANY_REQUESTS, None),
            GatewayError::BodyBroken => (StatusCode::BAD_REQUEST, None),
            GatewayError::UnsupportedMediaType => (StatusCode::UNSUPPORTED_MEDIA_TYPE, None),
            GatewayError::NotAcceptable => (StatusCode::NOT_ACCEPTABLE, None),
            GatewayError::NoCredential => (StatusCode::UNAUTHORIZED, None),
            GatewayError::BadCredential => (StatusCode::UNAUTHORIZED, None),
            GatewayError::TooManyGroups => (StatusCode::FORBIDDEN, None),
            GatewayError::TooManyFailures { .. } => (StatusCode::TOO_MANY_REQUESTS, None),
            GatewayError::CredentialUnchecked => (StatusCode::SERVICE_UNAVAILABLE, None),
            GatewayError::ScopeMissing(_) => (StatusCode::FORBIDDEN, None),
            GatewayError::RateLimited(_) => (StatusCode::TOO_MANY_REQUESTS, Some(RATE_LIMITED)),
            GatewayError::LimitsUncounted => (StatusCode::SERVICE_UNAVAILABLE, None),
            GatewayError::SessionUnknown => (StatusCode::NOT_FOUND, Some(-32600)),
            GatewayError::SessionHandleMissing => (StatusCode::BAD_REQUEST, Some(-32600)),
            GatewayError::SessionUnrecorded => (StatusCode::SERVICE_UNAVAILABLE, None),
            GatewayError::NotJson(_) => (StatusCode::BAD_REQUEST, Some(-32700)),
            GatewayError::InvalidRequest(_) => (StatusCode::BAD_REQUEST, Some(-32600)),
            GatewayError::InvalidRequestParams(_) => (StatusCode::BAD_REQUEST, Some(-32602)),
            GatewayError::HeaderMismatch(_) => (StatusCode::BAD_REQUEST, Some(-32020)),
            GatewayError::UnsupportedVersion(_) => (StatusCode::BAD_REQUEST, Some(-32022)),
            GatewayError::InitializeUnsupported => (StatusCode::NOT_FOUND, Some(-32601)),
            GatewayError::UnknownMethod { modern: true, .. } => {
                (StatusCode::NOT_FOUND, Some(-32601))
            }
            GatewayError::UnknownMethod { modern: false, .. } => (StatusCode::OK, Some(-32601)),
            GatewayError::InvalidLogLevel(_) => (StatusCode::OK, Some(-32602)),
            GatewayError::UnknownTool { .. } => (StatusCode::OK, Some(-32602)),
            GatewayError::InvalidCallParams(_) => (StatusCode::OK, Some(-32602)),
            GatewayError::WorkerFailure(failure) => {
                (StatusCode::OK, Some(failure::code(failure.code)))
            }
        }
    }

    /// The header that this refusal must carry.
    fn header(&self) -> Option<(http::HeaderName, HeaderValue)> {
        match self {
            GatewayError::MethodNotAllowed => {
                Some((ALLOW, HeaderValue::from_static("POST, DELETE")))
            }
            GatewayError::GetOnly => Some((ALLOW, HeaderValue::from_static("GET, HEAD"))),
            GatewayError::TooManyFailures { retry_after } => {
                Some((RETRY_AFTER, HeaderValue::from(*retry_after)))
            }
            GatewayError::RateLimited(limit) => {
                Some((RETRY_AFTER, HeaderValue::from(limit.retry_after)))
            }
            GatewayError::CredentialUnchecked
            | GatewayError::SessionUnrecorded
            | GatewayError::TooManyLargeBodies => {
                Some((RETRY_AFTER, HeaderValue::from_static("2")))
            }
            GatewayError::LimitsUncounted => Some((RETRY_AFTER, HeaderValue::from_static("1"))),
            GatewayError::NoCredential => Some((
                WWW_AUTHENTICATE,
                HeaderValue::from_static("Bearer realm=\"archway\""),
            )),
            GatewayError::BadCredential => Some((
                WWW_AUTHENTICATE,
                HeaderValue::from_static("Bearer realm=\"archway\", error=\"invalid_token\""),
            )),
            GatewayError::ScopeMissing(missing) => {
                let challenge = HeaderValue::try_from(missing.challenge()).ok();
                challenge.map(|value| (WWW_AUTHENTICATE, value))
            }
            _ => None,
        }
    }

    fn data(&self) -> Option<Value> {
        match self {
            GatewayError::UnsupportedVersion(requested) => {
                Some(json!({ "requested": truncate(requested), "supported": REVISIONS }))
            }
            GatewayError::RateLimited(limit) => Some(limit.details.clone()),
            GatewayError::WorkerFailure(failure) => Some(failure::data(failure)),
            _ => None,
        }
    }

    /// Builds the HTTP response. `id` is `None` if the request's id could not be parsed.
    pub(crate) fn respond<I: Serialize>(&self, id: Option<&I>) -> Response {
        let (status, code) = self.status_and_code();
        if let Some(code) = code {
            trace::set("rpc.response.status_code", code.to_string());
            trace::fail(code.to_string());
        }
        let text = self.to_string();
        let (text, _) = escape(&text);
        let (media_type, body) = match code {
            None => ("text/plain; charset=utf-8", text.into_owned()),
            Some(code) => {
                let mut message = json!({
                    "jsonrpc": "2.0",
                    "error": { "code": code, "message": text },
                });
                if let Some(id) = id {
                    message["id"] = json!(id);
                }
                if let Some(data) = self.data() {
                    message["error"]["data"] = data;
                }
                ("application/json", message.to_string())
            }
        };
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
        if let Some((name, value)) = self.header() {
            headers.insert(name, value);
        }
        if let Some(reason) = RefusalReason::of(self) {
            response.extensions_mut().insert(reason);
        }
        if let GatewayError::ScopeMissing(missing) = self {
            // `auth` may rename the scope to the one that the caller's OIDC issuer uses.
            response.extensions_mut().insert(missing.clone());
        }
        response
    }
}

impl IntoResponse for GatewayError {
    fn into_response(self) -> Response {
        self.respond::<()>(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_client_text_is_cut_and_escaped() {
        assert_eq!(quoted("a\n\"b\"\u{7f}"), r#""a\u{a}\"b\"\u{7f}""#);
        assert_eq!(quoted("a\u{202e}\u{200b}b"), r#""a\u{202e}\u{200b}b""#);
        let long = "é".repeat(200);
        assert_eq!(quoted(&long), format!("\"{}…\"", "é".repeat(100)));
    }
}
