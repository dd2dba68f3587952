//! The stream of a call's events and its result to the gateway.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use archway_proto::{refused_by::RefusedBy, v1};
use futures::{Stream, future::BoxFuture};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::DropGuard;
use tonic::Status;

/// A call's events, then its result. If the stream is dropped because the caller went away, the
/// call is cancelled.
pub(crate) struct CallStream {
    pub(super) events: mpsc::Receiver<v1::CallEvent>,
    /// The running call.
    pub(super) call: Option<BoxFuture<'static, CallResult>>,
    /// The result, until it is sent.
    pub(super) result: Option<CallResult>,
    pub(super) _cancel_on_drop: Option<DropGuard>,
}

/// A call's result, and what the gateway learns beside it.
pub(crate) struct CallResult {
    /// One JSON object.
    pub(super) json: Value,
    /// What refused the call.
    pub(super) refused_by: Option<RefusedBy>,
}

impl CallStream {
    pub(super) fn ready(json: Value) -> Self {
        let (_closed, events) = mpsc::channel(1);
        let result = CallResult {
            json,
            refused_by: None,
        };
        CallStream {
            events,
            call: None,
            result: Some(result),
            _cancel_on_drop: None,
        }
    }
}

impl Stream for CallStream {
    type Item = Result<v1::CallEvent, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(call) = &mut self.call
            && let Poll::Ready(result) = call.as_mut().poll(cx)
        {
            self.call = None;
            self.result = Some(result);
        }
        // Events of a call go before its result.
        if let Poll::Ready(Some(event)) = self.events.poll_recv(cx) {
            return Poll::Ready(Some(Ok(event)));
        }
        match self.result.take() {
            Some(CallResult { json, refused_by }) => {
                let event = v1::call_event::Event::Result(json.to_string().into());
                let words = refused_by.as_ref().map(RefusedBy::for_operators);
                Poll::Ready(Some(Ok(v1::CallEvent {
                    event: Some(event),
                    refused_by: words.map(str::to_owned),
                })))
            }
            None if self.call.is_some() => Poll::Pending,
            None => Poll::Ready(None),
        }
    }
}
