//! Detects whether a file or folder changed since it was read.
//!
//! File system times tick in steps: a file written just before it was read may be written again
//! within the same tick and look unchanged. So a stamp younger than the longest tick is never
//! trusted, and the next check reads again.

use std::time::{Duration, SystemTime};

use rustix::fs::Stat;
use rustix::io::Errno;

/// Longer than the time tick of any local file system.
const TICK: Duration = Duration::from_millis(100);

/// Length of a stamp's bytes.
pub(super) const STAMP_BYTES: usize = 48;

/// The observed state of a path, for comparison with a later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObservedState {
    /// Nothing existed.
    Absent,
    /// It had this identity and these times.
    Stamped(Stamp),
    /// It changed just before it was read, so a later change may go unnoticed.
    TooRecent,
}

/// Identity, size and times. A change of content, name or mode changes one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    device: u64,
    inode: u64,
    size: i64,
    modified: Duration,
    changed: Duration,
}

impl Stamp {
    pub(super) fn of(stat: &Stat) -> Stamp {
        Stamp {
            device: stat.st_dev,
            inode: stat.st_ino,
            size: stat.st_size,
            modified: since_epoch(stat.st_mtime, stat.st_mtime_nsec),
            changed: since_epoch(stat.st_ctime, stat.st_ctime_nsec),
        }
    }

    /// For [`Stamp::from_bytes`].
    pub(super) fn to_bytes(self) -> [u8; STAMP_BYTES] {
        let mut bytes = [0; STAMP_BYTES];
        let times = [self.modified, self.changed];
        let seconds = times.map(|time| time.as_secs().to_le_bytes());
        let nanoseconds = times.map(|time| time.subsec_nanos().to_le_bytes());
        let parts = [
            &self.device.to_le_bytes()[..],
            &self.inode.to_le_bytes(),
            &self.size.to_le_bytes(),
            &seconds[0],
            &nanoseconds[0],
            &seconds[1],
            &nanoseconds[1],
        ];
        bytes.copy_from_slice(&parts.concat());
        bytes
    }

    /// `None` if these are no stamp's bytes.
    pub(super) fn from_bytes(bytes: &[u8; STAMP_BYTES]) -> Option<Stamp> {
        let mut rest = &bytes[..];
        let time = |rest: &mut &[u8]| {
            let seconds = u64::from_le_bytes(take(rest)?);
            let nanoseconds = u32::from_le_bytes(take(rest)?);
            (nanoseconds < 1_000_000_000).then(|| Duration::new(seconds, nanoseconds))
        };
        Some(Stamp {
            device: u64::from_le_bytes(take(&mut rest)?),
            inode: u64::from_le_bytes(take(&mut rest)?),
            size: i64::from_le_bytes(take(&mut rest)?),
            modified: time(&mut rest)?,
            changed: time(&mut rest)?,
        })
    }

    /// Identity alone, regardless of changes.
    pub(super) fn identity(stat: &Stat) -> Stamp {
        let (modified, changed) = (Duration::ZERO, Duration::ZERO);
        Stamp {
            device: stat.st_dev,
            inode: stat.st_ino,
            size: 0,
            modified,
            changed,
        }
    }
}

impl ObservedState {
    /// The state for a stat result. `observed_at` is the time before the stat, which precedes
    /// reading the content.
    pub fn at(observed_at: SystemTime, found: Result<Stat, Errno>) -> ObservedState {
        let Ok(stat) = found else {
            return ObservedState::Absent;
        };
        let stamp = Stamp::of(&stat);
        let settled = observed_at
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        if stamp.modified.max(stamp.changed) + TICK < settled {
            ObservedState::Stamped(stamp)
        } else {
            ObservedState::TooRecent
        }
    }

    /// Whether a later stat result proves that nothing changed.
    pub fn still_holds(self, found: Result<Stat, Errno>) -> bool {
        match (self, found) {
            (ObservedState::Absent, Err(_)) => true,
            (ObservedState::Stamped(stamp), Ok(stat)) => stamp == Stamp::of(&stat),
            (ObservedState::TooRecent | ObservedState::Absent | ObservedState::Stamped(_), _) => {
                false
            }
        }
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(*taken)
}

/// The time of the last write.
pub(super) fn modified(stat: &Stat) -> SystemTime {
    SystemTime::UNIX_EPOCH + since_epoch(stat.st_mtime, stat.st_mtime_nsec)
}

/// Times before 1970 become 1970.
fn since_epoch(seconds: i64, nanoseconds: u64) -> Duration {
    let nanoseconds = u32::try_from(nanoseconds).unwrap_or(0);
    u64::try_from(seconds).map_or(Duration::ZERO, |seconds| {
        Duration::new(seconds, nanoseconds)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_just_before_the_read_is_never_trusted() {
        let temp = tempfile::tempdir().unwrap();
        let stat = || rustix::fs::stat(temp.path());
        let written = modified(&stat().unwrap());
        assert_eq!(
            ObservedState::at(written + Duration::from_millis(50), stat()),
            ObservedState::TooRecent
        );
        assert!(!ObservedState::TooRecent.still_holds(stat()));
        assert!(ObservedState::at(written + Duration::from_secs(1), stat()).still_holds(stat()));
        assert_eq!(
            ObservedState::at(written - Duration::from_secs(9), stat()),
            ObservedState::TooRecent,
            "clocks differ"
        );
    }

    #[test]
    fn absence_holds_until_something_exists() {
        let seen = ObservedState::at(SystemTime::now(), Err(Errno::NOENT));
        assert!(seen.still_holds(Err(Errno::NOENT)));
        assert!(!seen.still_holds(rustix::fs::stat("/")));
    }
}
