//! What a worker answers to one call: what it says on its way, then one result.
//!
//! Every wait ends with the call's deadline, and 100 ms after its result. A stream that is dropped
//! before its result cancels the call at the worker, which is how a client that goes away ends its
//! work. As long as nothing of it was passed on, the call may begin again on another worker, and the
//! reader doesn't notice.

use std::{future::poll_fn, pin::pin, task::Poll, time::Duration};

use archway_proto::{
    failure::Failure,
    v1::{CallEvent, Log, Progress, call_event::Event},
};
use bytes::Bytes;
use tokio::time::timeout;
use tonic::{Code, Status};

use super::{
    errand::{Errand, Underway},
    failures::{Outcome, internal, unread},
    valve::Valve,
};
use crate::unread::{NoRoom, Room};

/// How long a stream that has given its result may take to end: its trailers come with it.
const TRAILERS: Duration = Duration::from_millis(100);
/// How many times as large as a worker's message is what is made of it, at most: the message, its
/// data once more, and the same as a text, in which each byte may be escaped by another.
const MOST_GROWTH: usize = 4;

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
    /// For the message that came last.
    room: Option<Room>,
}

/// What comes of a call next.
enum Heard {
    Message(Result<Option<CallEvent>, Status>),
    /// A message of this length waits for room.
    Waits(usize),
}

impl CallStream {
    /// Begins the call.
    pub(super) async fn begin(mut errand: Box<Errand>) -> Result<Self, Failure> {
        let try_ = errand.begin().await?;
        Ok(CallStream {
            errand,
            try_,
            passed_on: false,
            room: None,
        })
    }

    /// The room for the message that came last, if that is a large one.
    pub(crate) fn take_room(&mut self) -> Option<Room> {
        self.room.take()
    }

    /// Room for an answer that goes out in many events: for the small ones of them.
    pub(crate) async fn room_for_events(&mut self, bytes: usize) -> Result<Option<Room>, Failure> {
        let asker = self.errand.asker.clone();
        let Some(asker) = asker else { return Ok(None) };
        let room = self.wait(asker.room(bytes, self.errand.until)).await?;
        let room = room.map_err(|NoRoom| self.errand.given_up(unread(), Outcome::Unknown))?;
        Ok(Some(room))
    }

    /// The client was told something of what this call said: it must not begin again, or the
    /// client would hear it twice.
    pub(crate) fn passed_on(&mut self) {
        self.passed_on = true;
    }

    /// The next step; a failure once the deadline passed or the stream ended without a result.
    pub(crate) async fn next(&mut self) -> Result<Step, Failure> {
        loop {
            let heard = self.errand.patience.wait(self.try_.hear()).await;
            let heard = heard.inspect_err(|failure| self.try_.attempt.given_up(failure));
            let heard = heard.map_err(|failure| self.errand.given_up(failure, Outcome::Unknown))?;
            let message = match heard {
                Heard::Message(message) => message,
                Heard::Waits(length) => {
                    self.make_room(length).await?;
                    continue;
                }
            };
            match message {
                Err(status) => {
                    self.try_.attempt.failed(&status);
                    self.room = None;
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

    /// Gets room for the answer that is made of a message of this length, and lets it come.
    async fn make_room(&mut self, length: usize) -> Result<(), Failure> {
        self.room = None;
        self.room = self.room_for_events(MOST_GROWTH * length).await?;
        if let Some(valve) = &self.try_.valve {
            valve.open();
        }
        Ok(())
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

impl Underway {
    /// The next message, or how large it is if it waits for room.
    async fn hear(&mut self) -> Heard {
        let Underway { events, valve, .. } = self;
        let mut message = pin!(events.message());
        poll_fn(|cx| match message.as_mut().poll(cx) {
            Poll::Ready(message) => Poll::Ready(Heard::Message(message)),
            Poll::Pending => match valve.as_ref().and_then(Valve::wanted) {
                Some(length) => Poll::Ready(Heard::Waits(length)),
                None => Poll::Pending,
            },
        })
        .await
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the worker ended the stream without a result")]
struct NoResult;
