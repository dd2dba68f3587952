//! A worker's answer to one call: updates while it runs, then one result.
//!
//! Every wait ends at the call's deadline, or 100 ms after its result. Dropping the stream before
//! its result cancels the call at the worker; that is how a client that disconnects ends its work.
//! As long as nothing reached the client, the call may start again on another worker, and the
//! reader does not notice.

use std::{future::poll_fn, pin::pin, task::Poll, time::Duration};

use archway_proto::{
    failure::Failure,
    refused_by::RefusedBy,
    v1::{CallEvent, Log, Progress, call_event::Event},
};
use bytes::Bytes;
use tokio::time::timeout;
use tonic::{Code, Status};

use super::{
    failures::{WriteOutcome, internal, unread},
    retry::{RetriedCall, RunningAttempt},
    valve::Valve,
};
use crate::unread::{NoSpace, Reservation};

/// How long a stream may take to end after its result: the trailers come with it.
const TRAILERS: Duration = Duration::from_millis(100);
/// How much larger than a worker's message the answer can get: the message itself, its data once
/// more, and the same data as text, in which each byte may need an escape.
const MOST_GROWTH: usize = 4;

/// The next event of a call.
pub(crate) enum Step {
    /// An update while it runs.
    Update(CallUpdate),
    /// Its end: the method's result, a JSON object.
    Result(Bytes),
}

/// What a call sends before its result.
pub(crate) enum CallUpdate {
    /// Progress of the call.
    Progress(Progress),
    /// A log message, not validated yet.
    Log(Log),
}

/// The events of one call. Dropping it before its end cancels the call.
pub(crate) struct WorkerCall {
    call: Box<RetriedCall>,
    attempt: RunningAttempt,
    passed_on: bool,
    /// The memory reserved for the last message.
    reservation: Option<Reservation>,
    /// What the worker says beside its result.
    refused_by: Option<RefusedBy>,
}

/// The next event on the wire.
enum NextEvent {
    Message(Result<Option<CallEvent>, Status>),
    /// A message of this length waits for a reservation.
    NeedsRoom(usize),
}

impl WorkerCall {
    /// Begins the call.
    pub(super) async fn begin(mut call: Box<RetriedCall>) -> Result<Self, Failure> {
        let attempt = call.begin().await?;
        Ok(WorkerCall {
            call,
            attempt,
            passed_on: false,
            reservation: None,
            refused_by: None,
        })
    }

    /// The memory reserved for the last message, if that was a large one.
    pub(crate) fn take_reservation(&mut self) -> Option<Reservation> {
        self.reservation.take()
    }

    /// What refused the call, if the result is such a failure and its worker is not an older build.
    pub(crate) fn take_refused_by(&mut self) -> Option<RefusedBy> {
        self.refused_by.take()
    }

    /// Reserves memory for the small events of a streamed answer.
    pub(crate) async fn reserve_answer(
        &mut self,
        bytes: usize,
    ) -> Result<Option<Reservation>, Failure> {
        let owner = self.call.owner.clone();
        let Some(owner) = owner else { return Ok(None) };
        let reservation = self.wait(owner.reserve(bytes, self.call.until)).await?;
        let reservation =
            reservation.map_err(|NoSpace| self.call.given_up(unread(), WriteOutcome::Unknown))?;
        Ok(Some(reservation))
    }

    /// Records that an update reached the client: from now on the call must not start again, or the
    /// client would get the update twice.
    pub(crate) fn passed_on(&mut self) {
        self.passed_on = true;
    }

    /// The next event. Fails if the deadline passes or the stream ends without a result.
    pub(crate) async fn next(&mut self) -> Result<Step, Failure> {
        loop {
            let event = self.call.deadline.wait(self.attempt.next_event()).await;
            let event = event.inspect_err(|failure| self.attempt.span.given_up(failure));
            let event =
                event.map_err(|failure| self.call.given_up(failure, WriteOutcome::Unknown))?;
            let message = match event {
                NextEvent::Message(message) => message,
                NextEvent::NeedsRoom(length) => {
                    self.make_room(length).await?;
                    continue;
                }
            };
            match message {
                Err(status) => {
                    self.attempt.span.failed(&status);
                    self.reservation = None;
                    let repeatable = !self.passed_on;
                    self.call
                        .after_end(&self.attempt.flight, &status, repeatable)?;
                    self.attempt = self.call.start().await?;
                }
                Ok(None) => {
                    let failure = internal(self.call.context.trace, &NoResult);
                    return Err(self.call.given_up(failure, WriteOutcome::Unknown));
                }
                Ok(Some(CallEvent { event, refused_by })) => match event {
                    Some(Event::Result(result)) => {
                        self.refused_by = refused_by.as_deref().map(RefusedBy::new);
                        self.close().await;
                        return Ok(Step::Result(self.call.client_result(result)));
                    }
                    Some(Event::Progress(progress)) => {
                        return Ok(Step::Update(CallUpdate::Progress(progress)));
                    }
                    Some(Event::Log(log)) => return Ok(Step::Update(CallUpdate::Log(log))),
                    // An event that this build does not know.
                    None => {}
                },
            }
        }
    }

    /// The output of the future, unless the call has to end first.
    pub(crate) async fn wait<T>(&mut self, future: impl Future<Output = T>) -> Result<T, Failure> {
        let result = self.call.deadline.wait(future).await;
        let result = result.inspect_err(|failure| self.attempt.span.given_up(failure));
        result.map_err(|failure| self.call.given_up(failure, WriteOutcome::Unknown))
    }

    /// Reserves memory for the answer to a message of this length, and lets the message through.
    async fn make_room(&mut self, length: usize) -> Result<(), Failure> {
        self.reservation = None;
        self.reservation = self.reserve_answer(MOST_GROWTH * length).await?;
        if let Some(valve) = &self.attempt.valve {
            valve.open();
        }
        Ok(())
    }

    /// The result; updates before it are skipped.
    pub(crate) async fn result(mut self) -> Result<Bytes, Failure> {
        loop {
            if let Step::Result(result) = self.next().await? {
                return Ok(result);
            }
        }
    }

    /// Reads a stream to its end after the result. If it were dropped before its trailers it would
    /// be reset, and HTTP/2 closes a connection with too many resets. A worker that freezes in
    /// between gets that reset anyway: the wait is short.
    async fn close(&mut self) {
        self.call.answered();
        let ending = self.call.deadline.wait(self.attempt.events.message());
        // The answer is here: the end of the stream changes nothing.
        timeout(TRAILERS, ending).await.ok();
        self.attempt.span.ended(Code::Ok);
    }
}

impl RunningAttempt {
    /// The next message, or its length if it waits for a reservation.
    async fn next_event(&mut self) -> NextEvent {
        let RunningAttempt { events, valve, .. } = self;
        let mut message = pin!(events.message());
        poll_fn(|cx| match message.as_mut().poll(cx) {
            Poll::Ready(message) => Poll::Ready(NextEvent::Message(message)),
            Poll::Pending => match valve.as_ref().and_then(Valve::wanted) {
                Some(length) => Poll::Ready(NextEvent::NeedsRoom(length)),
                None => Poll::Pending,
            },
        })
        .await
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the worker ended the stream without a result")]
struct NoResult;
