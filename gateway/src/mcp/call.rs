//! `tools/call`, from the message to the worker and back: the hot path.
//!
//! A refusal (unknown tool, missing scope) is an error of the protocol; a failure (bad arguments,
//! a worker away) is a result that the agent reads. The answer is one JSON message; only if the
//! worker says something on its way that the client wants to hear (`hearing`), it is a stream of
//! events. A client that goes away drops the future, with it the upstream's stream, and so cancels
//! the call.

use std::sync::Arc;

use archway_proto::{failure::Failure, method::Method};
use axum::response::Response;
use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    ask::{Ask, arguments, idempotency_key, tool_name},
    envelope::Envelope,
    hearing::Hearing,
    settle::{SMALL_EVENTS, Settle, Word},
    trail::{About, Stop, Trail},
};
use crate::{
    audit::Audit,
    breaker::Breaker,
    caller::Principal,
    catalog::{Catalog, Tool},
    cursor::{CURSOR, CursorContext, Cursors},
    error::GatewayError,
    limits::{Price, Refused},
    metrics::Metrics,
    sampling::Sampler,
    unread::Room,
    upstream::{self, CallStream, Outgoing, Step, Upstream},
};

/// What calls need.
pub(crate) struct Calls {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) breaker: Arc<Breaker>,
    pub(crate) upstream: Arc<Upstream>,
    pub(crate) cursors: Cursors,
    pub(crate) audit: Arc<Audit>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) sampler: Sampler,
}

impl Calls {
    /// Answers the call; the errors are those of the protocol.
    #[tracing::instrument(
        name = "tool.call",
        level = "debug",
        skip_all,
        fields(tenant.id = %who.tenant_id(), key.id = who.key_id(), session.id = %ask.session.key, trace.id = %ask.trace.trace_id(), span.id = %ask.trace.span_id())
    )]
    pub(super) async fn answer(
        &self,
        who: &Principal,
        ask: Ask,
        message: Envelope,
    ) -> Result<Response, GatewayError> {
        let trail = Trail::begin(&self.audit, &self.metrics, who, &ask, About::call());
        let mut trail = trail.await;
        let name = tool_name(&message).inspect_err(|_refused| trail.refused())?;
        let Some(catalog) = self.catalog.snapshot() else {
            let settle = self.settle(trail, ask);
            return Ok(settle.respond(Err(upstream::unavailable())));
        };
        let tool = catalog
            .find(who, name)
            .inspect_err(|_refused| trail.refused())?;
        trail.calls(&tool.label);
        let hearing = Hearing::of(&message, &ask, self.metrics.clone());
        let wanted = Wanted::of(message, &tool).inspect_err(|_refused| trail.refused())?;
        trail.with(&self.audit, &wanted.arguments);
        let mut settle = self.settle(trail, ask);
        settle.hearing = hearing;
        match self.start(who, &tool, wanted, &mut settle).await {
            Ok(First::Result(result, room)) => {
                settle.room = room;
                Ok(settle.respond(Ok(result)))
            }
            Ok(First::Event(event, events)) => Ok(settle.stream(event, events)),
            Err(failure) => Ok(settle.respond(Err(failure))),
        }
    }

    /// Answers a call that its caller could not pay for: a result, which a model gets to read.
    pub(super) fn limited(
        &self,
        who: &Principal,
        ask: Ask,
        price: &Price,
        refused: &Refused,
    ) -> Response {
        let mut trail = Trail::of_refusal(&self.audit, &self.metrics, who, &ask, About::call());
        if let Some(tool) = &price.tool {
            trail.calls(&tool.name);
        }
        let mut response = self.settle(trail, ask).respond(Err(refused.failure()));
        refused.tell(response.headers_mut());
        response
    }

    /// Checks the arguments, opens their cursor, gets the call its place, and calls the worker.
    async fn start(
        &self,
        who: &Principal,
        tool: &Tool,
        wanted: Wanted,
        settle: &mut Settle,
    ) -> Result<First, Failure> {
        let trace = settle.ask.trace;
        let name = tool.entry.name.as_str();
        let mut arguments = tool.check(wanted.arguments)?;
        if tool.takes(CURSOR) {
            let project = who.default_project();
            let context = CursorContext::new(who.tenant_id(), name, project, &arguments);
            if let Some(Value::String(cursor)) = arguments.get_mut(CURSOR) {
                *cursor = self.cursors.open(&context, cursor)?;
            }
            settle.context = Some(context);
        }
        let project = arguments.get("project").and_then(Value::as_str);
        let project = project.or_else(|| who.default_project());
        settle.trail.of_project(project);
        let params = serde_json::to_vec(&CallParams {
            name,
            arguments: &arguments,
            meta: wanted.key.as_deref().map(|it| CallMeta { key: it }),
        })
        .map_err(|error| upstream::internal(trace, &error))?;
        let received = settle.ask.received;
        let until = self.upstream.until(received);
        let call = Outgoing {
            who,
            method: Method::ToolsCall,
            params: params.into(),
            project,
            idempotent: tool.entry.idempotent,
            repeatable: tool.entry.idempotent || tool.entry.once,
            session: settle.ask.session.key,
            trace,
            until,
            asker: settle.ask.asker.clone(),
        };
        self.upstream.judge(&call)?;
        let family = &tool.entry.family;
        settle.trail.reached(Stop::Checked);
        settle.permit = Some(self.breaker.admit(who, family, received, until).await?);
        settle.trail.reached(Stop::Admitted);
        let events = self.upstream.call(call).await?;
        first(events, settle).await
    }

    fn settle(&self, trail: Trail, ask: Ask) -> Settle {
        Settle {
            cursors: self.cursors.clone(),
            trail,
            ask,
            hearing: Hearing::nothing(self.metrics.clone()),
            context: None,
            permit: None,
            room: None,
        }
    }
}

/// What a call asks of its tool.
struct Wanted {
    arguments: Map<String, Value>,
    /// Under which a write is done once. What may be done twice has none: it would only make two
    /// calls of one.
    key: Option<String>,
}

impl Wanted {
    fn of(message: Envelope, tool: &Tool) -> Result<Self, GatewayError> {
        let key = idempotency_key(&message)?;
        Ok(Wanted {
            key: key.filter(|_| !tool.entry.idempotent),
            arguments: arguments(message)?,
        })
    }
}

/// What a worker gets.
#[derive(Serialize)]
struct CallParams<'a> {
    name: &'a str,
    arguments: &'a Map<String, Value>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<CallMeta<'a>>,
}

#[derive(Serialize)]
struct CallMeta<'a> {
    /// [`archway_proto::meta::IDEMPOTENCY_KEY`].
    #[serde(rename = "io.archway/idempotencyKey")]
    key: &'a str,
}

enum First {
    Result(Bytes, Option<Room>),
    Event(Word, Box<CallStream>),
}

/// What decides the form of the answer: the result, or a word before it that the client wants.
async fn first(mut events: CallStream, settle: &mut Settle) -> Result<First, Failure> {
    loop {
        match events.next().await? {
            Step::Result(result) => return Ok(First::Result(result, events.take_room())),
            Step::Said(said) => {
                if let Some(message) = settle.hearing.notification(&said) {
                    let word = Word {
                        message,
                        room: events.take_room(),
                    };
                    settle.room = events.room_for_events(SMALL_EVENTS).await?;
                    events.passed_on();
                    return Ok(First::Event(word, Box::new(events)));
                }
            }
        }
    }
}
