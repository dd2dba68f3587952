//! What a worker answers to one call: what it says on its way, then one result.
//!
//! Every wait ends with the call's deadline, and 100 ms after its result. A stream that is dropped
//! before its result cancels the call at the worker, which is how a client that goes away ends its
//! work. As long as nothing of it was passed on, the call may begin again on another worker, and the
//! reader doesn't notice.

use std::time::Duration;

use archway_proto::{
    failure::Failure,
    v1::{CallEvent, Log, Progress, call_event::Event},
};
use bytes::Bytes;
use tokio::time::timeout;
use tonic::Code;

use super::{
    errand::{Errand, Underway},
    failures::{Outcome, internal},
};

/// How long a stream that has given its result may take to end: its trailers come with it.
const TRAILERS: Duration = Duration::from_millis(100);

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
    errand: Box<Errand>,
    try_: Underway,
    passed_on: bool,
}

impl CallStream {
    /// Begins the call.
    pub(super) async fn begin(mut errand: Box<Errand>) -> Result<Self, Failure> {
        let try_ = errand.begin().await?;
        Ok(CallStream {
            errand,
            try_,
            passed_on: false,
        })
    }

    /// The client was told something of what this call said: it must not begin again, or the
    /// client would hear it twice.
    pub(crate) fn passed_on(&mut self) {
        self.passed_on = true;
    }

    /// The next step; a failure once the deadline passed or the stream ended without a result.
    pub(crate) async fn next(&mut self) -> Result<Step, Failure> {
        loop {
            let heard = self.errand.patience.wait(self.try_.events.message()).await;
            let heard = heard.inspect_err(|failure| self.try_.attempt.given_up(failure));
            match heard.map_err(|failure| self.errand.given_up(failure, Outcome::Unknown))? {
                Err(status) => {
                    self.try_.attempt.failed(&status);
                    let repeatable = !self.passed_on;
                    self.errand.ended(&self.try_.flight, &status, repeatable)?;
                    self.try_ = self.errand.go().await?;
                }
                Ok(None) => {
                    let failure = internal(self.errand.context.trace, &NoResult);
                    return Err(self.errand.given_up(failure, Outcome::Unknown));
                }
                Ok(Some(CallEvent { event })) => match event {
                    Some(Event::Result(result)) => {
                        self.close().await;
                        return Ok(Step::Result(self.errand.told(result)));
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

    /// What `telling` gives, if that is before the call has to have ended.
    pub(crate) async fn wait<T>(&mut self, telling: impl Future<Output = T>) -> Result<T, Failure> {
        let told = self.errand.patience.wait(telling).await;
        let told = told.inspect_err(|failure| self.try_.attempt.given_up(failure));
        told.map_err(|failure| self.errand.given_up(failure, Outcome::Unknown))
    }

    /// The result, past whatever comes before it.
    pub(crate) async fn result(mut self) -> Result<Bytes, Failure> {
        loop {
            if let Step::Result(result) = self.next().await? {
                return Ok(result);
            }
        }
    }

    /// Reads to the end of a stream that has given its result. Dropped before its trailers it would
    /// be reset, and HTTP/2 ends a connection on which too many streams are. So it is, nevertheless, if
    /// its worker freezes in between: nobody waits for that.
    async fn close(&mut self) {
        self.errand.answered();
        let ending = self.errand.patience.wait(self.try_.events.message());
        // The answer is here: however the stream ends, it changes nothing.
        timeout(TRAILERS, ending).await.ok();
        self.try_.attempt.ended(Code::Ok);
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the worker ended the stream without a result")]
struct NoResult;
