//! A request before it is executed: its message, and how its caller wants to be answered.

use std::{net::IpAddr, sync::Arc};

use archway_proto::{context::TraceContext, log::LogLevel, meta};
use http::{HeaderMap, request::Parts};
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::{
    content::Accepts,
    envelope::{Envelope, RequestId},
    era::{Era, META_CLIENT},
    method::Method,
};
use crate::{
    caller::{Agent, ClientAddress, Principal},
    error::GatewayError,
    session::{Session, Sessions},
    unread::AnswerOwner,
};

/// Maximum characters of an idempotency key.
const LONGEST_KEY: usize = 128;

/// A request, and what was known of it before its message was parsed.
pub(super) struct ReceivedRequest {
    pub(super) parts: Parts,
    pub(super) accepts: Accepts,
    pub(super) received: Instant,
    pub(super) trace: TraceContext,
    /// Reserves space for its answer.
    pub(super) owner: AnswerOwner,
    /// Units of the limits that it was charged.
    pub(super) units: u32,
}

impl ReceivedRequest {
    /// The same request once it was charged this many units.
    pub(super) fn paid(self, units: u32) -> Self {
        ReceivedRequest { units, ..self }
    }

    /// How the caller wants to be answered.
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
            owner: self.owner.clone(),
            client: self.parts.extensions.get().map(|ClientAddress(it)| *it),
            agent: message.agent.clone(),
            units: self.units,
        }
    }
}

/// A parsed message with its era, its session and the program that sent it.
pub(super) struct Message {
    pub(super) envelope: Envelope,
    pub(super) era: Era,
    pub(super) session: Session,
    /// An [`Agent`]'s text.
    pub(super) agent: Arc<str>,
}

impl Message {
    /// The program is named by the message, else by its session's `initialize`, else by the header
    /// `User-Agent`.
    pub(super) fn new(
        envelope: Envelope,
        era: Era,
        (session, opened_by): (Session, Agent),
        headers: &HeaderMap,
    ) -> Self {
        let info = match envelope.method {
            Some(Method::Initialize) => envelope.params.get("clientInfo"),
            _ => envelope.meta().and_then(|meta| meta.get(META_CLIENT)),
        };
        let named = Agent::of_client_info(info).or(opened_by);
        let agent = named.or(Agent::of_headers(headers));
        Message {
            agent: Arc::from(agent.as_str()),
            envelope,
            era,
            session,
        }
    }
}

/// Where a message came from, and how the caller wants to be answered.
pub(super) struct RequestInfo {
    pub(super) id: RequestId,
    pub(super) era: Era,
    pub(super) session: Session,
    pub(super) accepts: Accepts,
    /// When the body was complete.
    pub(super) received: Instant,
    /// The minimum level of log messages to send, if any.
    pub(super) log_level: Option<LogLevel>,
    pub(super) trace: TraceContext,
    pub(super) owner: AnswerOwner,
    /// The client's address, which every request from a listener has.
    pub(super) client: Option<IpAddr>,
    /// An [`Agent`]'s text.
    pub(super) agent: Arc<str>,
    /// Units of the limits that it was charged: 0 if it was refused.
    pub(super) units: u32,
}

/// The session of a message, and the program that opened it, if known. A message that opens a session has
/// none yet.
pub(super) fn session(
    sessions: &Sessions,
    who: &Principal,
    era: Era,
    message: &Envelope,
    headers: &HeaderMap,
) -> Result<(Session, Agent), GatewayError> {
    let session = match era {
        Era::Modern => sessions.of_label(who, headers, message.meta())?,
        Era::Legacy if message.method == Some(Method::Initialize) => Session::own(who),
        Era::Legacy => return sessions.of_handle(who, headers),
    };
    Ok((session, Agent::UNKNOWN))
}

/// The name of the called tool.
pub(super) fn tool_name(message: &Envelope) -> Result<&str, GatewayError> {
    let name = message.params.get("name").and_then(Value::as_str);
    name.ok_or(GatewayError::InvalidCallParams(
        "a call needs the name of a tool, a string",
    ))
}

/// The project that a call names, whether its arguments are valid or not.
pub(super) fn named_project(message: &Envelope) -> Option<&str> {
    message.params.get("arguments")?.get("project")?.as_str()
}

/// The idempotency key of a write, if the caller sent one.
pub(super) fn idempotency_key(message: &Envelope) -> Result<Option<String>, GatewayError> {
    let fits = |key: &str| (1..=LONGEST_KEY).contains(&key.chars().count()) && !key.contains('\0');
    match message.meta().and_then(|it| it.get(meta::IDEMPOTENCY_KEY)) {
        None => Ok(None),
        Some(Value::String(key)) if fits(key) => Ok(Some(key.clone())),
        Some(_) => Err(GatewayError::InvalidCallParams(
            "an idempotency key is a string of 1 to 128 characters, none of them U+0000",
        )),
    }
}

/// The arguments of a call; null counts as none.
pub(super) fn arguments(mut message: Envelope) -> Result<Map<String, Value>, GatewayError> {
    match message.params.remove("arguments") {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(arguments)) => Ok(arguments),
        Some(_) => Err(GatewayError::InvalidCallParams(
            "the arguments of a call are an object",
        )),
    }
}
