//! Calls that kill: who lost two workers in ten minutes is refused for ten.
//!
//! A worker's end is counted against each call that was in flight on it, once for each life of a
//! connection (`standing`), however many calls of the same digest it carried. An answer clears the
//! call; one that was answered shortly before has its first loss forgiven, too. Otherwise two
//! workers that die of something else would have the commonest calls refused, which were in
//! flight on both. And a worker that is back as the same process was only out of reach: frozen, or
//! cut off.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use aws_lc_rs::digest::{Context, SHA256};
use tokio::time::Instant;
use uuid::Uuid;

/// Within which two losses make a call deadly, and for how long it is then refused.
const WINDOW: Duration = Duration::from_secs(600);
/// Losses that make a call deadly.
const TOO_MANY: usize = 2;
/// Calls whose losses are remembered.
const MOST: usize = 10_000;
/// Answered calls that are remembered, twice: these, and as many before them.
const MOST_ANSWERED: usize = 10_000;

/// What a call is known by: tenant, method and params, of which the tool and its arguments are all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Digest([u8; 16]);

impl Digest {
    /// The first half of a SHA-256.
    pub(super) fn of(tenant: Uuid, method: &str, params: &[u8]) -> Self {
        let mut context = Context::new(&SHA256);
        context.update(tenant.as_bytes());
        // No method's name has a NUL.
        context.update(method.as_bytes());
        context.update(&[0]);
        context.update(params);
        let mut half = [0; 16];
        let whole = context.finish();
        half.iter_mut()
            .zip(whole.as_ref())
            .for_each(|(half, whole)| *half = *whole);
        Digest(half)
    }
}

/// The calls that lost workers. A plain state machine: the caller brings the time.
#[derive(Debug, Default)]
pub(super) struct Deadly {
    calls: HashMap<Digest, Losses>,
    answered: HashSet<Digest>,
    answered_before: HashSet<Digest>,
    /// When `answered` was begun.
    since: Option<Instant>,
}

#[derive(Debug)]
struct Losses {
    /// The lives of connections that were lost, at most [`TOO_MANY`] and a forgiven one.
    epochs: Vec<u64>,
    /// How many are too many: one more if the first was forgiven.
    too_many: usize,
    /// When the last loss that counted was.
    at: Instant,
}

impl Losses {
    fn are_too_many(&self) -> bool {
        self.epochs.len() >= self.too_many
    }
}

impl Deadly {
    /// Whether no call was lost lately: then none is refused. What is over may still be here for as
    /// long as half of [`WINDOW`].
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// A call's connection was lost in this life of it; whether the call is deadly now.
    pub(super) fn lost(&mut self, call: Digest, epoch: u64, now: Instant) -> bool {
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
    pub(super) fn refused(&self, call: Digest, now: Instant) -> Option<Duration> {
        let losses = self.calls.get(&call).filter(|one| one.are_too_many())?;
        WINDOW
            .checked_sub(now - losses.at)
            .filter(|left| !left.is_zero())
    }

    /// The call was answered: what was lost beside it was not its doing.
    pub(super) fn answered(&mut self, call: Digest, now: Instant) {
        self.calls.remove(&call);
        let since = *self.since.get_or_insert(now);
        if self.answered.len() >= MOST_ANSWERED || now - since >= WINDOW / 2 {
            self.answered_before = std::mem::take(&mut self.answered);
            self.since = Some(now);
            self.calls.retain(|_, losses| now - losses.at < WINDOW);
        }
        self.answered.insert(call);
    }

    /// The workers of these lives of connections had not ended: those losses were nobody's doing.
    pub(super) fn forgive(&mut self, epochs: &[u64]) {
        self.calls.retain(|_, losses| {
            losses.epochs.retain(|epoch| !epochs.contains(epoch));
            !losses.epochs.is_empty()
        });
    }

    /// Makes room for a call that is not known yet: what is over goes, then the oldest.
    fn make_room(&mut self, call: Digest, now: Instant) {
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
    fn losses_of_workers_that_had_not_ended_are_forgiven() {
        let (mut deadly, now) = (Deadly::default(), Instant::now());
        let call = Digest::of(Uuid::nil(), "tools/call", b"{}");
        assert!(!deadly.lost(call, 1, now));
        assert!(deadly.lost(call, 2, now));
        deadly.forgive(&[1]);
        assert_eq!(deadly.refused(call, now), None);
        assert!(deadly.lost(call, 3, now), "the other loss still counts");
        deadly.forgive(&[2, 3]);
        assert!(deadly.is_empty());
    }

    fn call(number: u128) -> Digest {
        Digest::of(Uuid::from_u128(number), "tools/call", b"{}")
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_lost_two_workers_is_refused_for_ten_minutes() {
        let mut deadly = Deadly::default();
        assert!(!deadly.lost(call(1), 1, Instant::now()));
        assert_eq!(deadly.refused(call(1), Instant::now()), None);
        advance(WINDOW - Duration::from_secs(1)).await;
        assert!(deadly.lost(call(1), 2, Instant::now()));
        assert_eq!(deadly.refused(call(1), Instant::now()), Some(WINDOW));
        assert_eq!(deadly.refused(call(2), Instant::now()), None);
        advance(WINDOW).await;
        assert_eq!(deadly.refused(call(1), Instant::now()), None);
        assert!(!deadly.lost(call(1), 3, Instant::now()), "counted anew");
    }

    #[tokio::test(start_paused = true)]
    async fn many_calls_on_one_dying_worker_count_once() {
        let mut deadly = Deadly::default();
        for _ in 0..100 {
            assert!(!deadly.lost(call(1), 7, Instant::now()));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn losses_that_are_ten_minutes_apart_are_two_accidents() {
        let mut deadly = Deadly::default();
        deadly.lost(call(1), 1, Instant::now());
        advance(WINDOW).await;
        assert!(!deadly.lost(call(1), 2, Instant::now()));
        assert!(deadly.lost(call(1), 3, Instant::now()));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_clears_the_call_and_forgives_its_next_loss() {
        let mut deadly = Deadly::default();
        deadly.lost(call(1), 1, Instant::now());
        deadly.answered(call(1), Instant::now());
        assert!(!deadly.lost(call(1), 2, Instant::now()), "forgiven");
        assert!(!deadly.lost(call(1), 2, Instant::now()), "the same worker");
        assert!(!deadly.lost(call(1), 3, Instant::now()));
        assert!(deadly.lost(call(1), 4, Instant::now()));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_of_long_ago_forgives_nothing() {
        let mut deadly = Deadly::default();
        deadly.answered(call(1), Instant::now());
        for _ in 0..2 {
            advance(WINDOW / 2).await;
            deadly.answered(call(2), Instant::now());
            deadly.answered(call(3), Instant::now());
        }
        advance(WINDOW / 2).await;
        deadly.answered(call(4), Instant::now());
        assert!(!deadly.lost(call(1), 1, Instant::now()));
        assert!(deadly.lost(call(1), 2, Instant::now()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_loss_that_is_over_is_looked_for_in_no_call_any_longer() {
        let mut deadly = Deadly::default();
        deadly.lost(call(1), 1, Instant::now());
        deadly.answered(call(2), Instant::now());
        assert!(!deadly.is_empty());
        advance(WINDOW).await;
        deadly.answered(call(2), Instant::now());
        assert!(deadly.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn answered_calls_are_remembered_within_a_bound() {
        let mut deadly = Deadly::default();
        for number in 0..3 * MOST_ANSWERED {
            deadly.answered(call(number as u128), Instant::now());
        }
        let kept = deadly.answered.len() + deadly.answered_before.len();
        assert_eq!(kept, 2 * MOST_ANSWERED);
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_of_ten_thousand_is_forgotten_for_one_more() {
        let mut deadly = Deadly::default();
        for number in 0..=MOST {
            deadly.lost(call(number as u128), 1, Instant::now());
            advance(Duration::from_millis(1)).await;
        }
        assert_eq!(deadly.calls.len(), MOST);
        assert!(!deadly.lost(call(0), 2, Instant::now()), "was forgotten");
        assert!(deadly.lost(call(MOST as u128), 2, Instant::now()));
        advance(WINDOW).await;
        deadly.lost(call(u128::MAX), 1, Instant::now());
        assert_eq!(deadly.calls.len(), 1, "what is over goes first");
    }

    #[test]
    fn tenant_and_params_make_the_digest() {
        let of = |tenant, params| Digest::of(Uuid::from_u128(tenant), "tools/call", params);
        assert_eq!(of(1, b"a"), of(1, b"a"));
        assert_ne!(of(1, b"a"), of(2, b"a"));
        assert_ne!(of(1, b"a"), of(1, b"b"));
    }
}
