//! The timeouts of one connection.
//!
//! hyper's header timeout also closes idle connections, and its protocol detection has no timeout.
//! So Archway enforces its own:
//!
//! - Between requests a connection may be idle for as long as its port allows.
//! - Once the first bytes of an HTTP/1 request arrive, its headers must be complete within 10 s. A
//!   head that arrives during an answer has 10 s from the answer's end. If it arrives in the same
//!   read as the end of the request before, only the idle timeout bounds it: hyper has its bytes.
//! - No timeout runs while a client waits for the gateway: the body has its own limit, the call its
//!   deadline.
//! - Only requests count as activity. Pings are answered but do not keep a connection open.
//! - A socket that accepts no outgoing bytes for 30 s is closed. A large HTTP/1 response has its own
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

/// The connection state on which the timeouts depend. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Activity(Arc<Mutex<ConnectionState>>);

#[derive(Debug)]
struct ConnectionState {
    idle_timeout: Duration,
    /// Requests whose answers have not ended.
    unfinished: usize,
    /// How many of them wait for the gateway rather than for a client to read.
    awaiting_gateway: usize,
    /// When the headers of the next request began to arrive, or when the answer ended during which
    /// they did.
    headers_since: Option<Instant>,
    /// The current HTTP/1 request was read to its end, so that further bytes begin the next one.
    request_read: bool,
    /// Bytes of the next HTTP/1 request arrived during an answer.
    next_request_begun: bool,
    /// When a piece of an answer was last handed over or an answer ended.
    last_activity: Instant,
    draining_since: Option<Instant>,
    protocol: Protocol,
    /// Since when the socket has not accepted outgoing bytes.
    blocked_since: Option<Instant>,
    /// The last large HTTP/1 response.
    large_response: Option<WeakReadProgress>,
}

/// The protocol of a connection, detected from its first bytes in however many reads they arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    /// This many bytes arrived, and all match the HTTP/2 preface.
    Opening(usize),
    Http1,
    /// HTTP/2 sends control frames between requests; they do not start the header timeout.
    Http2,
}

impl Protocol {
    fn after(self, bytes: &[u8]) -> Protocol {
        let Protocol::Opening(matched) = self else {
            return self;
        };
        let missing = PREFACE.get(matched..).unwrap_or_default();
        if bytes.starts_with(missing) {
            Protocol::Http2
        } else if missing.starts_with(bytes) {
            Protocol::Opening(matched + bytes.len())
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
            awaiting_gateway: 0,
            headers_since: None,
            request_read: false,
            next_request_begun: false,
            last_activity: Instant::now(),
            draining_since: None,
            protocol: Protocol::Opening(0),
            blocked_since: None,
            large_response: None,
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

    /// Whether the client may still send a request. HTTP/1 can only announce a close in a response,
    /// and none is in flight.
    pub(super) fn may_receive_request(&self) -> bool {
        let state = self.0.lock();
        state.protocol == Protocol::Http1 && state.unfinished == 0
    }

    /// The request's head is complete: its client waits for the gateway.
    pub(super) fn begin_answer(&self) {
        let mut state = self.0.lock();
        state.unfinished += 1;
        state.awaiting_gateway += 1;
        state.headers_since = None;
        state.request_read = false;
        state.next_request_begun = false;
    }

    /// The request's body was read to its end.
    pub(super) fn request_read(&self) {
        self.0.lock().request_read = true;
    }

    /// A client that has read everything so far waits for the gateway again.
    pub(super) fn begin_wait(&self) {
        self.0.lock().awaiting_gateway += 1;
    }

    /// There are bytes for a client to read. `was_waiting`: whether it had to wait for them.
    pub(super) fn end_wait(&self, was_waiting: bool) {
        let mut state = self.0.lock();
        state.awaiting_gateway -= usize::from(was_waiting);
        state.last_activity = Instant::now();
    }

    /// An answer ended. `was_waiting`: whether its client still waited for some of it.
    pub(super) fn end_answer(&self, was_waiting: bool) {
        let mut state = self.0.lock();
        let now = Instant::now();
        state.unfinished -= 1;
        state.awaiting_gateway -= usize::from(was_waiting);
        state.last_activity = now;
        if state.next_request_begun {
            state.headers_since = Some(now);
        }
    }

    /// Ends the (HTTP/1) connection when this response is overdue.
    pub(super) fn watch_large_response(&self, response: WeakReadProgress) {
        self.0.lock().large_response = Some(response);
    }

    /// Whether a timeout passed because the client does not read.
    pub(super) fn is_unread(&self) -> bool {
        let until = self.0.lock().unread_until();
        until.is_some_and(|until| until <= Instant::now())
    }

    /// Records whether the socket accepts outgoing bytes.
    pub(super) fn blocked(&self, blocked: bool) {
        let since = &mut self.0.lock().blocked_since;
        *since = blocked.then(|| since.unwrap_or_else(Instant::now));
    }

    pub(super) fn received(&self, bytes: &[u8]) {
        let mut state = self.0.lock();
        state.protocol = state.protocol.after(bytes);
        if state.protocol == Protocol::Http2 {
            // Part of the preface may have looked like the start of headers.
            state.headers_since = None;
        } else if state.unfinished == 0 {
            state.headers_since.get_or_insert_with(Instant::now);
        } else if state.request_read {
            state.next_request_begun = true;
        }
    }

    /// Next time to check the timeouts. May be early: HTTP/2 responses end in their own tasks,
    /// which do not wake this one.
    fn deadline(&self) -> Instant {
        let state = self.0.lock();
        let quiet = state.quiet_until();
        state.unread_until().map_or(quiet, |end| end.min(quiet))
    }
}

impl ConnectionState {
    /// When the connection must be closed or checked again because its client does not read.
    fn unread_until(&self) -> Option<Instant> {
        let blocked = self.blocked_since.map(|since| since + BLOCKED_TIMEOUT);
        let response = self.large_response.as_ref().map(WeakReadProgress::status);
        let response = match response {
            None | Some(ReadStatus::Waiting) => None,
            Some(ReadStatus::CheckAt(until)) => Some(until),
            Some(ReadStatus::Overdue) => Some(Instant::now()),
        };
        blocked.into_iter().chain(response).min()
    }

    /// When the connection must be closed or checked again because no request arrives.
    fn quiet_until(&self) -> Instant {
        let draining = self.draining_since;
        let grace = draining.map_or(self.idle_timeout, |_| LINGER);
        let recheck_at = Instant::now() + grace;
        if self.awaiting_gateway > 0 {
            return recheck_at;
        }
        let quiet = match draining {
            Some(since) if self.unfinished == 0 => self.last_activity.max(since) + LINGER,
            _ => self.last_activity + self.idle_timeout,
        };
        let headers = self.headers_since.map(|since| since + HEADER_TIMEOUT);
        headers.map_or(quiet, |end| end.min(quiet)).min(recheck_at)
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
        Poll::Pending => poll_timeout(timer.as_mut(), activity, cx).map(|()| None),
    })
    .await
}

/// Ready once the deadline has passed. Resets the timer only to an earlier deadline or after an
/// early fire, to avoid a reset per request.
fn poll_timeout(mut timer: Pin<&mut Sleep>, activity: &Activity, cx: &mut Context<'_>) -> Poll<()> {
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
    async fn a_head_begun_during_an_answer_has_10_seconds_from_its_end() {
        for request_read in [true, false] {
            let activity = fresh();
            activity.received(b"POST /mcp HTTP/1.1\r\n\r\n");
            activity.begin_answer();
            if request_read {
                activity.request_read();
            }
            // Otherwise these bytes belong to the request's body.
            activity.received(b"POST /m");
            tokio::time::advance(Duration::from_secs(60)).await;
            activity.end_answer(true);
            let expected = if request_read {
                HEADER_TIMEOUT
            } else {
                IDLE_TIMEOUT
            };
            assert!(about(expected)(ends_after(&activity).await));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_socket_that_stays_blocked_keeps_its_30_seconds() {
        let activity = fresh();
        activity.blocked(true);
        tokio::time::advance(Duration::from_secs(20)).await;
        activity.blocked(true);
        assert!(about(Duration::from_secs(10))(ends_after(&activity).await));
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
        activity.end_wait(true);
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
        for was_waiting in [true, false] {
            let slow = tokio::time::sleep(Duration::from_secs(20));
            assert!(run(pin!(slow), &answering).await.is_some());
            answering.end_wait(was_waiting);
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
