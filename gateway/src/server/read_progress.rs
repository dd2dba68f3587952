//! The read timeout of one answer: how long its client may leave it unread.
//!
//! A client has 30 s of credit while there is something for it to read. Every 4 KiB that it reads
//! earn a second, up to 30 s again. So an answer that is not read at all ends after 30 s, and one
//! that is read at less than 4 KiB/s ends later. Nothing else on its connection counts. While other
//! answers wait for space, an answer ends 5 s after its last byte was sent.
//!
//! Bytes count as read once the socket has accepted them, not when
//! hyper has. Each piece of an answer reports when it is dropped.

use std::{
    sync::{Arc, Weak},
    task::{Context, Poll},
    time::Duration,
};

use axum::body::Bytes;
use futures::task::AtomicWaker;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::unread::Reservation;

/// A client's initial and maximum credit.
const CREDIT: Duration = Duration::from_secs(30);
/// Bytes that earn one second.
const BYTES_PER_SECOND: usize = 4 * 1024;
/// How long an answer may stall while others wait for space.
const STALL_LIMIT: Duration = Duration::from_secs(5);
/// How often contention is checked.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// One answer on its way to its client. Clones share the same answer.
#[derive(Clone)]
pub(super) struct ReadProgress(Arc<SharedProgress>);

/// A weak reference: the answer may be gone.
#[derive(Clone, Debug)]
pub(super) struct WeakReadProgress(Weak<SharedProgress>);

struct SharedProgress {
    clock: Mutex<ReadClock>,
    /// Woken when a piece was sent.
    waits: AtomicWaker,
    /// Held until the answer and all of its pieces are dropped.
    reservation: Option<Arc<Reservation>>,
}

#[derive(Debug)]
struct ReadClock {
    credit: Duration,
    /// Since when there is something to read, or when a piece was last sent.
    since: Option<Instant>,
    /// Bytes that were handed over but not sent.
    out: usize,
    ended: bool,
}

/// The state of an answer's timeout.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ReadStatus {
    /// The client waits for the gateway.
    Waiting,
    /// Must be checked again by then.
    CheckAt(Instant),
    Overdue,
}

impl ReadClock {
    fn new() -> Self {
        ReadClock {
            credit: CREDIT,
            since: None,
            out: 0,
            ended: false,
        }
    }

    fn hand_over(&mut self, bytes: usize, now: Instant) {
        self.since.get_or_insert(now);
        self.out += bytes;
    }

    fn sent(&mut self, bytes: usize, now: Instant) {
        self.out = self.out.saturating_sub(bytes);
        let earned = Duration::from_secs(1).mul_f64(bytes as f64 / BYTES_PER_SECOND as f64);
        self.settle(now);
        self.credit = CREDIT.min(self.credit + earned);
        self.since = Some(now);
    }

    /// Stops the clock if nothing is left to read.
    fn begin_wait(&mut self, now: Instant) {
        if self.out == 0 {
            self.settle(now);
            self.since = None;
        }
    }

    fn settle(&mut self, now: Instant) {
        let spent = self.since.map(|since| now.saturating_duration_since(since));
        self.credit = self.credit.saturating_sub(spent.unwrap_or_default());
    }

    fn status(&self, reservation: Option<&Reservation>, now: Instant) -> ReadStatus {
        let Some(since) = self.since else {
            return ReadStatus::Waiting;
        };
        let mut until = since + self.credit;
        if let Some(reservation) = reservation {
            let still = since + STALL_LIMIT;
            if now >= still && reservation.is_contended() {
                return ReadStatus::Overdue;
            }
            until = until.min(still.max(now + CHECK_INTERVAL));
        }
        if since + self.credit <= now {
            return ReadStatus::Overdue;
        }
        ReadStatus::CheckAt(until)
    }
}

impl ReadProgress {
    pub(super) fn new(reservation: Option<Arc<Reservation>>) -> Self {
        ReadProgress(Arc::new(SharedProgress {
            clock: Mutex::new(ReadClock::new()),
            waits: AtomicWaker::new(),
            reservation,
        }))
    }

    pub(super) fn watch(&self) -> WeakReadProgress {
        WeakReadProgress(Arc::downgrade(&self.0))
    }

    /// Hands over bytes that report when they are sent.
    pub(super) fn hand_over(&self, bytes: Bytes) -> Bytes {
        self.0.clock.lock().hand_over(bytes.len(), Instant::now());
        Bytes::from_owner(Piece {
            bytes,
            answer: self.0.clone(),
        })
    }

    /// There is nothing to hand over at the moment.
    pub(super) fn begin_wait(&self) {
        self.0.clock.lock().begin_wait(Instant::now());
    }

    /// Ready once everything handed over was sent.
    pub(super) fn poll_sent(&self, cx: &mut Context<'_>) -> Poll<()> {
        if self.all_sent() {
            return Poll::Ready(());
        }
        self.0.waits.register(cx.waker());
        match self.all_sent() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }

    /// Whether everything handed over was sent. Of an ended answer nothing more will be.
    pub(super) fn all_sent(&self) -> bool {
        let clock = self.0.clock.lock();
        clock.out == 0 || clock.ended
    }

    /// Ends the answer: its client had its time.
    pub(super) fn end(&self) {
        self.0.clock.lock().ended = true;
        self.0.waits.wake();
    }

    pub(super) fn has_ended(&self) -> bool {
        self.0.clock.lock().ended
    }

    pub(super) fn status(&self) -> ReadStatus {
        self.0.status()
    }
}

impl WeakReadProgress {
    /// `Waiting` if the answer is gone.
    pub(super) fn status(&self) -> ReadStatus {
        let answer = self.0.upgrade();
        answer.map_or(ReadStatus::Waiting, |answer| answer.status())
    }
}

impl SharedProgress {
    fn status(&self) -> ReadStatus {
        let clock = self.clock.lock();
        clock.status(self.reservation.as_deref(), Instant::now())
    }
}

impl std::fmt::Debug for SharedProgress {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.clock.lock().fmt(to)
    }
}

/// A piece of an answer on its way to the socket.
struct Piece {
    bytes: Bytes,
    answer: Arc<SharedProgress>,
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        let SharedProgress { clock, waits, .. } = &*self.answer;
        clock.lock().sent(self.bytes.len(), Instant::now());
        waits.wake();
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;
    use crate::{
        metrics::Metrics,
        unread::{AnswerOwner, ConnectionSpace, UnreadAnswers},
    };

    const SECOND: Duration = Duration::from_secs(1);

    fn piece(progress: &ReadProgress) -> Bytes {
        progress.hand_over(Bytes::from(vec![0; BYTES_PER_SECOND]))
    }

    /// The time until the answer is overdue if nothing more happens.
    async fn ends_after(progress: &ReadProgress) -> Duration {
        let start = Instant::now();
        while let ReadStatus::CheckAt(until) = progress.status() {
            tokio::time::sleep_until(until).await;
        }
        assert_eq!(progress.status(), ReadStatus::Overdue);
        start.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn an_unread_answer_is_overdue_after_30_seconds() {
        let progress = ReadProgress::new(None);
        assert_eq!(progress.status(), ReadStatus::Waiting);
        let _piece = piece(&progress);
        assert!(!progress.all_sent());
        assert_eq!(ends_after(&progress).await, CREDIT);
        assert_eq!(progress.watch().status(), ReadStatus::Overdue);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_4_kib_per_second_is_never_overdue() {
        let progress = ReadProgress::new(None);
        for _ in 0..600 {
            let piece = piece(&progress);
            advance(SECOND).await;
            assert_ne!(progress.status(), ReadStatus::Overdue);
            drop(piece);
        }
        assert!(progress.all_sent());
        let _piece = piece(&progress);
        assert!(ends_after(&progress).await > CREDIT - SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_too_slowly_is_overdue_before_long() {
        let progress = ReadProgress::new(None);
        let mut pieces = 0;
        loop {
            let piece = piece(&progress);
            advance(9 * SECOND).await;
            if progress.status() == ReadStatus::Overdue {
                break;
            }
            drop(piece);
            pieces += 1;
        }
        assert_eq!(pieces, 3);
    }

    #[tokio::test(start_paused = true)]
    async fn the_clock_stops_while_an_answer_waits_for_the_gateway() {
        let progress = ReadProgress::new(None);
        drop(piece(&progress));
        progress.begin_wait();
        advance(1_000 * SECOND).await;
        assert_eq!(progress.status(), ReadStatus::Waiting);
        let _piece = piece(&progress);
        progress.begin_wait();
        assert_eq!(
            ends_after(&progress).await,
            CREDIT,
            "it has something to take"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_stalled_answer_is_overdue_after_5_seconds_under_contention() {
        let owner = AnswerOwner {
            unread: Arc::new(UnreadAnswers::new(Metrics::new().unread().clone())),
            tenant: uuid::Uuid::nil(),
            connection: ConnectionSpace::default(),
        };
        let late = Instant::now() + 100 * SECOND;
        let all = owner.reserve(1 << 30, late).await.ok().unwrap();
        let progress = ReadProgress::new(Some(Arc::new(all)));
        let _piece = piece(&progress);
        advance(7 * SECOND).await;
        assert_ne!(progress.status(), ReadStatus::Overdue, "nobody waits");
        let other = AnswerOwner {
            connection: ConnectionSpace::default(),
            ..owner
        };
        let waiting = tokio::spawn(async move { other.reserve(1, late).await.is_ok() });
        assert!(ends_after(&progress).await <= CHECK_INTERVAL);
        drop((_piece, progress));
        assert!(waiting.await.unwrap());
    }

    #[tokio::test(start_paused = true)]
    async fn an_ended_answer_waits_for_no_piece() {
        let progress = ReadProgress::new(None);
        let _piece = piece(&progress);
        let mut waits = Box::pin(std::future::poll_fn(|cx| progress.poll_sent(cx)));
        assert!(futures::future::poll_immediate(&mut waits).await.is_none());
        progress.end();
        waits.await;
        assert!(progress.has_ended());
    }
}
