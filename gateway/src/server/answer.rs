//! An answer, from the moment its request's head is complete until the last byte of its body is
//! handed over.
//!
//! hyper hands over a body as fast as the client reads it. So an answer waits either for the
//! gateway (a worker is slow) or for the client (it does not read), and only the first keeps a
//! connection from being idle. Answers are handed over in small pieces, each after the socket
//! accepted the one before. Over HTTP/2 a body ends only once its last piece was sent, so that its
//! stream can be reset until then. A small answer over HTTP/1 is passed through unchanged.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use axum::body::{Body, Bytes};
use http::Version;
use hyper::body::{Body as _, Frame, SizeHint};

use super::{connection::Activity, read_progress::ReadProgress, streams};
use crate::unread::Reservation;

/// Bytes handed over at a time: what HTTP/2 sends in one frame by default.
const PIECE: usize = 16 * 1024;

/// Marks a request as being answered until it is dropped.
pub(super) struct AnswerGuard {
    activity: Activity,
    /// Whether the client waits for the gateway.
    is_waiting: bool,
}

impl AnswerGuard {
    pub(super) fn begin(activity: &Activity) -> Self {
        activity.begin_answer();
        AnswerGuard {
            activity: activity.clone(),
            is_waiting: true,
        }
    }

    /// Attaches the answer's body, and for a large one its reservation. The head is ready.
    pub(super) fn with_body(
        mut self,
        body: Body,
        version: Version,
        reservation: Option<Arc<Reservation>>,
    ) -> AnswerBody {
        self.end_wait();
        let in_stream = version == Version::HTTP_2;
        let is_tracked = (in_stream || reservation.is_some()) && !body.is_end_stream();
        let progress = is_tracked.then(|| ReadProgress::new(reservation));
        match &progress {
            Some(progress) if in_stream => streams::begin(progress),
            Some(progress) => self.activity.watch_large_response(progress.watch()),
            None => {}
        }
        AnswerBody {
            body,
            rest: Bytes::new(),
            progress,
            in_stream,
            answering: self,
        }
    }

    fn end_wait(&mut self) {
        self.activity.end_wait(std::mem::take(&mut self.is_waiting));
    }

    fn begin_wait(&mut self) {
        if !std::mem::replace(&mut self.is_waiting, true) {
            self.activity.begin_wait();
        }
    }
}

impl Drop for AnswerGuard {
    fn drop(&mut self) {
        self.activity.end_answer(self.is_waiting);
    }
}

/// A body that keeps its answer from having ended.
pub(super) struct AnswerBody {
    body: Body,
    /// The rest of the last frame, still to be handed over.
    rest: Bytes,
    /// How fast the client reads; `None` where the body is passed through unchanged.
    progress: Option<ReadProgress>,
    /// Over HTTP/2.
    in_stream: bool,
    answering: AnswerGuard,
}

/// The client did not read the answer in time.
#[derive(Debug, thiserror::Error)]
#[error("the client did not read the answer in time")]
struct ReadTimedOut;

impl AnswerBody {
    fn piece(&mut self, mut whole: Bytes) -> Bytes {
        let piece = whole.split_to(whole.len().min(PIECE));
        self.rest = whole;
        match &self.progress {
            Some(progress) if !piece.is_empty() => progress.hand_over(piece),
            _ => piece,
        }
    }

    /// Ready when the next piece may be handed over.
    fn poll_sent(&self, cx: &mut Context<'_>) -> Poll<Result<(), ReadTimedOut>> {
        let Some(progress) = &self.progress else {
            return Poll::Ready(Ok(()));
        };
        ready!(progress.poll_sent(cx));
        Poll::Ready(match progress.has_ended() {
            true => Err(ReadTimedOut),
            false => Ok(()),
        })
    }
}

impl hyper::body::Body for AnswerBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = &mut *self;
        if let Err(timed_out) = ready!(this.poll_sent(cx)) {
            return Poll::Ready(Some(Err(axum::Error::new(timed_out))));
        }
        let frame = if this.rest.is_empty() {
            let polled = Pin::new(&mut this.body).poll_frame(cx);
            if polled.is_pending() {
                this.answering.begin_wait();
                if let Some(progress) = &this.progress {
                    progress.begin_wait();
                }
            }
            ready!(polled)
        } else {
            Some(Ok(Frame::data(std::mem::take(&mut this.rest))))
        };
        this.answering.end_wait();
        let pieces = |frame: Frame<Bytes>| frame.map_data(|data| this.piece(data));
        Poll::Ready(frame.map(|frame| frame.map(pieces)))
    }

    fn is_end_stream(&self) -> bool {
        let all_sent = || self.progress.as_ref().is_none_or(ReadProgress::all_sent);
        self.rest.is_empty() && self.body.is_end_stream() && (!self.in_stream || all_sent())
    }

    fn size_hint(&self) -> SizeHint {
        let (inner, rest) = (self.body.size_hint(), self.rest.len() as u64);
        let mut hint = SizeHint::new();
        if let Some(upper) = inner.upper() {
            hint.set_upper(upper + rest);
        }
        hint.set_lower(inner.lower() + rest);
        hint
    }
}
