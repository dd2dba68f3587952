//! The timeouts of one connection.
//!
//! hyper's own header timeout also ends a connection that is merely idle, and its protocol
//! detection has no timeout at all, so the timeouts are kept here:
//!
//! - Between requests a connection may be idle for as long as its port allows.
//! - Once the first bytes of an HTTP/1 request arrive, its headers must be complete within 10 s.
//! - No timeout runs while a client waits for the gateway: the body has its own limit, the call its
//!   deadline.
//! - Only requests count as activity. Pings are answered but keep nothing open.
//! - A socket that accepts no outgoing bytes for 30 s is closed. A large HTTP/1 answer has its own
//!   clock in addition (`read_progress`).

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use parking_lot::Mutex;
use tokio::time::{Instant, Sleep, sleep_until};

use super::read_progress::{ReadStatus, WeakReadProgress};

const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a socket may accept nothing while there are bytes to send.
const BLOCKED_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a connection without an answer in flight stays open after a drain begins: enough for a
/// request that is on its way, and for HTTP/2's GOAWAY.
const LINGER: Duration = Duration::from_secs(1);
/// Opens every HTTP/2 connection (RFC 9113, 3.4); no HTTP/1 method is PRI.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// What a connection is doing, as far as its timeouts depend on it.
#[derive(Clone, Debug)]
pub(crate) struct Activity(Arc<Mutex<ConnectionState>>);

#[derive(Debug)]
struct ConnectionState {
    idle_timeout: Duration,
    /// Requests whose answers have not ended.
    unfinished: usize,
    /// How many of them wait for the gateway rather than for a client to read.
    owing: usize,
    /// When the headers of the next request began to arrive.
    headers_since: Option<Instant>,
    /// When a piece of an answer was last handed over or an answer ended.
    last: Instant,
    draining_since: Option<Instant>,
    protocol: Protocol,
    /// Since when the socket has not accepted outgoing bytes.
    blocked_since: Option<Instant>,
    /// The last large HTTP/1 answer.
    answer: Option<WeakReadProgress>,
}

/// The protocol of a connection, detected from its first bytes in however many reads they arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    /// This many bytes arrived, and all match the HTTP/2 preface.
    Opening(usize),
    Http1,
    /// Sends frames of its own between requests, which begin no headers.
    Http2,
}

impl Protocol {
    fn after(self, bytes: &[u8]) -> Protocol {
        let Protocol::Opening(seen) = self else {
            return self;
        };
        let missing = PREFACE.get(seen..).unwrap_or_default();
        if bytes.starts_with(missing) {
            Protocol::Http2
        } else if missing.starts_with(bytes) {
            Protocol::Opening(seen + bytes.len())
        } else {
            Protocol::Http1
        }
    }
}

impl Activity {
    /// The activity of a connection with this idle timeout.
    pub(super) fn new(idle_timeout: Duration) -> Self {
        let state = ConnectionState {
            idle_timeout,
            unfinished: 0,
            owing: 0,
            headers_since: None,
            last: Instant::now(),
            draining_since: None,
            protocol: Protocol::Opening(0),
            blocked_since: None,
            answer: None,
        };
        Activity(Arc::new(Mutex::new(state)))
    }

    /// From now on the connection ends soon after its last answer.
    pub(super) fn drain(&self) {
        self.0.lock().draining_since = Some(Instant::now());
    }

    /// Whether the connection ends after its last answer.
    pub(super) fn is_draining(&self) -> bool {
        self.0.lock().draining_since.is_some()
    }

    /// Whether a request may be on its way. HTTP/1 announces its end in an answer, and none is in
    /// flight.
    pub(super) fn may_receive_request(&self) -> bool {
        let state = self.0.lock();
        state.protocol == Protocol::Http1 && state.unfinished == 0
    }

    /// A request is complete: its client waits for the gateway.
    pub(super) fn begin_answer(&self) {
        let mut state = self.0.lock();
        state.unfinished += 1;
        state.owing += 1;
        state.headers_since = None;
    }

    /// A client that has read everything so far waits for the gateway again.
    pub(super) fn owe(&self) {
        self.0.lock().owing += 1;
    }

    /// There are bytes for a client to read. `owed`: whether it had to wait for them.
    pub(super) fn give(&self, owed: bool) {
        let mut state = self.0.lock();
        state.owing -= usize::from(owed);
        state.last = Instant::now();
    }

    /// An answer ended. `owed`: whether its client still waited for some of it.
    pub(super) fn end_answer(&self, owed: bool) {
        let mut state = self.0.lock();
        state.unfinished -= 1;
        state.owing -= usize::from(owed);
        state.last = Instant::now();
    }

    /// Ends the (HTTP/1) connection when this answer is overdue.
    pub(super) fn follow(&self, answer: WeakReadProgress) {
        self.0.lock().answer = Some(answer);
    }

    /// Whether a timeout passed because the client does not read.
    pub(super) fn is_unread(&self) -> bool {
        let until = self.0.lock().unread_until();
        until.is_some_and(|until| until <= Instant::now())
    }

    /// Records whether the socket accepts outgoing bytes.
    pub(super) fn blocked(&self, blocked: bool) {
        self.0.lock().blocked_since = blocked.then(Instant::now);
    }

    pub(super) fn received(&self, bytes: &[u8]) {
        let mut state = self.0.lock();
        state.protocol = state.protocol.after(bytes);
        if state.protocol == Protocol::Http2 {
            // Part of the preface may have looked like the start of headers.
            state.headers_since = None;
        } else if state.unfinished == 0 && state.headers_since.is_none() {
            state.headers_since = Some(Instant::now());
        }
    }

    /// When the connection must be closed unless something happens first, or at the latest be
    /// checked again: HTTP/2 answers end in tasks of their own, which do not wake this one.
    fn deadline(&self) -> Instant {
        let state = self.0.lock();
        let quiet = state.quiet_until();
        state.unread_until().map_or(quiet, |end| end.min(quiet))
    }
}

impl ConnectionState {
    /// When it must be closed or checked again because its client does not read.
    fn unread_until(&self) -> Option<Instant> {
        let blocked = self.blocked_since.map(|since| since + BLOCKED_TIMEOUT);
        let answer = match self.answer.as_ref().map(WeakReadProgress::status) {
            None | Some(ReadStatus::Waiting) => None,
            Some(ReadStatus::CheckAt(until)) => Some(until),
            Some(ReadStatus::Overdue) => Some(Instant::now()),
        };
        blocked.into_iter().chain(answer).min()
    }

    /// When it must be closed or checked again because no request arrives.
    fn quiet_until(&self) -> Instant {
        let draining = self.draining_since;
        let patience = draining.map_or(self.idle_timeout, |_| LINGER);
        let asked_again = Instant::now() + patience;
        if self.owing > 0 {
            return asked_again;
        }
        let quiet = match draining {
            Some(since) if self.unfinished == 0 => self.last.max(since) + LINGER,
            _ => self.last + self.idle_timeout,
        };
        let headers = self.headers_since.map(|since| since + HEADER_TIMEOUT);
        headers.map_or(quiet, |end| end.min(quiet)).min(asked_again)
    }
}

/// Runs a connection to its end. Returns `None` if it timed out.
pub(crate) async fn run<F: Future>(
    mut connection: Pin<&mut F>,
    activity: &Activity,
) -> Option<F::Output> {
    let mut timer = pin!(sleep_until(activity.deadline()));
    poll_fn(|cx| match connection.as_mut().poll(cx) {
        Poll::Ready(end) => Poll::Ready(Some(end)),
        Poll::Pending => expire(timer.as_mut(), activity, cx).map(|()| None),
    })
    .await
}

/// Ready once the deadline has passed. Resets the timer only if it must fire earlier or fired too
/// early, so not on every request.
fn expire(mut timer: Pin<&mut Sleep>, activity: &Activity, cx: &mut Context<'_>) -> Poll<()> {
    loop {
        let deadline = activity.deadline();
        if deadline < timer.deadline() {
            timer.as_mut().reset(deadline);
        }
        ready!(timer.as_mut().poll(cx));
        if deadline <= Instant::now() {
            return Poll::Ready(());
        }
        timer.as_mut().reset(deadline);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE_TIMEOUT: Duration = Duration::from_secs(75);

    fn fresh() -> Activity {
        Activity::new(IDLE_TIMEOUT)
    }

    async fn ends_after(activity: &Activity) -> Duration {
        let start = Instant::now();
        let end = run(pin!(std::future::pending::<()>()), activity).await;
        assert!(end.is_none());
        start.elapsed()
    }

    fn about(duration: Duration) -> impl Fn(Duration) -> bool {
        move |took| took >= duration && took < duration + Duration::from_millis(10)
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_connection_ends_after_75_seconds() {
        assert!(about(IDLE_TIMEOUT)(ends_after(&fresh()).await));
    }

    #[tokio::test(start_paused = true)]
    async fn headers_must_be_complete_10_seconds_after_their_first_byte() {
        let activity = fresh();
        activity.received(b"POST /m");
        tokio::time::advance(Duration::from_secs(9)).await;
        activity.received(b"c");
        assert!(about(Duration::from_secs(1))(ends_after(&activity).await));
    }

    #[tokio::test(start_paused = true)]
    async fn no_timeout_runs_while_a_request_is_being_answered() {
        let activity = fresh();
        activity.received(b"POST /mcp HTTP/1.1\r\n\r\n");
        activity.begin_answer();
        let slow = tokio::time::sleep(Duration::from_secs(500));
        assert!(run(pin!(slow), &activity).await.is_some());
        activity.end_answer(true);
        assert!(about(IDLE_TIMEOUT)(ends_after(&activity).await));
    }

    #[tokio::test(start_paused = true)]
    async fn an_unread_answer_counts_as_idle_time() {
        let activity = fresh();
        activity.begin_answer();
        tokio::time::advance(Duration::from_secs(500)).await;
        activity.give(true);
        assert!(about(IDLE_TIMEOUT)(ends_after(&activity).await));
    }

    #[tokio::test(start_paused = true)]
    async fn a_drain_ends_quiet_connections_and_waits_for_slow_readers() {
        let quiet = fresh();
        quiet.received(b"POST /m");
        quiet.drain();
        assert!(about(LINGER)(ends_after(&quiet).await));

        let answering = fresh();
        answering.begin_answer();
        answering.drain();
        for owed in [true, false] {
            let slow = tokio::time::sleep(Duration::from_secs(20));
            assert!(run(pin!(slow), &answering).await.is_some());
            answering.give(owed);
        }
        answering.end_answer(false);
        assert!(about(LINGER)(ends_after(&answering).await));
    }

    #[tokio::test(start_paused = true)]
    async fn frames_between_http2_requests_begin_no_headers() {
        let activity = fresh();
        activity.received(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        activity.received(b"\0\0\0\x04\x01");
        assert!(about(IDLE_TIMEOUT)(ends_after(&activity).await));
    }

    #[tokio::test(start_paused = true)]
    async fn the_http2_preface_may_be_split_but_must_come_first() {
        let pieces = fresh();
        for piece in [&b"P"[..], b"RI * HTTP/2.0\r\n\r\nSM", b"\r\n\r\n\0\0"] {
            pieces.received(piece);
        }
        assert!(about(IDLE_TIMEOUT)(ends_after(&pieces).await));

        let half = fresh();
        half.received(b"PRI * HTTP/2.0\r\n");
        assert!(about(HEADER_TIMEOUT)(ends_after(&half).await));

        let late = fresh();
        late.received(b"P");
        late.received(b"OST /mcp HTTP/1.1\r\n");
        late.received(PREFACE);
        assert!(about(HEADER_TIMEOUT)(ends_after(&late).await));
    }
}
