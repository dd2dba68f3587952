//! The Model Context Protocol: one POST in, one answer out, nothing kept in between.
//!
//! The body is read once, here, after the credential is good, and judged in the order `envelope`
//! (is it a message), `era` (which revision), method. `tools/call` is the hot path and is answered
//! by `call` directly; the few other methods go through the official SDK in `methods`, whose
//! hazards are closed by what stands before it: it never sees a malformed message.

use std::{sync::Arc, time::Duration};

use axum::{
    body::Body,
    extract::Request,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts};
use http_body_util::{BodyExt, Collected, LengthLimitError, Limited};
use serde_json::Value;
use tokio::time::Instant;

use crate::{
    auth::Principal,
    error::GatewayError,
    session::{HANDLE_HEADER, Session, Sessions},
};
use call::Ask;
use envelope::Envelope;
use era::Era;
use methods::Methods;

pub(crate) use call::Calls;

// In the order a message meets them.
mod envelope;
mod json;
mod era;
mod logging;
mod call;
mod hearing;
mod reply;
mod methods;

/// The largest body read, in bytes.
pub(crate) const LARGEST_BODY: usize = 1024 * 1024;
const BODY_TIMEOUT: Duration = Duration::from_secs(15);

/// The endpoint behind `/mcp`.
pub(crate) struct Mcp {
    sessions: Arc<Sessions>,
    calls: Calls,
    methods: Methods,
}

impl Mcp {
    pub(crate) fn new(sessions: Arc<Sessions>, calls: Calls) -> Self {
        Mcp {
            sessions,
            methods: Methods::new(calls.catalog.clone()),
            calls,
        }
    }

    /// Answers a POST or DELETE whose credential is good.
    pub(crate) async fn answer(&self, request: Request) -> Response {
        let answered = if request.method() == Method::DELETE {
            // Its body, if it has one, says nothing.
            self.end(&request.into_parts().0).await
        } else {
            self.read(request).await
        };
        answered.unwrap_or_else(GatewayError::into_response)
    }

    /// Ends the session of the request's handle.
    async fn end(&self, request: &Parts) -> Result<Response, GatewayError> {
        let who = request.extensions.get::<Principal>();
        let who = who.ok_or(GatewayError::NoCredential)?;
        if era::without_sessions(&request.headers) {
            return Err(GatewayError::MethodNotAllowed);
        }
        self.sessions.end(who, &request.headers).await?;
        Ok(StatusCode::NO_CONTENT.into_response())
    }

    async fn read(&self, request: Request) -> Result<Response, GatewayError> {
        let accepts = Accepts::of(request.headers())?;
        check_content(request.headers())?;
        let (parts, body) = request.into_parts();
        let who = parts.extensions.get::<Principal>().cloned();
        let who = who.ok_or(GatewayError::NoCredential)?;
        let body = read_body(body).await?;
        let arrived = Arrived {
            parts,
            accepts,
            received: Instant::now(),
        };
        let (id, answer) = match envelope::parse(&body) {
            Ok(message) => (
                message.id.clone(),
                self.dispatch(who, message, arrived).await,
            ),
            Err(refused) => (refused.id, Err(refused.error)),
        };
        let response = answer.unwrap_or_else(|error| error.respond(id.as_ref()));
        if accepts.json {
            Ok(response)
        } else {
            Ok(reply::as_events(response).await)
        }
    }

    async fn dispatch(
        &self,
        who: Principal,
        message: Envelope,
        arrived: Arrived,
    ) -> Result<Response, GatewayError> {
        let era = era::judge(&arrived.parts.headers, &message)?;
        let session = self.session(&who, era, &message, &arrived.parts.headers)?;
        let Some(id) = message.id.clone() else {
            // Nothing a client could notify matters to a server that keeps nothing. That goes for
            // `notifications/cancelled` too: the call may run at any replica, and who wants to
            // end it closes its stream.
            return Ok(StatusCode::ACCEPTED.into_response());
        };
        let log_level = match era {
            Era::Modern => logging::level_of_request(&message)?,
            Era::Legacy => self.sessions.log_level(&who, session),
        };
        let Arrived {
            mut parts,
            accepts,
            received,
        } = arrived;
        if message.method == "tools/call" {
            let ask = Ask {
                id,
                era,
                session,
                accepts,
                received,
                log_level,
                trace: call::trace_of(&parts.headers),
            };
            return self.calls.answer(&who, ask, message).await;
        }
        if message.method == "logging/setLevel" && era == Era::Legacy {
            let level = logging::requested_level(&message.params)?;
            self.sessions.set_log_level(&who, session, level).await?;
            return Ok(reply::empty(&id));
        }
        let cursor = message.params.get("cursor");
        if message.method.ends_with("/list") && cursor.is_some_and(|cursor| !cursor.is_null()) {
            // The SDK takes any cursor that is no string for none; here only null is.
            return Err(GatewayError::BadParams(
                "lists have one page, and no cursor",
            ));
        }
        // Judged above: the SDK keeps no sessions and would refuse any.
        parts.headers.remove(HANDLE_HEADER);
        let response = self.methods.answer(era, parts, &id, &message).await?;
        if message.method == "initialize" {
            return Ok(with_handle(response, &self.sessions.open(&who)).await);
        }
        Ok(response)
    }

    /// The session that the message belongs to. One that opens a session has none yet.
    fn session(
        &self,
        who: &Principal,
        era: Era,
        message: &Envelope,
        headers: &HeaderMap,
    ) -> Result<Session, GatewayError> {
        match era {
            Era::Modern => self.sessions.of_label(who, headers, message.meta()),
            Era::Legacy if message.method == "initialize" => Ok(Session::own(who)),
            Era::Legacy => self.sessions.of_handle(who, headers),
        }
    }
}

/// The answer to `initialize` with the handle of the session that it opens; a refusal opens none.
async fn with_handle(response: Response, handle: &str) -> Response {
    let (mut parts, body) = response.into_parts();
    let body = body.collect().await.map(Collected::to_bytes);
    // The SDK's body is in memory: it can't break off.
    let body = body.unwrap_or_default();
    let answer = serde_json::from_slice::<Value>(&body);
    if answer.is_ok_and(|answer| answer.get("result").is_some()) {
        // Base64 is always a header's value.
        let handle = HeaderValue::try_from(handle).ok();
        parts.headers.extend(handle.map(|it| (HANDLE_HEADER, it)));
    }
    Response::from_parts(parts, Body::from(body))
}

/// A request, and what was learnt of it before the message was read.
struct Arrived {
    parts: Parts,
    accepts: Accepts,
    received: Instant,
}

/// The media types a client takes. Never neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Accepts {
    json: bool,
    events: bool,
}

impl Accepts {
    /// By `Accept`; a client that sends none takes anything (RFC 9110, 12.5.1).
    fn of(headers: &HeaderMap) -> Result<Self, GatewayError> {
        let mut accepts = Accepts {
            json: false,
            events: false,
        };
        let mut named = false;
        for value in headers.get_all(header::ACCEPT) {
            named = true;
            for range in value.to_str().unwrap_or_default().split(',') {
                let mut parts = range.split(';').map(str::trim);
                let media_type = parts.next().unwrap_or_default().to_ascii_lowercase();
                if parts.any(refuses) {
                    continue;
                }
                accepts.json |=
                    matches!(&*media_type, "application/json" | "application/*" | "*/*");
                accepts.events |= matches!(&*media_type, "text/event-stream" | "text/*" | "*/*");
            }
        }
        match (named, accepts) {
            (false, _) => Ok(Accepts {
                json: true,
                events: true,
            }),
            (
                true,
                Accepts {
                    json: false,
                    events: false,
                },
            ) => Err(GatewayError::NotAcceptable),
            (true, accepts) => Ok(accepts),
        }
    }
}

/// `q=0`, in any of its spellings.
fn refuses(parameter: &str) -> bool {
    let weight = parameter
        .strip_prefix("q=")
        .or_else(|| parameter.strip_prefix("Q="));
    weight.is_some_and(|weight| weight.trim().parse() == Ok(0.0_f32))
}

fn check_content(headers: &HeaderMap) -> Result<(), GatewayError> {
    let plain = headers
        .get(header::CONTENT_ENCODING)
        .is_none_or(|coding| coding == "identity");
    let media_type = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let essence = media_type
        .and_then(|value| value.split(';').next())
        .map(str::trim);
    let is_json = essence.is_some_and(|value| value.eq_ignore_ascii_case("application/json"));
    if plain && is_json {
        Ok(())
    } else {
        Err(GatewayError::MediaType)
    }
}

async fn read_body(body: Body) -> Result<Bytes, GatewayError> {
    let whole = Limited::new(body, LARGEST_BODY).collect();
    match tokio::time::timeout(BODY_TIMEOUT, whole).await {
        Err(_elapsed) => Err(GatewayError::BodyTooSlow),
        Ok(Ok(whole)) => Ok(whole.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(GatewayError::BodyTooLarge),
        Ok(Err(_broken)) => Err(GatewayError::BodyBroken),
    }
}

/// A response of one JSON message.
fn json_response(message: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(message));
    let media_type = HeaderValue::from_static("application/json");
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, media_type);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: header::HeaderName, values: &[&'static str]) -> HeaderMap {
        let values = values
            .iter()
            .map(|value| (name.clone(), HeaderValue::from_static(value)));
        values.collect()
    }

    #[test]
    fn a_client_is_refused_only_if_it_takes_neither_form() {
        let accepts = |values: &[&'static str]| {
            Accepts::of(&headers(header::ACCEPT, values))
                .ok()
                .map(|it| (it.json, it.events))
        };
        assert_eq!(accepts(&[]), Some((true, true)));
        assert_eq!(accepts(&["*/*"]), Some((true, true)));
        assert_eq!(
            accepts(&["application/json, text/event-stream"]),
            Some((true, true))
        );
        assert_eq!(
            accepts(&["application/json", "Text/Event-Stream;q=0.5"]),
            Some((true, true))
        );
        assert_eq!(accepts(&["application/json"]), Some((true, false)));
        assert_eq!(accepts(&["text/event-stream"]), Some((false, true)));
        assert_eq!(
            accepts(&["application/json;q=0.0, text/*"]),
            Some((false, true))
        );
        assert_eq!(accepts(&["text/html"]), None);
        assert_eq!(accepts(&["*/*;q=0"]), None);
    }

    #[test]
    fn only_plain_json_is_read() {
        let json = headers(header::CONTENT_TYPE, &["Application/JSON; charset=utf-8"]);
        assert!(check_content(&json).is_ok());
        let mut zipped = json.clone();
        zipped.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        for bad in [
            zipped,
            headers(header::CONTENT_TYPE, &["text/plain"]),
            HeaderMap::new(),
        ] {
            assert!(matches!(check_content(&bad), Err(GatewayError::MediaType)));
        }
    }
}
