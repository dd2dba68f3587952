//! An answer, from the moment its request came whole until the last of its body is handed over.
//!
//! What a reader would get wrong: hyper hands a body over as fast as the client takes it, so an
//! answer may wait for us (a worker is slow) or for the client (it does not read). Only the first
//! keeps a connection from being idle. Large pieces are handed over in small ones: a body that
//! has ended here is all but out.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use axum::body::{Body, Bytes};
use hyper::body::{Frame, SizeHint};

use super::connection::Activity;

/// Handed over at a time, in bytes: what HTTP/2 sends in one frame by default.
const PIECE: usize = 16 * 1024;

/// A request that is being answered, until this is dropped.
pub(super) struct Answering {
    activity: Activity,
    /// The client waits for us.
    owing: bool,
}

impl Answering {
    pub(super) fn begin(activity: &Activity) -> Self {
        activity.begin_answer();
        Answering {
            activity: activity.clone(),
            owing: true,
        }
    }

    /// The answer's body: the head is ready.
    pub(super) fn with_body(mut self, body: Body) -> AnswerBody {
        self.give();
        AnswerBody {
            body,
            rest: Bytes::new(),
            answering: self,
        }
    }

    fn give(&mut self) {
        self.activity.give(std::mem::take(&mut self.owing));
    }

    fn owe(&mut self) {
        if !std::mem::replace(&mut self.owing, true) {
            self.activity.owe();
        }
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.activity.end_answer(self.owing);
    }
}

/// A body that keeps its answer from having ended.
pub(super) struct AnswerBody {
    body: Body,
    /// Of the frame that came last: what is still to be handed over.
    rest: Bytes,
    answering: Answering,
}

impl AnswerBody {
    fn piece(&mut self, mut whole: Bytes) -> Bytes {
        let piece = whole.split_to(whole.len().min(PIECE));
        self.rest = whole;
        piece
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
        let frame = if this.rest.is_empty() {
            let polled = Pin::new(&mut this.body).poll_frame(cx);
            if polled.is_pending() {
                this.answering.owe();
            }
            ready!(polled)
        } else {
            Some(Ok(Frame::data(std::mem::take(&mut this.rest))))
        };
        this.answering.give();
        let pieces = |frame: Frame<Bytes>| frame.map_data(|data| this.piece(data));
        Poll::Ready(frame.map(|frame| frame.map(pieces)))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
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
