//! The end of one call: its outcome becomes an answer, and is counted and recorded.
//!
//! Owns everything that a call holds, so every way to end it, including a client that disconnects,
//! releases everything. What a reader would get wrong: a malformed tool result is a failure of the
//! worker, so a call is settled only once its answer is written.

use std::{convert::Infallible, future::ready, pin::pin};

use archway_proto::{
    failure::Failure,
    trace::{self, Span},
};
use axum::{body::Body, response::Response};
use bytes::Bytes;
use futures::{StreamExt, stream};
use tokio::sync::{mpsc, oneshot};
use tracing::Instrument;

use super::{
    content::json_response,
    events,
    notifications::NotificationFilter,
    outcome::{OutcomeRecorder, Stage},
    reply,
    request::RequestInfo,
    reservation,
};
use crate::{
    audit::AnswerFacts,
    breaker::Permit,
    cursor::{CursorContext, Cursors},
    metrics::Outcome,
    unread::Reservation,
    upstream::{self, Step, WorkerCall},
};

/// Events of one call that wait for its client to read them. None is much larger than 64 KiB, and
/// large ones have a reservation of their own.
const MOST_UNREAD: usize = 16;
/// Reserved bytes for the small events of one call that wait.
pub(super) const SMALL_EVENTS_BYTES: usize = 64 * 1024;

/// Turns the outcome of one call into its answer, and records it.
pub(super) struct Settlement {
    pub(super) cursors: Cursors,
    pub(super) recorder: OutcomeRecorder,
    pub(super) info: RequestInfo,
    pub(super) notifications: NotificationFilter,
    /// What cursors of the call are bound to, if the tool is paged.
    pub(super) context: Option<CursorContext>,
    /// Held from before the worker is called until the answer is written.
    pub(super) permit: Option<Permit>,
    /// The reservation of a large answer, or of an event stream.
    pub(super) reservation: Option<Reservation>,
}

/// One message of an event stream.
pub(super) struct EventMessage {
    pub(super) message: Vec<u8>,
    /// The reservation of a large message.
    pub(super) reservation: Option<Reservation>,
}

impl EventMessage {
    /// The event of this message, which holds the reservation until it is read.
    fn event(self) -> Bytes {
        let event = events::event(&self.message);
        match self.reservation {
            None => event,
            Some(mut reservation) => {
                reservation.shrink(event.len());
                Bytes::from_owner(BufferedEvent {
                    event,
                    _reservation: reservation,
                })
            }
        }
    }
}

/// An event with its reservation.
struct BufferedEvent {
    event: Bytes,
    _reservation: Reservation,
}

impl AsRef<[u8]> for BufferedEvent {
    fn as_ref(&self) -> &[u8] {
        &self.event
    }
}

impl Settlement {
    /// The answer of a call that sent no notification.
    pub(super) fn respond(mut self, outcome: Result<Bytes, Failure>) -> Response {
        let in_events = !self.info.accepts.json;
        let message = self.message(outcome);
        let size = message.capacity();
        let response = if in_events {
            events::response(Body::from(events::event(&message)))
        } else {
            json_response(message)
        };
        reservation::attach(self.reservation, size, response)
    }

    /// The JSON-RPC message that answers the call.
    fn message(&mut self, outcome: Result<Bytes, Failure>) -> Vec<u8> {
        if outcome.is_ok() {
            self.recorder.reached(Stage::Answered);
        }
        let took = self.info.received.elapsed();
        let head = reply::Head {
            id: &self.info.id,
            era: self.info.era,
            took,
        };
        let seal = |plain: &str| match &self.context {
            Some(context) => self.cursors.seal(context, plain).ok(),
            None => None,
        };
        let written = outcome.and_then(|result| {
            reply::result(&head, &result, seal)
                .map_err(|error| upstream::internal(self.info.trace, &error))
        });
        let permit = self.permit.take();
        let (message, fault, mut facts) = match written {
            Ok(written) => {
                if let Some(permit) = permit {
                    permit.answered(written.incomplete);
                }
                (written.message, written.fault, written.facts)
            }
            Err(failure) => {
                self.recorder.refused_by(&failure);
                let permit = permit.filter(|_| !upstream::is_refusal(&failure));
                if let Some(permit) = permit {
                    permit.failed(failure.code);
                }
                let message = reply::failure(&head, &failure);
                (message, Some(failure.code), AnswerFacts::default())
            }
        };
        if let Some(fault) = fault {
            trace::set("archway.fault", fault.code());
            trace::fail("tool_error");
        }
        facts.bytes = message.len() as u64;
        let outcome = fault.map_or(Outcome::Ok, Outcome::Failed);
        self.recorder
            .end(outcome, self.info.received.elapsed(), facts);
        message
    }

    /// The notifications as they arrive, then the answer. A separate task follows the call, so that
    /// a client that does not read cannot keep it beyond its deadline, or hold its tenant's permit.
    pub(super) fn stream(mut self, first: EventMessage, events: Box<WorkerCall>) -> Response {
        let reservation = self.reservation.take();
        let (sender, mut receiver) = mpsc::channel(MOST_UNREAD);
        let (answer, answered) = oneshot::channel();
        let span = Span::current();
        let following = async move { span.run(pin!(self.follow(events, sender, answer))).await };
        tokio::spawn(following.in_current_span());
        let notifications = stream::poll_fn(move |cx| receiver.poll_recv(cx));
        let answer = stream::once(answered).filter_map(|answer| ready(answer.ok()));
        let messages = stream::iter([first]).chain(notifications).chain(answer);
        let body = messages.map(|message: EventMessage| Ok::<_, Infallible>(message.event()));
        let response = events::response(Body::from_stream(body));
        reservation::attach(reservation, SMALL_EVENTS_BYTES, response)
    }

    /// Follows the call to its end. If the client disconnects, the call is cancelled.
    async fn follow(
        mut self,
        mut events: Box<WorkerCall>,
        sender: mpsc::Sender<EventMessage>,
        mut answer: oneshot::Sender<EventMessage>,
    ) {
        let outcome = tokio::select! {
            outcome = self.listen(&mut events, &sender) => outcome,
            () = answer.closed() => return,
        };
        let reservation = events.take_reservation();
        let message = self.message(outcome);
        // An error means that the client has disconnected.
        answer
            .send(EventMessage {
                message,
                reservation,
            })
            .ok();
    }

    /// Forwards the call's notifications until its result.
    async fn listen(
        &mut self,
        events: &mut WorkerCall,
        sender: &mpsc::Sender<EventMessage>,
    ) -> Result<Bytes, Failure> {
        loop {
            match events.next().await? {
                Step::Result(result) => {
                    self.recorder.denied_by(events.take_refused_by());
                    return Ok(result);
                }
                Step::Update(said) => {
                    if let Some(message) = self.notifications.notification(&said) {
                        let reservation = events.take_reservation();
                        let message = EventMessage {
                            message,
                            reservation,
                        };
                        // An error means that the client has disconnected, which `follow` notices.
                        events.wait(sender.send(message)).await?.ok();
                    }
                }
            }
        }
    }
}
