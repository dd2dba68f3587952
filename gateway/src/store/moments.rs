//! Moments as Postgres keeps them: in microseconds.

use std::time::{Duration, SystemTime};

/// A moment as queries return it: microseconds since 1970, what Postgres keeps.
pub fn moment(micros: i64) -> SystemTime {
    let distance = Duration::from_micros(micros.unsigned_abs());
    if micros < 0 {
        SystemTime::UNIX_EPOCH - distance
    } else {
        SystemTime::UNIX_EPOCH + distance
    }
}

/// A moment as queries take it; one that no clock reaches becomes the last that Postgres can keep
/// without thinking.
pub fn micros(moment: SystemTime) -> i64 {
    /// The year 9999.
    const LAST: i64 = 253_402_300_799_000_000;
    match moment.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_micros()).map_or(LAST, |micros| micros.min(LAST)),
        Err(_before_1970) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_survive_the_way_to_postgres_and_back() {
        for wanted in [0, 1, 1_800_000_000_123_456] {
            assert_eq!(micros(moment(wanted)), wanted);
        }
        assert!(moment(-1) < SystemTime::UNIX_EPOCH);
    }
}
