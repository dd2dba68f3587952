//! When the indexer scans its projects.

use tokio::time::{Duration, Instant};

/// Interval of scans: a push has to be picked up within 5 s.
const INTERVAL: Duration = Duration::from_secs(2);
/// Scans take at most a fifth of the time, however many projects there are.
const SHARE: u32 = 4;
/// The longest interval: a scan that was slow because of Postgres must not delay the next one for
/// minutes.
const MAX_INTERVAL: Duration = Duration::from_secs(10);
/// The shortest interval before a scan that was requested by a wake-up.
const MIN_WAKE_INTERVAL: Duration = Duration::from_millis(100);

/// When the next scan starts, and when at the earliest.
pub(super) struct ScanSchedule {
    next: Instant,
    earliest: Instant,
}

impl ScanSchedule {
    /// The first scan is due now.
    pub(super) fn start() -> ScanSchedule {
        let now = Instant::now();
        ScanSchedule {
            next: now,
            earliest: now,
        }
    }

    pub(super) fn next(&self) -> Instant {
        self.next
    }

    /// Moves the next scan to its earliest time.
    pub(super) fn wake(&mut self) {
        self.next = self.next.min(self.earliest);
    }

    /// Schedules the next scan after one that began at `started`.
    pub(super) fn scanned(&mut self, started: Instant) {
        let now = Instant::now();
        let took = now - started;
        self.next = now + (took * SHARE).clamp(INTERVAL, MAX_INTERVAL);
        self.earliest = now + (took * SHARE).clamp(MIN_WAKE_INTERVAL, MAX_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The wait after a scan of this duration, without and with a wake-up.
    async fn pauses(took: Duration) -> (Duration, Duration) {
        let mut clock = ScanSchedule::start();
        let started = Instant::now();
        tokio::time::advance(took).await;
        clock.scanned(started);
        let next = clock.next() - Instant::now();
        clock.wake();
        (next, clock.next() - Instant::now())
    }

    #[tokio::test(start_paused = true)]
    async fn scans_take_a_share_of_the_time_within_bounds() {
        let (ms, s) = (Duration::from_millis, Duration::from_secs);
        assert_eq!(pauses(ms(3)).await, (s(2), ms(100)));
        assert_eq!(pauses(ms(600)).await, (ms(2400), ms(2400)));
        assert_eq!(pauses(s(7)).await, (s(10), s(10)));
    }

    #[tokio::test(start_paused = true)]
    async fn waking_never_delays_a_scan() {
        let mut clock = ScanSchedule::start();
        let due = clock.next();
        tokio::time::advance(Duration::from_secs(1)).await;
        clock.wake();
        assert_eq!(clock.next(), due);
    }
}
