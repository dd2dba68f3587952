//! `tools/call`, from the message to the worker and back: the hot path.
//!
//! A refusal (unknown tool, missing scope) is a protocol error. A failure (invalid arguments, no
//! worker) is a result that the agent reads. The answer is one JSON message, or a stream of events
//! if the worker sends a notification that the client wants (`notifications`). A client that
//! disconnects drops the future and with it the upstream stream, which cancels the call.

use std::sync::Arc;

use archway_proto::{failure::Failure, method::Method};
use axum::response::Response;
use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    envelope::Envelope,
    notifications::NotificationFilter,
    outcome::{OutcomeRecorder, RecordSubject, Stage},
    request::{RequestInfo, arguments, idempotency_key, named_project, tool_name},
    settlement::{EventMessage, SMALL_EVENTS_BYTES, Settlement},
};
use crate::{
    audit::Audit,
    breaker::Breaker,
    caller::Principal,
    catalog::{Catalog, Tool},
    cursor::{CURSOR, CursorContext, Cursors},
    error::GatewayError,
    limits::{LimitRefusal, MessageCost},
    metrics::Metrics,
    sampling::Sampler,
    unread::Reservation,
    upstream::{self, CallGuard, Outgoing, Step, Upstream, WorkerCall},
};

/// The dependencies of calls.
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
    /// Answers a call. Errors are protocol errors.
    #[tracing::instrument(
        name = "tool.call",
        level = "debug",
        skip_all,
        fields(tenant.id = %who.tenant_id(), key.id = who.key_id(), session.id = %info.session.key, trace.id = %info.trace.trace_id(), span.id = %info.trace.span_id())
    )]
    pub(super) async fn answer(
        &self,
        who: &Principal,
        info: RequestInfo,
        message: Envelope,
    ) -> Result<Response, GatewayError> {
        let recorder = OutcomeRecorder::begin(
            &self.audit,
            &self.metrics,
            who,
            &info,
            RecordSubject::call(),
        );
        let mut recorder = recorder.await;
        let name = tool_name(&message).inspect_err(|_refused| recorder.refused())?;
        let Some(catalog) = self.catalog.tools() else {
            let settlement = self.settlement(recorder, info);
            return Ok(settlement.respond(Err(upstream::unavailable())));
        };
        let tool = match catalog.find(who, name) {
            Ok(tool) => tool,
            Err(refused) => {
                let project = named_project(&message).or_else(|| who.default_project());
                recorder.refused_tool(&refused, project);
                return Err(refused.error);
            }
        };
        recorder.set_tool(&tool.label);
        let notifications = NotificationFilter::for_request(&message, &info, self.metrics.clone());
        let input = CallInput::of(message, &tool).inspect_err(|_refused| recorder.refused())?;
        recorder.set_arguments(&self.audit, &input.arguments);
        let mut settlement = self.settlement(recorder, info);
        settlement.notifications = notifications;
        match self.start(who, &tool, input, &mut settlement).await {
            Ok(FirstEvent::Result(result, reservation)) => {
                settlement.reservation = reservation;
                Ok(settlement.respond(Ok(result)))
            }
            Ok(FirstEvent::Event(event, events)) => Ok(settlement.stream(event, events)),
            Err(failure) => Ok(settlement.respond(Err(failure))),
        }
    }

    /// Answers a call that exceeds a limit: a result, so that the model reads it.
    pub(super) fn limited(
        &self,
        who: &Principal,
        info: RequestInfo,
        price: &MessageCost,
        refused: &LimitRefusal,
    ) -> Response {
        let mut recorder = OutcomeRecorder::for_refusal(
            &self.audit,
            &self.metrics,
            who,
            &info,
            RecordSubject::call(),
        );
        if let Some(tool) = &price.tool {
            recorder.set_tool(&tool.name);
        }
        let mut response = self
            .settlement(recorder, info)
            .respond(Err(refused.failure()));
        refused.write_headers(response.headers_mut());
        response
    }

    /// Records another request that exceeds a limit.
    pub(super) fn unpaid(
        &self,
        who: &Principal,
        info: &RequestInfo,
        method: Method,
        refused: &LimitRefusal,
    ) {
        let subject = RecordSubject::method(method);
        let mut recorder =
            OutcomeRecorder::for_refusal(&self.audit, &self.metrics, who, info, subject);
        recorder.failed(&refused.failure());
    }

    /// Checks the arguments, opens their cursor, waits for a permit, and calls the worker.
    async fn start(
        &self,
        who: &Principal,
        tool: &Tool,
        input: CallInput,
        settlement: &mut Settlement,
    ) -> Result<FirstEvent, Failure> {
        let trace = settlement.info.trace;
        let name = tool.entry.name.as_str();
        let mut arguments = tool.check(input.arguments)?;
        if tool.takes(CURSOR) {
            let project = who.default_project();
            let context = CursorContext::new(&who.cursor_scope(), name, project, &arguments);
            if let Some(Value::String(cursor)) = arguments.get_mut(CURSOR) {
                *cursor = self.cursors.open(&context, cursor)?;
            }
            settlement.context = Some(context);
        }
        let project = arguments.get("project").and_then(Value::as_str);
        let project = project.or_else(|| who.default_project());
        settlement.recorder.set_project(project);
        let params = serde_json::to_vec(&CallParams {
            name,
            arguments: &arguments,
            meta: input.key.as_deref().map(|it| CallMeta { key: it }),
        })
        .map_err(|error| upstream::internal(trace, &error))?;
        let received = settlement.info.received;
        let until = self.upstream.until(received);
        let call = Outgoing {
            who,
            method: Method::ToolsCall,
            params: params.into(),
            project,
            idempotent: tool.entry.idempotent,
            repeatable: tool.entry.idempotent || tool.entry.once,
            session: settlement.info.session.key,
            trace,
            until,
            owner: settlement.info.owner.clone(),
        };
        self.upstream.check_crashes(&call)?;
        let family = &tool.entry.family;
        settlement.recorder.reached(Stage::Checked);
        let permit = self.breaker.admit(who, family, received, until).await?;
        let bulkhead = permit.bulkhead();
        settlement.permit = Some(permit);
        settlement.recorder.reached(Stage::Admitted);
        let events = self.upstream.call(call, CallGuard::new(bulkhead)).await?;
        first_event(events, settlement).await
    }

    fn settlement(&self, recorder: OutcomeRecorder, info: RequestInfo) -> Settlement {
        Settlement {
            cursors: self.cursors.clone(),
            recorder,
            info,
            notifications: NotificationFilter::none(self.metrics.clone()),
            context: None,
            permit: None,
            reservation: None,
        }
    }
}

/// The input of a call.
struct CallInput {
    arguments: Map<String, Value>,
    /// The idempotency key of a write. An idempotent tool gets none: the key could only merge two
    /// calls.
    key: Option<String>,
}

impl CallInput {
    fn of(message: Envelope, tool: &Tool) -> Result<Self, GatewayError> {
        let key = idempotency_key(&message)?;
        Ok(CallInput {
            key: key.filter(|_| !tool.entry.idempotent),
            arguments: arguments(message)?,
        })
    }
}

/// The parameters that a worker receives.
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

enum FirstEvent {
    Result(Bytes, Option<Reservation>),
    Event(EventMessage, Box<WorkerCall>),
}

/// The first event, which decides the form of the answer: the result, or a notification that the
/// client wants.
async fn first_event(
    mut events: WorkerCall,
    settlement: &mut Settlement,
) -> Result<FirstEvent, Failure> {
    loop {
        match events.next().await? {
            Step::Result(result) => {
                settlement.recorder.denied_by(events.take_refused_by());
                return Ok(FirstEvent::Result(result, events.take_reservation()));
            }
            Step::Update(said) => {
                if let Some(message) = settlement.notifications.notification(&said) {
                    let message = EventMessage {
                        message,
                        reservation: events.take_reservation(),
                    };
                    settlement.reservation = events.reserve_answer(SMALL_EVENTS_BYTES).await?;
                    events.passed_on();
                    return Ok(FirstEvent::Event(message, Box::new(events)));
                }
            }
        }
    }
}
