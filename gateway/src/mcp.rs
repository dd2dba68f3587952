//! The Model Context Protocol: one POST in, one answer out, nothing kept in between.
//!
//! The body is read once, here, after the credential is good, and judged in the order `envelope`
//! (is it a message), `era` (which revision), method. `tools/call` is the hot path and is answered
//! by `call` directly; the few other methods go through the official SDK in `methods`, whose
//! hazards are closed by what stands before it: it never sees a malformed message.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::Request,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, request::Parts};
use http_body_util::{BodyExt, Collected};
use serde_json::Value;
use tokio::time::Instant;

use crate::{
    auth::Principal,
    error::GatewayError,
    session::{HANDLE_HEADER, Session, Sessions},
};
use call::Ask;
use content::Accepts;
use envelope::{Envelope, RequestId};
use era::Era;
use methods::Methods;

pub(crate) use call::Calls;
pub(crate) use content::LARGEST_BODY;

// In the order a message meets them.
mod content;
mod envelope;
mod json;
mod era;
mod logging;
mod call;
mod hearing;
mod reply;
mod methods;

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
        if era::without_sessions(&request.headers)? {
            return Err(GatewayError::MethodNotAllowed);
        }
        self.sessions.end(who, &request.headers).await?;
        Ok(StatusCode::NO_CONTENT.into_response())
    }

    async fn read(&self, request: Request) -> Result<Response, GatewayError> {
        let accepts = Accepts::of(request.headers())?;
        content::check_content(request.headers())?;
        let (parts, body) = request.into_parts();
        let who = parts.extensions.get::<Principal>().cloned();
        let who = who.ok_or(GatewayError::NoCredential)?;
        let body = content::read_body(body).await?;
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
        // A level that is none is refused by every method, also by those that log nothing.
        let log_level = match era {
            Era::Modern => logging::level_of_request(&message)?,
            Era::Legacy => self.sessions.log_level(&who, session),
        };
        match message.method.as_str() {
            "tools/call" => {
                let ask = Ask {
                    id,
                    era,
                    session,
                    accepts: arrived.accepts,
                    received: arrived.received,
                    log_level,
                    trace: call::trace_of(&arrived.parts.headers),
                };
                self.calls.answer(&who, ask, message).await
            }
            "logging/setLevel" if era == Era::Legacy => {
                let level = logging::requested_level(&message.params)?;
                self.sessions.set_log_level(&who, session, level).await?;
                Ok(reply::empty(&id))
            }
            "initialize" => {
                let answer = self.ask_sdk(era, arrived.parts, &id, &message).await?;
                Ok(with_handle(answer, &self.sessions.open(&who)).await)
            }
            _ => self.ask_sdk(era, arrived.parts, &id, &message).await,
        }
    }

    async fn ask_sdk(
        &self,
        era: Era,
        mut parts: Parts,
        id: &RequestId,
        message: &Envelope,
    ) -> Result<Response, GatewayError> {
        let cursor = message.params.get("cursor");
        if message.method.ends_with("/list") && cursor.is_some_and(|cursor| !cursor.is_null()) {
            // The SDK takes any cursor that is no string for none; here only null is.
            return Err(GatewayError::BadParams(
                "lists have one page, and no cursor",
            ));
        }
        // Judged before: the SDK keeps no sessions and would refuse any.
        parts.headers.remove(HANDLE_HEADER);
        self.methods.answer(era, parts, id, message).await
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
