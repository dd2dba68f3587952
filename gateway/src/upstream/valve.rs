//! Holds a worker's large message back until memory is reserved for the answer to it.
//!
//! gRPC sends a message's length before the message. A large message stops at the valve: its call
//! reads the length, reserves memory, and opens the valve. Meanwhile the worker sends no more of
//! this stream than its window, and the connection's window is too large to be used up by waiting
//! streams.
//!
//! What a reader would get wrong: the valve wakes no task. The task that waits for the message
//! polls the body, sees that the valve is shut, and polls again once it has opened it.

use std::{
    mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use archway_proto::MAX_MESSAGE_BYTES;
use bytes::Bytes;
use futures::future::BoxFuture;
use hyper::body::{Body as _, Frame};
use parking_lot::Mutex;
use tonic::{Status, body::Body, transport::Channel};

use super::CallGuard;
use super::reset_pacer::ResetPacer;

/// The largest message that passes at once, in bytes: its answer is small.
pub(super) const SMALL_MESSAGE: usize = 2 * 1024;
/// Bytes before each message: a flag, and its length.
const PREFIX: usize = 5;

/// The valve of one attempt. Clones are the same valve.
#[derive(Clone, Debug, Default)]
pub(super) struct Valve(Arc<Mutex<ValveState>>);

#[derive(Clone, Copy, Debug, Default)]
enum ValveState {
    #[default]
    Free,
    /// A message of this length is held.
    Shut(usize),
    /// That message may pass.
    Open,
}

impl Valve {
    /// The length of the held message, if there is one.
    pub(super) fn wanted(&self) -> Option<usize> {
        match *self.0.lock() {
            ValveState::Shut(length) => Some(length),
            ValveState::Free | ValveState::Open => None,
        }
    }

    /// Lets the held message pass.
    pub(super) fn open(&self) {
        *self.0.lock() = ValveState::Open;
    }

    /// Whether a message of this length may pass now.
    fn passes(&self, length: usize) -> bool {
        // A message above the maximum passes, because tonic rejects it by its length.
        if length <= SMALL_MESSAGE || length > MAX_MESSAGE_BYTES {
            return true;
        }
        let mut state = self.0.lock();
        match *state {
            ValveState::Open => {
                *state = ValveState::Free;
                true
            }
            ValveState::Free | ValveState::Shut(_) => {
                *state = ValveState::Shut(length);
                false
            }
        }
    }
}

/// A channel whose answers pass the valve in the request's extensions. A call that is dropped
/// before its end is reset when the pacer allows, and holds the bulkhead permit from the request's
/// extensions until then.
#[derive(Clone, Debug)]
pub(super) struct ValvedChannel {
    pub(super) channel: Channel,
    pub(super) pacer: ResetPacer,
}

impl tower::Service<http::Request<Body>> for ValvedChannel {
    type Response = http::Response<ValvedBody>;
    type Error = tonic::transport::Error;
    type Future = PendingAnswer;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.channel.poll_ready(cx)
    }

    fn call(&mut self, mut request: http::Request<Body>) -> Self::Future {
        let valve = request.extensions_mut().remove::<Valve>();
        let permit = request.extensions_mut().remove::<CallGuard>();
        PendingAnswer {
            answer: Some(Box::pin(self.channel.call(request))),
            valve,
            reset: PacedReset {
                pacer: self.pacer.clone(),
                permit,
            },
        }
    }
}

/// What the reset of a call needs.
struct PacedReset {
    pacer: ResetPacer,
    permit: Option<CallGuard>,
}

impl PacedReset {
    fn drop_paced(&mut self, call: impl Send + 'static) {
        self.pacer.drop_paced((call, self.permit.take()));
    }
}

/// The answer to a request, before its headers arrive.
pub(super) struct PendingAnswer {
    /// `None` once they arrived.
    answer: Option<BoxFuture<'static, Result<http::Response<Body>, tonic::transport::Error>>>,
    valve: Option<Valve>,
    reset: PacedReset,
}

impl Future for PendingAnswer {
    type Output = Result<http::Response<ValvedBody>, tonic::transport::Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let Some(answer) = &mut this.answer else {
            return Poll::Pending;
        };
        let answer = ready!(answer.as_mut().poll(cx));
        this.answer = None;
        Poll::Ready(answer.map(|answer| {
            answer.map(|body| ValvedBody {
                has_ended: body.is_end_stream(),
                body,
                valve: this.valve.take(),
                at: FramePosition::Prefix(0, [0; PREFIX]),
                held: None,
                reset: PacedReset {
                    pacer: this.reset.pacer.clone(),
                    permit: this.reset.permit.take(),
                },
            })
        }))
    }
}

impl Drop for PendingAnswer {
    fn drop(&mut self) {
        if let Some(answer) = self.answer.take() {
            self.reset.drop_paced(answer);
        }
    }
}

/// The body of an answer, behind its valve.
pub(super) struct ValvedBody {
    body: Body,
    /// `None` if no message has to wait.
    valve: Option<Valve>,
    at: FramePosition,
    /// Received data that waits at the valve.
    held: Option<Bytes>,
    /// Whether the stream ended by itself.
    has_ended: bool,
    reset: PacedReset,
}

impl Drop for ValvedBody {
    fn drop(&mut self) {
        if !self.has_ended && !self.body.is_end_stream() {
            let body = mem::take(&mut self.body);
            self.reset.drop_paced(body);
        }
    }
}

/// The parser's position in the stream of messages.
#[derive(Clone, Copy)]
enum FramePosition {
    /// This many bytes of a prefix have arrived, and their values.
    Prefix(usize, [u8; PREFIX]),
    /// This many bytes of a message are still to come.
    Message(usize),
}

impl ValvedBody {
    /// How much of the data passes: all of it, or the part before a message that has to wait.
    fn passing(&mut self, data: &[u8]) -> usize {
        let mut passed = 0;
        while let Some(rest) = data.get(passed..).filter(|rest| !rest.is_empty()) {
            match self.at {
                FramePosition::Message(left) => {
                    let step = left.min(rest.len());
                    passed += step;
                    self.at = match left - step {
                        0 => FramePosition::Prefix(0, [0; PREFIX]),
                        left => FramePosition::Message(left),
                    };
                }
                FramePosition::Prefix(seen, mut prefix) => {
                    let missing = prefix.iter_mut().skip(seen);
                    let step = missing.zip(rest).map(|(to, from)| *to = *from).count();
                    if seen + step < PREFIX {
                        self.at = FramePosition::Prefix(seen + step, prefix);
                        return passed + step;
                    }
                    let [_flag, length @ ..] = prefix;
                    let length = u32::from_be_bytes(length) as usize;
                    let passes = |valve: &Valve| valve.passes(length);
                    if !self.valve.as_ref().is_none_or(passes) {
                        return passed;
                    }
                    passed += step;
                    self.at = match length {
                        0 => FramePosition::Prefix(0, [0; PREFIX]),
                        length => FramePosition::Message(length),
                    };
                }
            }
        }
        passed
    }
}

impl hyper::body::Body for ValvedBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = &mut *self;
        let mut data = match this.held.take() {
            Some(held) => held,
            None => match ready!(Pin::new(&mut this.body).poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => data,
                    Err(trailers) => {
                        this.has_ended = true;
                        return Poll::Ready(Some(Ok(trailers)));
                    }
                },
                other => {
                    this.has_ended = true;
                    return Poll::Ready(other);
                }
            },
        };
        let passing = this.passing(&data);
        if passing < data.len() {
            this.held = Some(data.split_off(passing));
            if passing == 0 {
                return Poll::Pending;
            }
        }
        Poll::Ready(Some(Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        self.held.is_none() && self.body.is_end_stream()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures::{future::poll_immediate, stream};
    use http_body_util::{BodyExt, StreamBody};

    use super::*;

    fn message(length: usize) -> Vec<u8> {
        let mut message = vec![0];
        message.extend(u32::try_from(length).unwrap().to_be_bytes());
        message.extend(vec![7; length]);
        message
    }

    /// A body that arrives in pieces of this size.
    fn body(data: &[u8], size: usize) -> ValvedBody {
        let pieces = data.chunks(size).map(Bytes::copy_from_slice);
        let pieces: Vec<_> = pieces
            .map(|it| Ok::<_, Infallible>(Frame::data(it)))
            .collect();
        ValvedBody {
            body: Body::new(StreamBody::new(stream::iter(pieces))),
            valve: Some(Valve::default()),
            at: FramePosition::Prefix(0, [0; PREFIX]),
            held: None,
            has_ended: false,
            reset: PacedReset {
                pacer: ResetPacer::new(),
                permit: None,
            },
        }
    }

    /// Everything that arrives until the valve shuts or the body ends.
    async fn read(body: &mut ValvedBody) -> Vec<u8> {
        let mut read = Vec::new();
        while let Some(Some(frame)) = poll_immediate(body.frame()).await {
            read.extend(frame.unwrap().into_data().unwrap());
        }
        read
    }

    #[tokio::test]
    async fn a_large_message_is_held_until_its_valve_opens() {
        let (small, large) = (message(SMALL_MESSAGE), message(SMALL_MESSAGE + 1));
        let all = [&small[..], &large, &message(0), &large, &small].concat();
        for size in [1, 2, 3, 5, 7, 1_000, all.len()] {
            let mut body = body(&all, size);
            let mut came = read(&mut body).await;
            // tonic allocates for a message as soon as its prefix is complete.
            assert!(
                (small.len()..small.len() + PREFIX).contains(&came.len()),
                "{size}"
            );
            for _ in 0..2 {
                let valve = body.valve.clone().unwrap();
                assert_eq!(valve.wanted(), Some(SMALL_MESSAGE + 1));
                assert!(read(&mut body).await.is_empty(), "shut");
                valve.open();
                came.extend(read(&mut body).await);
            }
            assert!(came == all, "{size}");
            assert!(body.frame().await.is_none());
        }
    }

    #[tokio::test]
    async fn a_message_above_the_maximum_is_not_held() {
        let mut large = message(0);
        large[1..].copy_from_slice(&u32::MAX.to_be_bytes());
        let mut body = body(&large, 64);
        assert_eq!(read(&mut body).await, large);
        assert_eq!(body.valve.clone().unwrap().wanted(), None);
    }
}
