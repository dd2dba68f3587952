//! Holds a worker's message back until there is room for the answer that is made of it.
//!
//! gRPC says how long a message is before it sends it. A large one stays at the valve: its call is
//! told the length, gets room, and opens. Meanwhile the worker sends no more of this stream than its
//! window, and the connection's window is too large to be used up by streams that wait.
//!
//! What a reader would get wrong: the valve wakes nobody. Whoever waits for the message polls the
//! body behind it, sees that the valve is shut, and polls again once it is open.

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

use super::resets::Resets;
use crate::breaker::CallPermit;

/// The largest message that passes at once, in bytes: its answer is a small one.
pub(super) const SMALL_MESSAGE: usize = 2 * 1024;
/// What stands before each message: a flag, and its length.
const PREFIX: usize = 5;

/// The valve of one try. Clones are the same valve.
#[derive(Clone, Debug, Default)]
pub(super) struct Valve(Arc<Mutex<State>>);

#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Free,
    /// A message of this length stands at it.
    Shut(usize),
    /// That message may pass.
    Open,
}

impl Valve {
    /// How long the message is that stands at it, if one does.
    pub(super) fn wanted(&self) -> Option<usize> {
        match *self.0.lock() {
            State::Shut(length) => Some(length),
            State::Free | State::Open => None,
        }
    }

    /// Lets the message pass that stands at it.
    pub(super) fn open(&self) {
        *self.0.lock() = State::Open;
    }

    /// Whether a message of this length may pass now.
    fn passes(&self, length: usize) -> bool {
        // What is too large to be read is refused by its length.
        if length <= SMALL_MESSAGE || length > MAX_MESSAGE_BYTES {
            return true;
        }
        let mut state = self.0.lock();
        match *state {
            State::Open => {
                *state = State::Free;
                true
            }
            State::Free | State::Shut(_) => {
                *state = State::Shut(length);
                false
            }
        }
    }
}

/// A channel whose answers pass the valve that a request brings. A call that is dropped before its end
/// is reset in its turn, and keeps the place that the request brings until then.
#[derive(Clone, Debug)]
pub(super) struct ValvedChannel {
    pub(super) channel: Channel,
    pub(super) resets: Resets,
}

impl tower::Service<http::Request<Body>> for ValvedChannel {
    type Response = http::Response<ValvedBody>;
    type Error = tonic::transport::Error;
    type Future = Answering;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.channel.poll_ready(cx)
    }

    fn call(&mut self, mut request: http::Request<Body>) -> Self::Future {
        let valve = request.extensions_mut().remove::<Valve>();
        let place = request.extensions_mut().remove::<CallPermit>();
        Answering {
            answer: Some(Box::pin(self.channel.call(request))),
            valve,
            reset: Reset {
                resets: self.resets.clone(),
                place,
            },
        }
    }
}

/// What a call's reset needs.
struct Reset {
    resets: Resets,
    place: Option<CallPermit>,
}

impl Reset {
    fn drop_in_turn(&mut self, call: impl Send + 'static) {
        self.resets.drop_in_turn((call, self.place.take()));
    }
}

/// The answer to a request, until its head comes.
pub(super) struct Answering {
    /// `None` once it came.
    answer: Option<BoxFuture<'static, Result<http::Response<Body>, tonic::transport::Error>>>,
    valve: Option<Valve>,
    reset: Reset,
}

impl Future for Answering {
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
                at: At::Prefix(0, [0; PREFIX]),
                held: None,
                reset: Reset {
                    resets: this.reset.resets.clone(),
                    place: this.reset.place.take(),
                },
            })
        }))
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        if let Some(answer) = self.answer.take() {
            self.reset.drop_in_turn(answer);
        }
    }
}

/// The body of an answer, behind its valve.
pub(super) struct ValvedBody {
    body: Body,
    /// `None` where nothing has to wait.
    valve: Option<Valve>,
    at: At,
    /// What came and stands at the valve.
    held: Option<Bytes>,
    /// Whether its stream ended by itself.
    has_ended: bool,
    reset: Reset,
}

impl Drop for ValvedBody {
    fn drop(&mut self) {
        if !self.has_ended && !self.body.is_end_stream() {
            let body = mem::take(&mut self.body);
            self.reset.drop_in_turn(body);
        }
    }
}

/// Where in its messages a body is.
#[derive(Clone, Copy)]
enum At {
    /// So many bytes of a message's prefix were passed on: those.
    Prefix(usize, [u8; PREFIX]),
    /// So many of a message are still to come.
    Message(usize),
}

impl ValvedBody {
    /// How much of the data passes: all of it, or what is before a message that has to wait.
    fn passing(&mut self, data: &[u8]) -> usize {
        let mut passed = 0;
        while let Some(rest) = data.get(passed..).filter(|rest| !rest.is_empty()) {
            match self.at {
                At::Message(left) => {
                    let step = left.min(rest.len());
                    passed += step;
                    self.at = match left - step {
                        0 => At::Prefix(0, [0; PREFIX]),
                        left => At::Message(left),
                    };
                }
                At::Prefix(seen, mut prefix) => {
                    let missing = prefix.iter_mut().skip(seen);
                    let step = missing.zip(rest).map(|(to, from)| *to = *from).count();
                    if seen + step < PREFIX {
                        self.at = At::Prefix(seen + step, prefix);
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
                        0 => At::Prefix(0, [0; PREFIX]),
                        length => At::Message(length),
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

    /// A body that comes in pieces of this size.
    fn body(data: &[u8], size: usize) -> ValvedBody {
        let pieces = data.chunks(size).map(Bytes::copy_from_slice);
        let pieces: Vec<_> = pieces
            .map(|it| Ok::<_, Infallible>(Frame::data(it)))
            .collect();
        ValvedBody {
            body: Body::new(StreamBody::new(stream::iter(pieces))),
            valve: Some(Valve::default()),
            at: At::Prefix(0, [0; PREFIX]),
            held: None,
            has_ended: false,
            reset: Reset {
                resets: Resets::new(),
                place: None,
            },
        }
    }

    /// All that comes until the valve is shut or the body has ended.
    async fn read(body: &mut ValvedBody) -> Vec<u8> {
        let mut read = Vec::new();
        while let Some(Some(frame)) = poll_immediate(body.frame()).await {
            read.extend(frame.unwrap().into_data().unwrap());
        }
        read
    }

    #[tokio::test]
    async fn a_large_message_stands_at_the_valve_until_it_is_opened_however_it_comes() {
        let (small, large) = (message(SMALL_MESSAGE), message(SMALL_MESSAGE + 1));
        let all = [&small[..], &large, &message(0), &large, &small].concat();
        for size in [1, 2, 3, 5, 7, 1_000, all.len()] {
            let mut body = body(&all, size);
            let mut came = read(&mut body).await;
            // tonic makes place for a message as soon as it has its prefix.
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
    async fn what_is_too_large_to_be_read_waits_for_nothing() {
        let mut large = message(0);
        large[1..].copy_from_slice(&u32::MAX.to_be_bytes());
        let mut body = body(&large, 64);
        assert_eq!(read(&mut body).await, large);
        assert_eq!(body.valve.clone().unwrap().wanted(), None);
    }
}
