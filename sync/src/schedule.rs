//! When a mirror is tried again: soon where much happens, seldom elsewhere, later after failures.

use tokio::time::Duration;

use crate::failure::SyncState;

/// The shortest time between two fetches.
const SHORTEST: Duration = Duration::from_secs(30);
/// The longest, for a remote that a listing vouches for.
pub(crate) const LONGEST_VOUCHED: Duration = Duration::from_secs(60 * 60);
/// The longest, for a remote that nobody vouches for.
const LONGEST: Duration = Duration::from_secs(6 * 60 * 60);
/// A remote that has been quiet for so many intervals gets a longer one: 30 s at 14 min, 6 h after a week.
const QUIET_INTERVALS: u32 = 28;
/// The first pause after a failure, doubled by each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(30);
/// The first pause after a failure that only a person can mend.
const FIRST_PAUSE_FOR_A_PERSON: Duration = Duration::from_secs(10 * 60);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(60 * 60);
/// The share by which jitter shortens an interval at most.
const JITTER: f64 = 0.2;

/// The time until the next fetch of a remote that last changed this long ago. `is_listed` is whether a
/// connection found it; `random` is in `0.0..1.0`.
pub(crate) fn after_success(quiet: Duration, is_listed: bool, random: f64) -> Duration {
    let longest = if is_listed { LONGEST_VOUCHED } else { LONGEST };
    shortened((quiet / QUIET_INTERVALS).clamp(SHORTEST, longest), random)
}

/// The time until the next try after this many failures in a row, at least one.
pub(crate) fn after_failure(state: SyncState, failures: u32, random: f64) -> Duration {
    let first = match state {
        // Each try receives as much as a mirror may have, and removes it.
        SyncState::TooLarge => LONGEST_PAUSE,
        state if state.needs_a_person() => FIRST_PAUSE_FOR_A_PERSON,
        _ => FIRST_PAUSE,
    };
    let doubled = 2_u32.saturating_pow(failures.saturating_sub(1).min(16));
    shortened(first.saturating_mul(doubled).min(LONGEST_PAUSE), random)
}

/// Jitter only shortens: no promise is broken by it.
fn shortened(interval: Duration, random: f64) -> Duration {
    interval.mul_f64(1.0 - JITTER * random.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DAY: u64 = 24 * 60 * 60;

    #[test]
    fn a_quiet_remote_is_fetched_seldom_and_an_active_one_soon() {
        for (quiet, next) in [
            (0, 30),
            (14 * 60, 30),
            (DAY, DAY / 28),
            (7 * DAY, 6 * 60 * 60),
            (70 * DAY, 6 * 60 * 60),
        ] {
            let quiet = Duration::from_secs(quiet);
            let found = after_success(quiet, false, 0.0).as_secs();
            assert_eq!(found, next, "{quiet:?}");
            let listed = after_success(quiet, true, 0.0).as_secs();
            assert_eq!(listed, next.min(3600), "{quiet:?}");
        }
    }

    #[test]
    fn pauses_double_up_to_an_hour() {
        let pauses =
            |state| [1, 2, 3, 20].map(|failures| after_failure(state, failures, 0.0).as_secs());
        assert_eq!(pauses(SyncState::BackingOff), [30, 60, 120, 3600]);
        assert_eq!(pauses(SyncState::NotFound), [600, 1200, 2400, 3600]);
        assert_eq!(
            pauses(SyncState::NoSpace),
            [30, 60, 120, 3600],
            "room may be made at any time"
        );
        assert_eq!(
            pauses(SyncState::TooLarge),
            [3600; 4],
            "a try is a whole clone"
        );
    }

    proptest! {
        #[test]
        fn jitter_shortens_by_a_fifth_at_most(quiet in 0..100 * DAY, random in 0.0..1.0_f64, failures in 1_u32..) {
            let quiet = Duration::from_secs(quiet);
            let (whole, jittered) = (
                after_success(quiet, false, 0.0),
                after_success(quiet, false, random),
            );
            prop_assert!(jittered <= whole && jittered >= whole.mul_f64(0.799));
            prop_assert!(after_failure(SyncState::Failed, failures, random) <= LONGEST_PAUSE);
        }
    }
}
