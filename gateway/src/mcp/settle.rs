//! The end of one call: its outcome becomes an answer, and is counted.
//!
//! Owns what a call holds while it is made, so that whatever ends it, the client's going away
//! included, gives everything back. What a reader would get wrong: a result that is no tool result
//! is a failure of the worker, so a call is settled only once its answer is written.

use std::{convert::Infallible, sync::Arc};

use archway_proto::{failure::Failure, fault::Fault};
use axum::{body::Body, response::Response};
use bytes::Bytes;
use futures::{StreamExt, stream};
use http::{HeaderValue, header};

use super::{ask::Ask, content::json_response, hearing::Hearing, reply};
use crate::{
    breaker::Permit,
    cursor::{CursorContext, Cursors},
    metrics::Metrics,
    upstream::{self, CallStream, Step},
};

/// Turns the outcome of one call into its answer, and counts it.
pub(super) struct Settle {
    pub(super) cursors: Cursors,
    pub(super) metrics: Arc<Metrics>,
    pub(super) tool: Arc<str>,
    pub(super) ask: Ask,
    pub(super) hearing: Hearing,
    /// What cursors of the call are bound to, where the tool has pages.
    pub(super) context: Option<CursorContext>,
    /// What the call holds from before it was made until its answer is written.
    pub(super) permit: Option<Permit>,
    pub(super) counted: bool,
}

impl Drop for Settle {
    /// Dropped without an answer: the client went away.
    fn drop(&mut self) {
        if !self.counted {
            self.metrics
                .call(&self.tool, "cancelled", self.ask.received.elapsed());
        }
    }
}

impl Settle {
    /// The answer of a call that said nothing before.
    pub(super) fn respond(mut self, outcome: Result<Bytes, Failure>) -> Response {
        let in_events = !self.ask.accepts.json;
        let message = self.message(outcome);
        if in_events {
            events_response(Body::from(reply::event(&message)))
        } else {
            json_response(message)
        }
    }

    /// The JSON-RPC message that answers the call.
    fn message(&mut self, outcome: Result<Bytes, Failure>) -> Vec<u8> {
        let took = self.ask.received.elapsed();
        let head = reply::Head {
            id: &self.ask.id,
            era: self.ask.era,
            took,
        };
        let seal = |plain: &str| match &self.context {
            Some(context) => self.cursors.seal(context, plain).ok(),
            None => None,
        };
        let written = outcome.and_then(|result| {
            reply::result(&head, &result, seal)
                .map_err(|error| upstream::internal(self.ask.trace, &error))
        });
        let permit = self.permit.take();
        let (message, fault) = match written {
            Ok(written) => {
                if let Some(permit) = permit {
                    permit.answered(written.incomplete);
                }
                (written.message, written.fault)
            }
            Err(failure) => {
                let permit = permit.filter(|_| !upstream::is_refusal(&failure));
                if let Some(permit) = permit {
                    permit.failed(failure.code);
                }
                (reply::failure(&head, &failure), Some(failure.code))
            }
        };
        self.metrics
            .call(&self.tool, fault.map_or("ok", Fault::code), took);
        self.counted = true;
        message
    }

    /// What the call says as it comes, the answer last.
    pub(super) fn stream(self, first: Vec<u8>, events: Box<CallStream>) -> Response {
        let body = stream::unfold(Some((self, events, Some(first))), |state| async {
            let (mut settle, mut events, waiting) = state?;
            if let Some(event) = waiting {
                return Some((reply::event(&event), Some((settle, events, None))));
            }
            let outcome = loop {
                match events.next().await {
                    Ok(Step::Result(result)) => break Ok(result),
                    Err(failure) => break Err(failure),
                    Ok(Step::Said(said)) => {
                        if let Some(event) = settle.hearing.notification(&said) {
                            let rest = Some((settle, events, None));
                            return Some((reply::event(&event), rest));
                        }
                    }
                }
            };
            Some((reply::event(&settle.message(outcome)), None))
        });
        events_response(Body::from_stream(body.map(Ok::<_, Infallible>)))
    }
}

/// A response of server-sent events.
fn events_response(body: Body) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/event-stream"),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}
