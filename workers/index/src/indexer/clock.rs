//! When the indexer looks.

use tokio::time::{Duration, Instant};

/// How often HEADs are looked at. A push has to be picked up within 5 s.
const LOOK: Duration = Duration::from_secs(2);
/// One look takes at most this part of the time, however many projects there are: a twentieth.
const SHARE: u32 = 20;
/// How long it is to the next look at most: one that was slow because Postgres was must not be the
/// last for minutes.
const LONGEST: Duration = Duration::from_secs(10);
/// How long it is at least to one that somebody woke it for.
const SHORTEST: Duration = Duration::from_millis(100);

/// When to look next, and when at the earliest.
pub(super) struct Clock {
    next: Instant,
    earliest: Instant,
}

impl Clock {
    /// The first look is due.
    pub(super) fn start() -> Clock {
        let now = Instant::now();
        Clock {
            next: now,
            earliest: now,
        }
    }

    pub(super) fn next(&self) -> Instant {
        self.next
    }

    /// There is something to look at.
    pub(super) fn wake(&mut self) {
        self.next = self.next.min(self.earliest);
    }

    /// A look is over that began at `started`.
    pub(super) fn looked(&mut self, started: Instant) {
        let now = Instant::now();
        let took = now - started;
        self.next = now + (took * SHARE).clamp(LOOK, LONGEST);
        self.earliest = now + took.clamp(SHORTEST, LONGEST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long after a look that took so long the next one is, and after being woken.
    async fn pauses(took: Duration) -> (Duration, Duration) {
        let mut clock = Clock::start();
        let started = Instant::now();
        tokio::time::advance(took).await;
        clock.looked(started);
        let next = clock.next() - Instant::now();
        clock.wake();
        (next, clock.next() - Instant::now())
    }

    #[tokio::test(start_paused = true)]
    async fn looks_are_a_part_of_the_time_and_never_far_away() {
        let (ms, s) = (Duration::from_millis, Duration::from_secs);
        assert_eq!(pauses(ms(3)).await, (s(2), ms(100)));
        assert_eq!(pauses(ms(200)).await, (s(4), ms(200)));
        assert_eq!(pauses(s(7)).await, (s(10), s(7)));
    }

    #[tokio::test(start_paused = true)]
    async fn waking_never_puts_a_look_off() {
        let mut clock = Clock::start();
        let due = clock.next();
        tokio::time::advance(Duration::from_secs(1)).await;
        clock.wake();
        assert_eq!(clock.next(), due);
    }
}
