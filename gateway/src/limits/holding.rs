//! Refusals that are not answered at once, so that who goes on calling while it is refused does not
//! take the time of others.
//!
//! Met on the way out of `limits`, by refusals alone. A client that waits for each answer before
//! it calls again can be slowed by waiting with the answer, at the price of a timer: refusing it as
//! fast as it asks would cost the same reading and parsing as serving it. A key is answered at once
//! 20 times and then 20 times a second; while it goes on faster, its refusals wait about half a second.
//! Those who wait are bounded, and whoever finds no place is answered at once: this is for the
//! others' comfort, not a limit of its own.
//!
//! Waiting helps little against large messages over many connections. So a key that goes on so fast
//! is a *flood*: what it was refused for tells, until that could pass, what becomes of its large
//! messages, and nobody has to read them.

use std::{collections::HashMap, time::Duration};

use parking_lot::Mutex;
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::{Instant, sleep},
};
use uuid::Uuid;

use super::outcome::Over;
use crate::caller::Principal;

/// How long a refusal waits in the middle; see [`spread`].
const HOLD: Duration = Duration::from_millis(500);
/// For each refusal that is answered at once, how much of the burst is used up, and until when.
const STEP: Duration = Duration::from_millis(50);
/// As much as 20 of them.
const BURST: Duration = Duration::from_secs(1);
/// Refusals that wait, in all. Each holds its request, about 20 KiB.
const MOST_HELD: usize = 2_048;
/// Of one key.
const MOST_HELD_OF_KEY: u32 = 256;
/// Keys that are told apart; others are answered at once.
const MOST_KEYS: usize = 100_000;
/// So many keys are kept without a look at whether they need be.
const FEW_KEYS: usize = 1_024;
/// Between two looks: those who find no room must not all look at all keys.
const SWEEP: Duration = Duration::from_secs(1);

/// The refusals of late.
pub(super) struct Holding {
    keys: Mutex<Keys>,
    places: Semaphore,
}

type Key = (Uuid, String);

struct Keys {
    refused: HashMap<Key, Recent>,
    /// How many keys there may be before those that were not refused of late are forgotten.
    enough: usize,
    swept: Option<Instant>,
}

/// What one key was refused of late.
struct Recent {
    /// When the burst is whole again.
    arrival: Instant,
    held: u32,
    /// How many waited so far; wraps.
    waited: u32,
    /// A refusal that was in force of late, and since when.
    over: Over,
    since: Instant,
}

impl Recent {
    fn is_past(&self, now: Instant) -> bool {
        self.held == 0 && self.arrival <= now
    }

    /// The refusal, if it is still in force.
    fn still_over(&self, now: Instant) -> Option<Over> {
        self.over.still(now - self.since)
    }

    /// Whether one more refusal would have to wait.
    fn is_flood(&self, now: Instant) -> bool {
        self.arrival.max(now) + STEP > now + BURST
    }
}

impl Holding {
    pub(super) fn new() -> Self {
        Holding {
            keys: Mutex::new(Keys {
                refused: HashMap::new(),
                enough: FEW_KEYS,
                swept: None,
            }),
            places: Semaphore::new(MOST_HELD),
        }
    }

    /// Waits with the refusal of this caller for as long as it should; the refusal as it is then.
    pub(super) async fn hold(&self, who: &Principal, over: Over) -> Over {
        let Some(place) = self.place(key(who), &over) else {
            return over;
        };
        sleep(place.wait).await;
        over.after(place.wait)
    }

    /// Why this caller is refused, if it goes on so fast that its refusals wait.
    pub(super) fn flood(&self, who: &Principal) -> Option<Over> {
        let now = Instant::now();
        let keys = self.keys.lock();
        let recent = keys.refused.get(&key(who))?;
        recent.still_over(now).filter(|_| recent.is_flood(now))
    }

    /// A place to wait in; `None` to be answered at once.
    fn place(&self, key: Key, over: &Over) -> Option<Place<'_>> {
        let now = Instant::now();
        let mut keys = self.keys.lock();
        let recent = keys.recent(&key, over, now)?;
        if recent.still_over(now).is_none() {
            (recent.over, recent.since) = (over.clone(), now);
        }
        let waits = recent.is_flood(now);
        recent.arrival = (recent.arrival.max(now) + STEP).min(now + BURST);
        if !waits {
            return None;
        }
        if recent.held >= MOST_HELD_OF_KEY {
            return None;
        }
        // Never waited for: there is room, or there is none.
        let permit = self.places.try_acquire().ok()?;
        recent.held += 1;
        let wait = spread(recent.waited);
        recent.waited = recent.waited.wrapping_add(1);
        Some(Place {
            wait,
            key,
            keys: &self.keys,
            _permit: permit,
        })
    }
}

impl Keys {
    /// What is known of a key; `None` if it is one too many.
    fn recent(&mut self, key: &Key, over: &Over, now: Instant) -> Option<&mut Recent> {
        if !self.refused.contains_key(key) {
            let rests = self.swept.is_some_and(|swept| now < swept + SWEEP);
            if self.refused.len() >= self.enough && !rests {
                self.swept = Some(now);
                self.refused.retain(|_, recent| !recent.is_past(now));
                self.enough = (2 * self.refused.len()).clamp(FEW_KEYS, MOST_KEYS);
            }
            if self.refused.len() >= MOST_KEYS {
                return None;
            }
            let recent = Recent {
                arrival: now,
                held: 0,
                waited: 0,
                over: over.clone(),
                since: now,
            };
            self.refused.insert(key.clone(), recent);
        }
        self.refused.get_mut(key)
    }
}

/// How long the refusal of this number waits: half to one and a half of [`HOLD`], so that those that
/// came together do not all come back together. Multiples of the golden ratio spread evenly, however
/// many there are (Knuth, TAOCP 3, 6.4); the first waits for [`HOLD`].
fn spread(number: u32) -> Duration {
    const GOLDEN: u32 = 0x9E37_79B9;
    let share = number.wrapping_mul(GOLDEN).wrapping_add(1 << 31);
    HOLD / 2 + HOLD.mul_f64(f64::from(share) / 2_f64.powi(32))
}

fn key(who: &Principal) -> Key {
    (who.tenant_id(), who.name().to_owned())
}

/// A refusal's place, given back when it was answered or its client has gone.
struct Place<'a> {
    wait: Duration,
    key: Key,
    keys: &'a Mutex<Keys>,
    _permit: SemaphorePermit<'a>,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if let Some(recent) = self.keys.lock().refused.get_mut(&self.key) {
            recent.held -= 1;
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
            charge::{Bill, Charge, FULL, Verdict},
            outcome::settle,
        },
        terms::Level,
    };

    /// A refusal for so long.
    fn over(seconds: u64) -> Over {
        let bill = Bill::for_tests(&[Charge::for_tests(1, Level::Key, 60, 1)]);
        let debt = FULL - 1_000_000 + 1_000_000 * seconds;
        settle(&bill, &Verdict::Refused([debt, 0, 0, 0, 0, 0])).unwrap_err()
    }

    fn numbered(number: u128) -> Key {
        (Uuid::from_u128(number), "key:1".to_owned())
    }

    fn at_once(holding: &Holding, number: u128, of: usize) -> usize {
        let mut waiting = Vec::new();
        waiting.extend((0..of).filter_map(|_| holding.place(numbered(number), &over(1))));
        of - waiting.len()
    }

    #[tokio::test(start_paused = true)]
    async fn twenty_refusals_are_answered_at_once_and_then_twenty_a_second() {
        let holding = Holding::new();
        assert_eq!(at_once(&holding, 1, 100), 20);
        assert_eq!(at_once(&holding, 2, 10), 10);
        advance(Duration::from_millis(500)).await;
        assert_eq!(at_once(&holding, 1, 100), 10);
        advance(Duration::from_secs(60)).await;
        assert_eq!(at_once(&holding, 1, 100), 20);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_more_waits_half_a_second() {
        let (holding, began) = (Holding::new(), Instant::now());
        let who = Principal::named_for_tests("key:1");
        for _ in 0..20 {
            assert_eq!(holding.hold(&who, over(1)).await, over(1));
        }
        assert_eq!(began.elapsed(), Duration::ZERO);
        // The next one finds the burst used up.
        let held = holding.hold(&who, over(1)).await;
        assert_eq!((held, began.elapsed()), (over(1).after(HOLD), HOLD));
        let other = Principal::named_for_tests("key:2");
        holding.hold(&other, over(1)).await;
        assert_eq!(began.elapsed(), HOLD);
    }

    #[test]
    fn refusals_that_came_together_are_answered_apart() {
        let mut waits: Vec<Duration> = (0..MOST_HELD_OF_KEY).map(spread).collect();
        waits.sort_unstable();
        assert!(waits.first() >= Some(&(HOLD / 2)) && waits.last() < Some(&(HOLD * 3 / 2)));
        let apart = waits.windows(2).map(|pair| pair[1] - pair[0]);
        assert!(apart.max().unwrap() <= 2 * HOLD / MOST_HELD_OF_KEY);
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_is_refused_for_what_refused_it_until_that_could_pass() {
        let holding = Holding::new();
        let who = Principal::named_for_tests("key:1");
        for _ in 0..20 {
            assert_eq!(holding.flood(&who), None);
            holding.hold(&who, over(2)).await;
        }
        assert_eq!(holding.flood(&who), Some(over(2)));
        assert_eq!(holding.flood(&Principal::named_for_tests("key:2")), None);
        // Who waits for its answers is none, and what refused it first stands.
        holding.hold(&who, over(60)).await;
        assert_eq!(holding.flood(&who), None);
        let go_on = || (0..20).for_each(|_| drop(holding.place(key(&who), &over(60))));
        go_on();
        assert_eq!(holding.flood(&who), Some(over(2).after(HOLD)));
        advance(Duration::from_secs(2) - HOLD - STEP / 2).await;
        go_on();
        assert!(holding.flood(&who).is_some());
        advance(STEP / 2).await;
        assert_eq!(holding.flood(&who), None);
        go_on();
        assert_eq!(holding.flood(&who), Some(over(60)));
    }

    #[tokio::test(start_paused = true)]
    async fn places_are_bounded_for_a_key_and_for_all_and_given_back() {
        let holding = Holding::new();
        let flood = |number, of| -> Vec<Place<'_>> {
            (0..of)
                .filter_map(|_| holding.place(numbered(number), &over(1)))
                .collect()
        };
        let most = MOST_HELD_OF_KEY as usize;
        let first = flood(0, 1_000);
        assert_eq!(first.len(), most);
        let others: Vec<_> = (1..20).map(|number| flood(number, 1_000)).collect();
        let held = others.iter().map(Vec::len).sum::<usize>();
        assert_eq!(held + most, MOST_HELD);
        drop(first);
        assert_eq!(flood(0, 1_000).len(), most);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_goes_away_gives_its_place_back() {
        let holding = Arc::new(Holding::new());
        let who = Principal::named_for_tests("key:1");
        for _ in 0..20 {
            holding.hold(&who, over(1)).await;
        }
        {
            let mut waiting = Box::pin(holding.hold(&who, over(1)));
            assert!(poll!(&mut waiting).is_pending());
            assert_eq!(holding.places.available_permits(), MOST_HELD - 1);
        }
        assert_eq!(holding.places.available_permits(), MOST_HELD);
        let keys = holding.keys.lock();
        assert!(keys.refused.values().all(|recent| recent.held == 0));
    }

    #[tokio::test(start_paused = true)]
    async fn keys_are_forgotten_once_they_were_not_refused_for_a_while() {
        let holding = Holding::new();
        for number in 0..10_000 {
            holding.place(numbered(number), &over(1));
            advance(Duration::from_millis(10)).await;
        }
        let kept = holding.keys.lock().refused.len();
        assert!(kept <= FEW_KEYS, "{kept}");
    }
    #[tokio::test(start_paused = true)]
    async fn keys_without_room_look_for_some_once_a_second_together() {
        let holding = Holding::new();
        let comes = |number| {
            holding.place(numbered(number), &over(1));
            holding.keys.lock().refused.contains_key(&numbered(number))
        };
        let most = u128::try_from(MOST_KEYS).unwrap();
        assert!((0..most).all(comes));
        advance(SWEEP - Duration::from_millis(1)).await;
        assert!(!comes(most), "all were looked at a moment ago");
        advance(Duration::from_millis(1)).await;
        assert!(comes(most));
        assert_eq!(holding.keys.lock().refused.len(), 1);
    }
}
