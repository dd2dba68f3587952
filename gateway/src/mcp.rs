//! The Model Context Protocol: one POST in, one answer out, no state in between.
//!
//! The body is read once, after authentication; a large one only if its caller can pay for it and
//! gets a permit. `envelope`, `era` and the session are checked, then its price is spent, whatever
//! the outcome. `call` answers `tools/call`, the hot path, `forward` resources, prompts, completion,
//! and the SDK in `sdk` the rest. It sees no malformed message.

use std::{future::ready, pin::pin, sync::Arc};

use archway_proto::method::Method as WorkerMethod;
use axum::{
    extract::Request,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, StatusCode, request::Parts};
use tokio::time::Instant;

use crate::{
    caller::{Agent, Principal},
    error::GatewayError,
    limits::{Limits, MessageCost},
    session::{HANDLE_HEADER, Sessions},
    unread::UnreadAnswers,
};
use body_permits::BodyPermits;
use content::{Accepts, BodyAdmission, BodyError, ReceivedBody};
use envelope::{Envelope, InvalidMessage, RequestId};
use era::Era;
use method::Method;
use request::{Message, ReceivedRequest};
use sdk::Sdk;

pub(crate) use call::Calls;
pub(crate) use content::LARGEST_BODY;

// In the order in which a message passes them.
mod content;
mod body_permits;
mod envelope;
mod method;
mod json;
mod era;
mod price;
mod logging;
mod request;
mod request_spans;
mod call;
mod forward;
mod notifications;
mod settlement;
mod outcome;
mod limit_headers;
mod reservation;
mod events;
mod reply;
mod instructions;
mod sdk;

/// The endpoint behind `/mcp`.
pub(crate) struct Mcp {
    body_permits: BodyPermits,
    unread: Arc<UnreadAnswers>,
    sessions: Arc<Sessions>,
    limits: Arc<Limits>,
    calls: Calls,
    sdk: Sdk,
}

impl Mcp {
    pub(crate) fn new(sessions: Arc<Sessions>, limits: Arc<Limits>, calls: Calls) -> Self {
        Mcp {
            body_permits: BodyPermits::new(calls.metrics.bodies().clone()),
            unread: Arc::new(UnreadAnswers::new(calls.metrics.unread().clone())),
            sessions,
            limits,
            sdk: Sdk::new(calls.catalog.clone()),
            calls,
        }
    }

    /// Answers an authenticated POST or DELETE.
    pub(crate) async fn answer(&self, request: Request) -> Response {
        let (parts, body) = request.into_parts();
        let Some(who) = parts.extensions.get::<Principal>().cloned() else {
            return GatewayError::NoCredential.into_response();
        };
        if parts.method == http::Method::DELETE {
            let ending = Box::pin(self.end(&who, &parts));
            let spans = self.calls.begin_spans(&who, &parts, None);
            return spans.run(pin!(self.for_one_unit(&who, None, ending))).await;
        }
        let admission = BodyAdmission {
            permits: &self.body_permits,
            tenant: who.tenant_id(),
            refusal: || self.limits.expected_refusal(&who),
        };
        match content::read(&parts.headers, body, admission).await {
            Ok((accepts, body)) => self.read(who, parts, accepts, body).await,
            Err(BodyError::Invalid(error)) => {
                self.for_one_unit(&who, None, ready(Err(error))).await
            }
            Err(BodyError::Unpaid(refused)) => {
                limit_headers::refuse(&self.limits.refuse(&who, refused).await, None)
            }
        }
    }

    /// Ends the session of the request's handle. Ignores the body.
    async fn end(&self, who: &Principal, request: &Parts) -> Result<Response, GatewayError> {
        if era::without_sessions(&request.headers)? {
            return Err(GatewayError::MethodNotAllowed);
        }
        self.sessions.end(who, &request.headers).await?;
        Ok(StatusCode::NO_CONTENT.into_response())
    }

    async fn read(
        &self,
        who: Principal,
        parts: Parts,
        accepts: Accepts,
        body: ReceivedBody<'_>,
    ) -> Response {
        let received = Instant::now();
        let owner = reservation::owner(&self.unread, &who, &parts);
        let understood = self.understand(&who, &parts.headers, &body.bytes);
        // From here on, waiting for an answer or a refusal holds neither body nor permit.
        drop(body);
        let spans = self
            .calls
            .begin_spans(&who, &parts, understood.as_ref().ok());
        let request = ReceivedRequest {
            parts,
            accepts,
            received,
            trace: spans.trace,
            owner: owner.clone(),
            units: 0,
        };
        let answering = async {
            match understood {
                Ok(message) => self.pay(who, message, request).await,
                Err(InvalidMessage { error, id }) => {
                    self.for_one_unit(&who, id.as_ref(), ready(Err(error)))
                        .await
                }
            }
        };
        let response = spans.run(pin!(answering)).await;
        let response = events::as_accepted(accepts, response).await;
        reservation::ensure(response, &owner).await
    }

    /// Parses the body and determines its revision and session.
    fn understand(
        &self,
        who: &Principal,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Result<Message, InvalidMessage> {
        let envelope = envelope::parse(body)?;
        let judged = era::judge(headers, &envelope).and_then(|era| {
            Ok((
                era,
                request::session(&self.sessions, who, era, &envelope, headers)?,
            ))
        });
        match judged {
            Ok((era, session)) => Ok(Message::new(envelope, era, session, headers)),
            Err(error) => Err(InvalidMessage {
                error,
                id: envelope.id,
            }),
        }
    }

    /// Charges one unit, the price of everything without a price of its own, and answers.
    async fn for_one_unit(
        &self,
        who: &Principal,
        id: Option<&RequestId>,
        answer: impl Future<Output = Result<Response, GatewayError>>,
    ) -> Response {
        match self.limits.spend(who, None, &MessageCost::UNIT).await {
            Ok(spent) => limit_headers::answer(&spent, id, answer.await),
            Err(refused) => limit_headers::refuse(&self.limits.refuse(who, refused).await, id),
        }
    }

    /// Executes the message if the caller can pay for it.
    async fn pay(&self, who: Principal, message: Message, request: ReceivedRequest) -> Response {
        let catalog = self.calls.catalog.tools();
        let price = price::of(&message.envelope, &who, catalog.as_deref());
        let (id, session) = (message.envelope.id.clone(), message.session.key);
        match self.limits.spend(&who, Some(session), &price).await {
            Ok(spent) => {
                let request = request.paid(price.weight);
                let answer = self.dispatch(who, message, request).await;
                limit_headers::answer(&spent, id.as_ref(), answer)
            }
            Err(refused) => {
                let method = message.envelope.method;
                let info = id.clone().map(|id| request.info(id, &message, None));
                // The refusal may be delayed, and a parsed message can be forty times as large as
                // its body.
                drop((message, request));
                let refused = self.limits.refuse(&who, refused).await;
                match (info, method) {
                    (Some(info), Some(Method::TOOLS_CALL)) => {
                        self.calls.limited(&who, info, &price, &refused)
                    }
                    (Some(info), Some(Method::Worker(method))) => {
                        self.calls.unpaid(&who, &info, method, &refused);
                        limit_headers::refuse(&refused, id.as_ref())
                    }
                    _ => limit_headers::refuse(&refused, id.as_ref()),
                }
            }
        }
    }

    async fn dispatch(
        &self,
        who: Principal,
        message: Message,
        request: ReceivedRequest,
    ) -> Result<Response, GatewayError> {
        let Message {
            envelope,
            era,
            session,
            agent,
        } = &message;
        let Some(id) = envelope.id.clone() else {
            // A stateless server has no use for notifications, cancellation included: the call may
            // run on any replica, so a client cancels it by closing its stream.
            return Ok(StatusCode::ACCEPTED.into_response());
        };
        // Every method rejects an unknown log level, including those that log nothing.
        let log_level = match era {
            Era::Modern => logging::level_of_request(envelope)?,
            Era::Legacy => self.sessions.log_level(&who, *session),
        };
        match (envelope.method, era) {
            (Some(Method::TOOLS_CALL), _) => {
                let info = request.info(id, &message, log_level);
                self.calls.answer(&who, info, message.envelope).await
            }
            (Some(Method::SetLevel), Era::Legacy) => {
                let level = logging::requested_level(&envelope.params)?;
                self.sessions.set_log_level(&who, *session, level).await?;
                Ok(reply::empty(&id))
            }
            (Some(Method::Initialize), _) => {
                let answer = self.ask_sdk(*era, request, &id, envelope).await?;
                Ok(
                    reply::with_handle(answer, &self.sessions.open(&who, Agent::cleaned(agent)))
                        .await,
                )
            }
            (Some(Method::Worker(method)), _) if method != WorkerMethod::ToolsList => {
                let info = request.info(id, &message, None);
                self.calls
                    .forward(&who, info, method, message.envelope)
                    .await
            }
            _ => self.ask_sdk(*era, request, &id, envelope).await,
        }
    }

    async fn ask_sdk(
        &self,
        era: Era,
        mut request: ReceivedRequest,
        id: &RequestId,
        message: &Envelope,
    ) -> Result<Response, GatewayError> {
        let cursor = message.params.get("cursor");
        if message.method == Some(Method::TOOLS_LIST)
            && cursor.is_some_and(|cursor| !cursor.is_null())
        {
            // The SDK treats any cursor that is not a string as absent; here only null is.
            return Err(GatewayError::InvalidCallParams(
                "lists have one page, and no cursor",
            ));
        }
        // The session was checked already: the SDK has no sessions and would refuse any.
        request.parts.headers.remove(HANDLE_HEADER);
        let answer = self.sdk.answer(era, request.parts, id, message);
        reservation::with_reservation(sdk::max_answer(message.method), &request.owner, answer).await
    }
}
