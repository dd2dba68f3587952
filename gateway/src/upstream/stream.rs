//! What a worker answers to one call: what it says on its way, then one result.
//!
//! Every wait ends with the call's deadline. A stream that is dropped before its result cancels
//! the call at the worker, which is how a client that goes away ends its work.

use archway_proto::{
    context::TraceContext,
    failure::Failure,
    v1::{CallEvent, Log, Progress, call_event::Event},
};
use bytes::Bytes;
use tonic::Streaming;

use super::{
    failures::{internal, of_status},
    patience::Patience,
};

/// What a call brings.
pub(crate) enum Step {
    /// What it says on its way.
    Said(Said),
    /// Its end: the method's result, a JSON object.
    Result(Bytes),
}

/// What a call says before its result.
pub(crate) enum Said {
    /// How far it is.
    Progress(Progress),
    /// A message of its log; nothing of it was looked at yet.
    Log(Log),
}

/// The events of one call. Dropped before its end, it cancels the call.
pub(crate) struct CallStream {
    events: Streaming<CallEvent>,
    patience: Patience,
    trace: TraceContext,
}

impl CallStream {
    /// The events that answer a call, which are waited for as `patience` says.
    pub(super) fn new(
        events: Streaming<CallEvent>,
        patience: Patience,
        trace: TraceContext,
    ) -> Self {
        CallStream {
            events,
            patience,
            trace,
        }
    }

    /// Reads to the end of a stream that has given its result. Dropped before its trailers it would
    /// be reset, and HTTP/2 ends a connection on which too many streams are.
    async fn close(&mut self) {
        // The answer is here: however the stream ends, it changes nothing.
        self.patience.wait(self.events.message()).await.ok();
    }

    /// The next step; a failure once the deadline passed or the stream ended without a result.
    pub(crate) async fn next(&mut self) -> Result<Step, Failure> {
        loop {
            match self.patience.wait(self.events.message()).await? {
                Err(status) => return Err(of_status(self.trace, &status)),
                Ok(None) => return Err(internal(self.trace, &NoResult)),
                Ok(Some(CallEvent { event })) => match event {
                    Some(Event::Result(result)) => {
                        self.close().await;
                        return Ok(Step::Result(result));
                    }
                    Some(Event::Progress(progress)) => {
                        return Ok(Step::Said(Said::Progress(progress)));
                    }
                    Some(Event::Log(log)) => return Ok(Step::Said(Said::Log(log))),
                    // An event this build does not know.
                    None => {}
                },
            }
        }
    }

    /// The result, past whatever comes before it.
    pub(crate) async fn result(mut self) -> Result<Bytes, Failure> {
        loop {
            if let Step::Result(result) = self.next().await? {
                return Ok(result);
            }
        }
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the worker ended the stream without a result")]
struct NoResult;
