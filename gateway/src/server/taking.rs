//! The clock of one answer: how long its client may leave it where it is.
//!
//! A client has 30 s of credit while there is something for it to take. Each 4 KiB that it takes earn
//! a second, up to 30 s again. So an answer of which nothing is taken ends after 30 s, and one that
//! is taken at less than 4 KiB a second ends later; nothing else that happens on its connection
//! counts. While others wait for the room that it keeps, an answer ends 5 s after the last byte.
//!
//! What a reader would get wrong: taken is what the socket has, not what hyper has. Each piece of an
//! answer tells when it is dropped.

use std::{
    sync::{Arc, Weak},
    task::{Context, Poll},
    time::Duration,
};

use axum::body::Bytes;
use futures::task::AtomicWaker;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::unread::Room;

/// What a client has at first, and at most.
const CREDIT: Duration = Duration::from_secs(30);
/// Bytes that earn a second.
const EARNING: usize = 4 * 1024;
/// How long an answer may stand still while others wait for its room.
const PRESSED: Duration = Duration::from_secs(5);
/// How often it is asked whether others do.
const ASKED: Duration = Duration::from_secs(1);

/// One answer on its way to its client. Clones are the same answer.
#[derive(Clone)]
pub(super) struct Taking(Arc<Shared>);

/// The same for who looks on: the answer may be gone.
#[derive(Clone, Debug)]
pub(super) struct Watch(Weak<Shared>);

struct Shared {
    clock: Mutex<Clock>,
    /// Who waits for a piece to be taken.
    waits: AtomicWaker,
    /// Until the answer and all of its pieces are gone.
    room: Option<Arc<Room>>,
}

#[derive(Debug)]
struct Clock {
    credit: Duration,
    /// Since when there is something to take, or since when the last of it was taken.
    since: Option<Instant>,
    /// Bytes that were handed over and are not taken.
    out: usize,
    ended: bool,
}

/// What an answer's clock says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// The answer waits for us.
    Owed,
    /// It has to be looked at again by then.
    Until(Instant),
    Overdue,
}

impl Clock {
    fn new() -> Self {
        Clock {
            credit: CREDIT,
            since: None,
            out: 0,
            ended: false,
        }
    }

    fn give(&mut self, bytes: usize, now: Instant) {
        self.since.get_or_insert(now);
        self.out += bytes;
    }

    fn taken(&mut self, bytes: usize, now: Instant) {
        self.out = self.out.saturating_sub(bytes);
        let earned = Duration::from_secs(1).mul_f64(bytes as f64 / EARNING as f64);
        self.settle(now);
        self.credit = CREDIT.min(self.credit + earned);
        self.since = Some(now);
    }

    /// Nothing is there to be taken.
    fn owe(&mut self, now: Instant) {
        if self.out == 0 {
            self.settle(now);
            self.since = None;
        }
    }

    fn settle(&mut self, now: Instant) {
        let spent = self.since.map(|since| now.saturating_duration_since(since));
        self.credit = self.credit.saturating_sub(spent.unwrap_or_default());
    }

    fn look(&self, room: Option<&Room>, now: Instant) -> Look {
        let Some(since) = self.since else {
            return Look::Owed;
        };
        let mut until = since + self.credit;
        if let Some(room) = room {
            let still = since + PRESSED;
            if now >= still && room.is_pressed() {
                return Look::Overdue;
            }
            until = until.min(still.max(now + ASKED));
        }
        if since + self.credit <= now {
            return Look::Overdue;
        }
        Look::Until(until)
    }
}

impl Taking {
    pub(super) fn new(room: Option<Arc<Room>>) -> Self {
        Taking(Arc::new(Shared {
            clock: Mutex::new(Clock::new()),
            waits: AtomicWaker::new(),
            room,
        }))
    }

    pub(super) fn watch(&self) -> Watch {
        Watch(Arc::downgrade(&self.0))
    }

    /// The bytes as they are handed over: they tell when they are taken.
    pub(super) fn hand_over(&self, bytes: Bytes) -> Bytes {
        self.0.clock.lock().give(bytes.len(), Instant::now());
        Bytes::from_owner(Piece {
            bytes,
            answer: self.0.clone(),
        })
    }

    /// There is nothing to hand over at the moment.
    pub(super) fn owe(&self) {
        self.0.clock.lock().owe(Instant::now());
    }

    /// Ready once all that was handed over is taken.
    pub(super) fn poll_taken(&self, cx: &mut Context<'_>) -> Poll<()> {
        if self.is_taken() {
            return Poll::Ready(());
        }
        self.0.waits.register(cx.waker());
        match self.is_taken() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }

    /// Whether all that was handed over is taken. Of an answer that was ended nothing will be.
    pub(super) fn is_taken(&self) -> bool {
        let clock = self.0.clock.lock();
        clock.out == 0 || clock.ended
    }

    /// Its client had its time.
    pub(super) fn end(&self) {
        self.0.clock.lock().ended = true;
        self.0.waits.wake();
    }

    pub(super) fn has_ended(&self) -> bool {
        self.0.clock.lock().ended
    }

    pub(super) fn look(&self) -> Look {
        self.0.look()
    }
}

impl Watch {
    /// `Owed` as well if the answer is gone.
    pub(super) fn look(&self) -> Look {
        let answer = self.0.upgrade();
        answer.map_or(Look::Owed, |answer| answer.look())
    }
}

impl Shared {
    fn look(&self) -> Look {
        let clock = self.clock.lock();
        clock.look(self.room.as_deref(), Instant::now())
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.clock.lock().fmt(to)
    }
}

/// A piece of an answer, on its way.
struct Piece {
    bytes: Bytes,
    answer: Arc<Shared>,
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        let Shared { clock, waits, .. } = &*self.answer;
        clock.lock().taken(self.bytes.len(), Instant::now());
        waits.wake();
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;
    use crate::{
        metrics::Metrics,
        unread::{Asker, ConnectionRoom, UnreadAnswers},
    };

    const SECOND: Duration = Duration::from_secs(1);

    fn piece(taking: &Taking) -> Bytes {
        taking.hand_over(Bytes::from(vec![0; EARNING]))
    }

    /// When it is overdue, if nothing more happens.
    async fn ends_after(taking: &Taking) -> Duration {
        let start = Instant::now();
        while let Look::Until(until) = taking.look() {
            tokio::time::sleep_until(until).await;
        }
        assert_eq!(taking.look(), Look::Overdue);
        start.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_of_which_nothing_is_taken_is_overdue_after_30_seconds() {
        let taking = Taking::new(None);
        assert_eq!(taking.look(), Look::Owed);
        let _piece = piece(&taking);
        assert!(!taking.is_taken());
        assert_eq!(ends_after(&taking).await, CREDIT);
        assert_eq!(taking.watch().look(), Look::Overdue);
    }

    #[tokio::test(start_paused = true)]
    async fn who_takes_4_kib_a_second_has_all_the_time_it_needs() {
        let taking = Taking::new(None);
        for _ in 0..600 {
            let piece = piece(&taking);
            advance(SECOND).await;
            assert_ne!(taking.look(), Look::Overdue);
            drop(piece);
        }
        assert!(taking.is_taken());
        let _piece = piece(&taking);
        assert!(ends_after(&taking).await > CREDIT - SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn who_takes_a_piece_now_and_then_is_overdue_before_long() {
        let taking = Taking::new(None);
        let mut pieces = 0;
        loop {
            let piece = piece(&taking);
            advance(9 * SECOND).await;
            if taking.look() == Look::Overdue {
                break;
            }
            drop(piece);
            pieces += 1;
        }
        assert_eq!(pieces, 3);
    }

    #[tokio::test(start_paused = true)]
    async fn while_an_answer_waits_for_us_its_clock_stands_still() {
        let taking = Taking::new(None);
        drop(piece(&taking));
        taking.owe();
        advance(1_000 * SECOND).await;
        assert_eq!(taking.look(), Look::Owed);
        let _piece = piece(&taking);
        taking.owe();
        assert_eq!(
            ends_after(&taking).await,
            CREDIT,
            "it has something to take"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_stands_still_makes_room_for_others_after_5_seconds() {
        let asker = Asker {
            unread: Arc::new(UnreadAnswers::new(Metrics::new().unread().clone())),
            tenant: uuid::Uuid::nil(),
            connection: ConnectionRoom::default(),
        };
        let late = Instant::now() + 100 * SECOND;
        let all = asker.room(1 << 30, late).await.ok().unwrap();
        let taking = Taking::new(Some(Arc::new(all)));
        let _piece = piece(&taking);
        advance(7 * SECOND).await;
        assert_ne!(taking.look(), Look::Overdue, "nobody waits");
        let other = Asker {
            connection: ConnectionRoom::default(),
            ..asker
        };
        let waiting = tokio::spawn(async move { other.room(1, late).await.is_ok() });
        assert!(ends_after(&taking).await <= ASKED);
        drop((_piece, taking));
        assert!(waiting.await.unwrap());
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_was_ended_waits_for_no_piece() {
        let taking = Taking::new(None);
        let _piece = piece(&taking);
        let mut waits = Box::pin(std::future::poll_fn(|cx| taking.poll_taken(cx)));
        assert!(futures::future::poll_immediate(&mut waits).await.is_none());
        taking.end();
        waits.await;
        assert!(taking.has_ended());
    }
}
