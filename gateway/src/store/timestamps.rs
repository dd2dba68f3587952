//! Conversion of times to and from Postgres' resolution, microseconds.

use std::time::{Duration, SystemTime};

/// A time as queries return it: microseconds since 1970.
pub fn moment(micros: i64) -> SystemTime {
    let distance = Duration::from_micros(micros.unsigned_abs());
    if micros < 0 {
        SystemTime::UNIX_EPOCH - distance
    } else {
        SystemTime::UNIX_EPOCH + distance
    }
}

/// A time as queries take it: microseconds since 1970. Times before 1970 become 0, and times after
/// the year 9999 become its end, which Postgres stores safely.
pub fn micros(moment: SystemTime) -> i64 {
    /// The end of the year 9999.
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
    fn times_survive_a_round_trip() {
        for expected in [0, 1, 1_800_000_000_123_456] {
            assert_eq!(micros(moment(expected)), expected);
        }
        assert!(moment(-1) < SystemTime::UNIX_EPOCH);
    }
}
