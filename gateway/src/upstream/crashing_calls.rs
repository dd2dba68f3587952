//! Calls that crash workers: a call that lost two workers in ten minutes is refused for ten.
//!
//! A worker's crash counts against each call that was in flight on it, once per connection epoch
//! (`worker_state`), however many calls of the same digest it carried. An answer clears a call, and
//! a call that was answered shortly before has its first loss forgiven too. Otherwise two crashes
//! with another cause would get the most common calls refused, because those were in flight on both
//! workers. A worker that comes back as the same process was only unreachable (frozen or
//! disconnected), so those losses are forgiven.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use aws_lc_rs::digest::{Context, SHA256};
use tokio::time::Instant;
use uuid::Uuid;

/// Period within which two losses make a call a crasher, and for which it is then refused.
const WINDOW: Duration = Duration::from_secs(600);
/// Losses that make a call a crasher.
const TOO_MANY: usize = 2;
/// Calls whose losses are remembered.
const MOST: usize = 10_000;
/// Answered calls remembered in each of two generations.
const MOST_ANSWERED: usize = 10_000;

/// Identifies a call: tenant, method and params, which include the tool and its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct CallDigest([u8; 16]);

impl CallDigest {
    /// The first half of a SHA-256.
    pub(super) fn of(tenant: Uuid, method: &str, params: &[u8]) -> Self {
        let mut context = Context::new(&SHA256);
        context.update(tenant.as_bytes());
        // No method name contains a NUL.
        context.update(method.as_bytes());
        context.update(&[0]);
        context.update(params);
        let mut half = [0; 16];
        let whole = context.finish();
        half.iter_mut()
            .zip(whole.as_ref())
            .for_each(|(half, whole)| *half = *whole);
        CallDigest(half)
    }
}

/// Losses of workers by call. A plain state machine: the caller passes the time.
#[derive(Debug, Default)]
pub(super) struct CrashingCalls {
    calls: HashMap<CallDigest, Losses>,
    answered: HashSet<CallDigest>,
    answered_before: HashSet<CallDigest>,
    /// When `answered` was started.
    since: Option<Instant>,
}

#[derive(Debug)]
struct Losses {
    /// Epochs of lost connections, at most [`TOO_MANY`] and a forgiven one.
    epochs: Vec<u64>,
    /// The number of losses to refuse at: one more if the first is forgiven.
    too_many: usize,
    /// When the last counted loss happened.
    at: Instant,
}

impl Losses {
    fn are_too_many(&self) -> bool {
        self.epochs.len() >= self.too_many
    }
}

impl CrashingCalls {
    /// Whether no call has recent losses, so that none is refused. Expired losses may remain for
    /// half of [`WINDOW`].
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Records that a call's connection was lost in this epoch. Returns whether the call is a
    /// crasher now.
    pub(super) fn lost(&mut self, call: CallDigest, epoch: u64, now: Instant) -> bool {
        let over = |losses: &mut Losses| now - losses.at >= WINDOW;
        if self.calls.get_mut(&call).is_some_and(over) {
            self.calls.remove(&call);
        }
        self.make_room(call, now);
        let known = self.answered.contains(&call) || self.answered_before.contains(&call);
        let losses = self.calls.entry(call).or_insert(Losses {
            epochs: Vec::new(),
            too_many: TOO_MANY + usize::from(known),
            at: now,
        });
        if !losses.epochs.contains(&epoch) && !losses.are_too_many() {
            losses.epochs.push(epoch);
            losses.at = now;
        }
        losses.are_too_many()
    }

    /// How long the call is still refused, if it is.
    pub(super) fn refused(&self, call: CallDigest, now: Instant) -> Option<Duration> {
        let losses = self.calls.get(&call).filter(|one| one.are_too_many())?;
        WINDOW
            .checked_sub(now - losses.at)
            .filter(|left| !left.is_zero())
    }

    /// The call was answered, so it did not cause the losses that it saw.
    pub(super) fn answered(&mut self, call: CallDigest, now: Instant) {
        self.calls.remove(&call);
        let since = *self.since.get_or_insert(now);
        if self.answered.len() >= MOST_ANSWERED || now - since >= WINDOW / 2 {
            self.answered_before = std::mem::take(&mut self.answered);
            self.since = Some(now);
            self.calls.retain(|_, losses| now - losses.at < WINDOW);
        }
        self.answered.insert(call);
    }

    /// The workers of these connection epochs had not crashed: no call caused those losses.
    pub(super) fn forgive(&mut self, epochs: &[u64]) {
        self.calls.retain(|_, losses| {
            losses.epochs.retain(|epoch| !epochs.contains(epoch));
            !losses.epochs.is_empty()
        });
    }

    /// Makes room for a new call: drops expired entries, then the oldest.
    fn make_room(&mut self, call: CallDigest, now: Instant) {
        if self.calls.len() < MOST || self.calls.contains_key(&call) {
            return;
        }
        self.calls.retain(|_, losses| now - losses.at < WINDOW);
        let oldest = self.calls.iter().min_by_key(|(_, losses)| losses.at);
        if let Some(oldest) = oldest.map(|(call, _)| *call)
            && self.calls.len() >= MOST
        {
            self.calls.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[test]
    fn losses_of_workers_that_did_not_crash_are_forgiven() {
        let (mut crashing, now) = (CrashingCalls::default(), Instant::now());
        let call = CallDigest::of(Uuid::nil(), "tools/call", b"{}");
        assert!(!crashing.lost(call, 1, now));
        assert!(crashing.lost(call, 2, now));
        crashing.forgive(&[1]);
        assert_eq!(crashing.refused(call, now), None);
        assert!(crashing.lost(call, 3, now), "the other loss still counts");
        crashing.forgive(&[2, 3]);
        assert!(crashing.is_empty());
    }

    fn call(number: u128) -> CallDigest {
        CallDigest::of(Uuid::from_u128(number), "tools/call", b"{}")
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_lost_two_workers_is_refused_for_ten_minutes() {
        let mut crashing = CrashingCalls::default();
        assert!(!crashing.lost(call(1), 1, Instant::now()));
        assert_eq!(crashing.refused(call(1), Instant::now()), None);
        advance(WINDOW - Duration::from_secs(1)).await;
        assert!(crashing.lost(call(1), 2, Instant::now()));
        assert_eq!(crashing.refused(call(1), Instant::now()), Some(WINDOW));
        assert_eq!(crashing.refused(call(2), Instant::now()), None);
        advance(WINDOW).await;
        assert_eq!(crashing.refused(call(1), Instant::now()), None);
        assert!(
            !crashing.lost(call(1), 3, Instant::now()),
            "counted from zero"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn many_calls_on_one_crashed_worker_count_once() {
        let mut crashing = CrashingCalls::default();
        for _ in 0..100 {
            assert!(!crashing.lost(call(1), 7, Instant::now()));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn losses_ten_minutes_apart_do_not_add_up() {
        let mut crashing = CrashingCalls::default();
        crashing.lost(call(1), 1, Instant::now());
        advance(WINDOW).await;
        assert!(!crashing.lost(call(1), 2, Instant::now()));
        assert!(crashing.lost(call(1), 3, Instant::now()));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_clears_the_call_and_forgives_its_next_loss() {
        let mut crashing = CrashingCalls::default();
        crashing.lost(call(1), 1, Instant::now());
        crashing.answered(call(1), Instant::now());
        assert!(!crashing.lost(call(1), 2, Instant::now()), "forgiven");
        assert!(
            !crashing.lost(call(1), 2, Instant::now()),
            "the same worker"
        );
        assert!(!crashing.lost(call(1), 3, Instant::now()));
        assert!(crashing.lost(call(1), 4, Instant::now()));
    }

    #[tokio::test(start_paused = true)]
    async fn an_old_answer_forgives_nothing() {
        let mut crashing = CrashingCalls::default();
        crashing.answered(call(1), Instant::now());
        for _ in 0..2 {
            advance(WINDOW / 2).await;
            crashing.answered(call(2), Instant::now());
            crashing.answered(call(3), Instant::now());
        }
        advance(WINDOW / 2).await;
        crashing.answered(call(4), Instant::now());
        assert!(!crashing.lost(call(1), 1, Instant::now()));
        assert!(crashing.lost(call(1), 2, Instant::now()));
    }

    #[tokio::test(start_paused = true)]
    async fn expired_losses_are_dropped_by_later_answers() {
        let mut crashing = CrashingCalls::default();
        crashing.lost(call(1), 1, Instant::now());
        crashing.answered(call(2), Instant::now());
        assert!(!crashing.is_empty());
        advance(WINDOW).await;
        crashing.answered(call(2), Instant::now());
        assert!(crashing.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn remembered_answers_are_bounded() {
        let mut crashing = CrashingCalls::default();
        for number in 0..3 * MOST_ANSWERED {
            crashing.answered(call(number as u128), Instant::now());
        }
        let kept = crashing.answered.len() + crashing.answered_before.len();
        assert_eq!(kept, 2 * MOST_ANSWERED);
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_of_ten_thousand_calls_makes_room() {
        let mut crashing = CrashingCalls::default();
        for number in 0..=MOST {
            crashing.lost(call(number as u128), 1, Instant::now());
            advance(Duration::from_millis(1)).await;
        }
        assert_eq!(crashing.calls.len(), MOST);
        assert!(!crashing.lost(call(0), 2, Instant::now()), "was forgotten");
        assert!(crashing.lost(call(MOST as u128), 2, Instant::now()));
        advance(WINDOW).await;
        crashing.lost(call(u128::MAX), 1, Instant::now());
        assert_eq!(crashing.calls.len(), 1, "expired entries go first");
    }

    #[test]
    fn tenant_and_params_make_the_digest() {
        let of = |tenant, params| CallDigest::of(Uuid::from_u128(tenant), "tools/call", params);
        assert_eq!(of(1, b"a"), of(1, b"a"));
        assert_ne!(of(1, b"a"), of(2, b"a"));
        assert_ne!(of(1, b"a"), of(1, b"b"));
    }
}
