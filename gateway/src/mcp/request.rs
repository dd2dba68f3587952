//! What is known of a message before anything is done for it: of a `tools/call` what it asks for, and
//! how its caller wants to be answered.

use archway_proto::{context::TraceContext, log::LogLevel, meta};
use http::request::Parts;
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::{
    content::Accepts,
    envelope::{Envelope, RequestId},
    era::Era,
};
use crate::{error::GatewayError, session::Session, unread::Asker};

/// Characters of an idempotency key.
const LONGEST_KEY: usize = 128;

/// A request, and what was learnt of it before the message was read.
pub(super) struct ReceivedRequest {
    pub(super) parts: Parts,
    pub(super) accepts: Accepts,
    pub(super) received: Instant,
    pub(super) trace: TraceContext,
    /// Who gets room for its answer.
    pub(super) asker: Asker,
}

impl ReceivedRequest {
    /// How the caller of a tool wants to be answered.
    pub(super) fn info(
        &self,
        id: RequestId,
        message: &Message,
        log_level: Option<LogLevel>,
    ) -> RequestInfo {
        RequestInfo {
            id,
            era: message.era,
            session: message.session,
            accepts: self.accepts,
            received: self.received,
            log_level,
            trace: self.trace,
            asker: self.asker.clone(),
        }
    }
}

/// A message, and what was learnt of it before anything is done for it.
pub(super) struct Message {
    pub(super) envelope: Envelope,
    pub(super) era: Era,
    pub(super) session: Session,
}

/// How the caller wants to be answered.
pub(super) struct RequestInfo {
    pub(super) id: RequestId,
    pub(super) era: Era,
    pub(super) session: Session,
    pub(super) accepts: Accepts,
    /// When the body was read.
    pub(super) received: Instant,
    /// From which level on the client wants to hear the call's log, if at all.
    pub(super) log_level: Option<LogLevel>,
    pub(super) trace: TraceContext,
    pub(super) asker: Asker,
}

/// The tool that is called.
pub(super) fn tool_name(message: &Envelope) -> Result<&str, GatewayError> {
    let name = message.params.get("name").and_then(Value::as_str);
    name.ok_or(GatewayError::BadParams(
        "a call needs the name of a tool, a string",
    ))
}

/// The key under which its caller wants a write to be done once, if it gave one.
pub(super) fn idempotency_key(message: &Envelope) -> Result<Option<String>, GatewayError> {
    let fits = |key: &str| (1..=LONGEST_KEY).contains(&key.chars().count()) && !key.contains('\0');
    match message.meta().and_then(|it| it.get(meta::IDEMPOTENCY_KEY)) {
        None => Ok(None),
        Some(Value::String(key)) if fits(key) => Ok(Some(key.clone())),
        Some(_) => Err(GatewayError::BadParams(
            "an idempotency key is a string of 1 to 128 characters, none of them U+0000",
        )),
    }
}

/// Its arguments; null is none.
pub(super) fn arguments(mut message: Envelope) -> Result<Map<String, Value>, GatewayError> {
    match message.params.remove("arguments") {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(arguments)) => Ok(arguments),
        Some(_) => Err(GatewayError::BadParams(
            "the arguments of a call are an object",
        )),
    }
}
