//! Delays repeated refusals, so that a caller that keeps calling while it is over its limit does
//! not take CPU time from others.
//!
//! Only refusals pass through here, on the way out of `limits`. A client that waits for each answer
//! slows down if its answer is delayed, which costs one timer; a fast refusal would cost as much
//! reading and parsing as a served call. The first 20 refusals of a key are immediate, then 20 a
//! second; above that rate each waits about half a second. The number of waiting refusals is
//! bounded, and one that gets no permit is answered at once: this protects other callers, it is not
//! another limit.
//!
//! A delay helps little against large messages on many connections. A key that goes on at such a
//! rate is therefore *flooding*: until the refused call could pass, its large messages are refused
//! without being read.

use std::{collections::HashMap, time::Duration};

use parking_lot::Mutex;
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::{Instant, sleep},
};
use uuid::Uuid;

use super::outcome::ExceededLimit;
use crate::caller::Principal;

/// The average delay; see [`spread`].
const MEAN_DELAY: Duration = Duration::from_millis(500);
/// How much of the burst one immediate refusal uses up, and thus the interval between later ones.
const STEP: Duration = Duration::from_millis(50);
/// Burst capacity: 20 steps.
const BURST: Duration = Duration::from_secs(1);
/// Delayed refusals of all keys. Each holds its request, about 20 KiB.
const MOST_DELAYED: usize = 2_048;
/// Delayed refusals of one key.
const MOST_DELAYED_OF_KEY: u32 = 256;
/// Tracked keys. Refusals of further keys are immediate.
const MOST_KEYS: usize = 100_000;
/// Number of tracked keys below which no sweep runs.
const FEW_KEYS: usize = 1_024;
/// Least time between sweeps, so that a full table is not scanned on every refusal.
const SWEEP: Duration = Duration::from_secs(1);

/// Recent refusals by key.
pub(super) struct RefusalDelay {
    keys: Mutex<TrackedKeys>,
    permits: Semaphore,
}

type CallerKey = (Uuid, String);

struct TrackedKeys {
    refused: HashMap<CallerKey, RecentRefusals>,
    /// The table size at which the next sweep runs.
    sweep_at: usize,
    swept: Option<Instant>,
}

/// Recent refusals of one key.
struct RecentRefusals {
    /// When the burst is full again.
    arrival: Instant,
    delayed: u32,
    /// How many refusals were delayed so far; wraps.
    total: u32,
    /// The limit that refused this key, as of `since`.
    over: ExceededLimit,
    since: Instant,
}

impl RecentRefusals {
    fn is_expired(&self, now: Instant) -> bool {
        self.delayed == 0 && self.arrival <= now
    }

    /// The exceeded limit, if it would still refuse.
    fn still_exceeded(&self, now: Instant) -> Option<ExceededLimit> {
        self.over.still(now - self.since)
    }

    /// Whether the next refusal would be delayed.
    fn is_flooding(&self, now: Instant) -> bool {
        self.arrival.max(now) + STEP > now + BURST
    }
}

impl RefusalDelay {
    pub(super) fn new() -> Self {
        RefusalDelay {
            keys: Mutex::new(TrackedKeys {
                refused: HashMap::new(),
                sweep_at: FEW_KEYS,
                swept: None,
            }),
            permits: Semaphore::new(MOST_DELAYED),
        }
    }

    /// Waits for as long as this caller's refusal is delayed. Returns the refusal with the wait
    /// that is left.
    pub(super) async fn wait(&self, who: &Principal, over: ExceededLimit) -> ExceededLimit {
        let Some(permit) = self.permit(key(who), &over) else {
            return over;
        };
        sleep(permit.wait).await;
        over.after(permit.wait)
    }

    /// The exceeded limit of this caller, if it is flooding.
    pub(super) fn flood(&self, who: &Principal) -> Option<ExceededLimit> {
        let now = Instant::now();
        let keys = self.keys.lock();
        let recent = keys.refused.get(&key(who))?;
        recent
            .still_exceeded(now)
            .filter(|_| recent.is_flooding(now))
    }

    /// A permit to delay the refusal. `None` if it is to be answered at once.
    fn permit(&self, key: CallerKey, over: &ExceededLimit) -> Option<DelayPermit<'_>> {
        let now = Instant::now();
        let mut keys = self.keys.lock();
        let recent = keys.recent(&key, over, now)?;
        if recent.still_exceeded(now).is_none() {
            (recent.over, recent.since) = (over.clone(), now);
        }
        let waits = recent.is_flooding(now);
        recent.arrival = (recent.arrival.max(now) + STEP).min(now + BURST);
        if !waits {
            return None;
        }
        if recent.delayed >= MOST_DELAYED_OF_KEY {
            return None;
        }
        // `try_acquire` never waits: a full house means an immediate answer.
        let permit = self.permits.try_acquire().ok()?;
        recent.delayed += 1;
        let wait = spread(recent.total);
        recent.total = recent.total.wrapping_add(1);
        Some(DelayPermit {
            wait,
            key,
            keys: &self.keys,
            _permit: permit,
        })
    }
}

impl TrackedKeys {
    /// The entry of a key. `None` if the table is full.
    fn recent(
        &mut self,
        key: &CallerKey,
        over: &ExceededLimit,
        now: Instant,
    ) -> Option<&mut RecentRefusals> {
        if !self.refused.contains_key(key) {
            let rests = self.swept.is_some_and(|swept| now < swept + SWEEP);
            if self.refused.len() >= self.sweep_at && !rests {
                self.swept = Some(now);
                self.refused.retain(|_, recent| !recent.is_expired(now));
                self.sweep_at = (2 * self.refused.len()).clamp(FEW_KEYS, MOST_KEYS);
            }
            if self.refused.len() >= MOST_KEYS {
                return None;
            }
            let recent = RecentRefusals {
                arrival: now,
                delayed: 0,
                total: 0,
                over: over.clone(),
                since: now,
            };
            self.refused.insert(key.clone(), recent);
        }
        self.refused.get_mut(key)
    }
}

/// The delay of the `number`th refusal: 0.5 to 1.5 times [`MEAN_DELAY`], so that clients that were
/// refused together do not all return together. Multiples of the golden ratio spread evenly for any
/// count (Knuth, TAOCP 3, 6.4). Number 0 waits for exactly [`MEAN_DELAY`].
fn spread(number: u32) -> Duration {
    const GOLDEN: u32 = 0x9E37_79B9;
    let share = number.wrapping_mul(GOLDEN).wrapping_add(1 << 31);
    MEAN_DELAY / 2 + MEAN_DELAY.mul_f64(f64::from(share) / 2_f64.powi(32))
}

fn key(who: &Principal) -> CallerKey {
    (who.tenant_id(), who.name().to_owned())
}

/// A delayed refusal's permit, returned once it was answered or its client disconnected.
struct DelayPermit<'a> {
    wait: Duration,
    key: CallerKey,
    keys: &'a Mutex<TrackedKeys>,
    _permit: SemaphorePermit<'a>,
}

impl Drop for DelayPermit<'_> {
    fn drop(&mut self) {
        if let Some(recent) = self.keys.lock().refused.get_mut(&self.key) {
            recent.delayed -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures::poll;
    use tokio::time::advance;

    use super::*;
    use crate::{
        limits::{
            cost::{Bill, Charge, FULL, Verdict},
            outcome::interpret,
        },
        terms::Level,
    };

    /// An exceeded limit that lasts this long.
    fn over(seconds: u64) -> ExceededLimit {
        let bill = Bill::for_tests(&[Charge::for_tests(1, Level::Key, 60, 1)]);
        let debt = FULL - 1_000_000 + 1_000_000 * seconds;
        interpret(&bill, &Verdict::Refused([debt, 0, 0, 0, 0, 0])).unwrap_err()
    }

    fn numbered(number: u128) -> CallerKey {
        (Uuid::from_u128(number), "key:1".to_owned())
    }

    fn immediate(delay: &RefusalDelay, number: u128, of: usize) -> usize {
        let mut waiting = Vec::new();
        waiting.extend((0..of).filter_map(|_| delay.permit(numbered(number), &over(1))));
        of - waiting.len()
    }

    #[tokio::test(start_paused = true)]
    async fn twenty_refusals_are_immediate_and_then_twenty_a_second() {
        let delay = RefusalDelay::new();
        assert_eq!(immediate(&delay, 1, 100), 20);
        assert_eq!(immediate(&delay, 2, 10), 10);
        advance(Duration::from_millis(500)).await;
        assert_eq!(immediate(&delay, 1, 100), 10);
        advance(Duration::from_secs(60)).await;
        assert_eq!(immediate(&delay, 1, 100), 20);
    }

    #[tokio::test(start_paused = true)]
    async fn further_refusals_wait_half_a_second() {
        let (delay, began) = (RefusalDelay::new(), Instant::now());
        let who = Principal::named_for_tests("key:1");
        for _ in 0..20 {
            assert_eq!(delay.wait(&who, over(1)).await, over(1));
        }
        assert_eq!(began.elapsed(), Duration::ZERO);
        // The burst is used up by now.
        let delayed = delay.wait(&who, over(1)).await;
        assert_eq!(
            (delayed, began.elapsed()),
            (over(1).after(MEAN_DELAY), MEAN_DELAY)
        );
        let other = Principal::named_for_tests("key:2");
        delay.wait(&other, over(1)).await;
        assert_eq!(began.elapsed(), MEAN_DELAY);
    }

    #[test]
    fn refusals_that_came_together_are_answered_at_different_times() {
        let mut waits: Vec<Duration> = (0..MOST_DELAYED_OF_KEY).map(spread).collect();
        waits.sort_unstable();
        assert!(
            waits.first() >= Some(&(MEAN_DELAY / 2)) && waits.last() < Some(&(MEAN_DELAY * 3 / 2))
        );
        let apart = waits.windows(2).map(|pair| pair[1] - pair[0]);
        assert!(apart.max().unwrap() <= 2 * MEAN_DELAY / MOST_DELAYED_OF_KEY);
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_is_refused_by_its_first_limit_until_that_would_admit() {
        let delay = RefusalDelay::new();
        let who = Principal::named_for_tests("key:1");
        for _ in 0..20 {
            assert_eq!(delay.flood(&who), None);
            delay.wait(&who, over(2)).await;
        }
        assert_eq!(delay.flood(&who), Some(over(2)));
        assert_eq!(delay.flood(&Principal::named_for_tests("key:2")), None);
        // A client that waits for its answers is not flooding, and the first exceeded limit stays
        // recorded.
        delay.wait(&who, over(60)).await;
        assert_eq!(delay.flood(&who), None);
        let go_on = || (0..20).for_each(|_| drop(delay.permit(key(&who), &over(60))));
        go_on();
        assert_eq!(delay.flood(&who), Some(over(2).after(MEAN_DELAY)));
        advance(Duration::from_secs(2) - MEAN_DELAY - STEP / 2).await;
        go_on();
        assert!(delay.flood(&who).is_some());
        advance(STEP / 2).await;
        assert_eq!(delay.flood(&who), None);
        go_on();
        assert_eq!(delay.flood(&who), Some(over(60)));
    }

    #[tokio::test(start_paused = true)]
    async fn permits_are_bounded_per_key_and_in_total_and_returned() {
        let delay = RefusalDelay::new();
        let flood = |number, of| -> Vec<DelayPermit<'_>> {
            (0..of)
                .filter_map(|_| delay.permit(numbered(number), &over(1)))
                .collect()
        };
        let most = MOST_DELAYED_OF_KEY as usize;
        let first = flood(0, 1_000);
        assert_eq!(first.len(), most);
        let others: Vec<_> = (1..20).map(|number| flood(number, 1_000)).collect();
        let delayed = others.iter().map(Vec::len).sum::<usize>();
        assert_eq!(delayed + most, MOST_DELAYED);
        drop(first);
        assert_eq!(flood(0, 1_000).len(), most);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_disconnects_returns_its_permit() {
        let delay = Arc::new(RefusalDelay::new());
        let who = Principal::named_for_tests("key:1");
        for _ in 0..20 {
            delay.wait(&who, over(1)).await;
        }
        {
            let mut waiting = Box::pin(delay.wait(&who, over(1)));
            assert!(poll!(&mut waiting).is_pending());
            assert_eq!(delay.permits.available_permits(), MOST_DELAYED - 1);
        }
        assert_eq!(delay.permits.available_permits(), MOST_DELAYED);
        let keys = delay.keys.lock();
        assert!(keys.refused.values().all(|recent| recent.delayed == 0));
    }

    #[tokio::test(start_paused = true)]
    async fn keys_without_recent_refusals_are_forgotten() {
        let delay = RefusalDelay::new();
        for number in 0..10_000 {
            delay.permit(numbered(number), &over(1));
            advance(Duration::from_millis(10)).await;
        }
        let kept = delay.keys.lock().refused.len();
        assert!(kept <= FEW_KEYS, "{kept}");
    }
    #[tokio::test(start_paused = true)]
    async fn a_full_table_is_swept_at_most_once_a_second() {
        let delay = RefusalDelay::new();
        let comes = |number| {
            delay.permit(numbered(number), &over(1));
            delay.keys.lock().refused.contains_key(&numbered(number))
        };
        let most = u128::try_from(MOST_KEYS).unwrap();
        assert!((0..most).all(comes));
        advance(SWEEP - Duration::from_millis(1)).await;
        assert!(!comes(most), "swept less than a second ago");
        advance(Duration::from_millis(1)).await;
        assert!(comes(most));
        assert_eq!(delay.keys.lock().refused.len(), 1);
    }
}
