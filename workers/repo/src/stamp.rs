//! Whether a file or folder is still what it was when it was read.
//!
//! Times of a file system tick in steps: what was written a moment before it was read may be
//! written again within the same tick, and look unchanged. So a stamp that is younger than the
//! longest tick is never trusted; the next look reads again.

use std::time::{Duration, SystemTime};

use rustix::fs::Stat;
use rustix::io::Errno;

/// Longer than a tick of any local file system's clock.
const TICK: Duration = Duration::from_millis(100);

/// What was seen of a path, for comparing with a later look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObservedState {
    /// Nothing was there.
    Absent,
    /// It had this identity and these times.
    Stamped(Stamp),
    /// It changed just before it was read: nothing can be said.
    TooRecent,
}

/// Identity and times. A change of content, of name or of mode changes one of them.
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

    /// Only which file or folder it is, whatever is done to it.
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
    /// What a look says that began at `observed_at`, before what was found is read.
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

    /// Whether a later look proves that nothing changed.
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

/// When a file was last written.
pub(super) fn modified(stat: &Stat) -> SystemTime {
    SystemTime::UNIX_EPOCH + since_epoch(stat.st_mtime, stat.st_mtime_nsec)
}

/// Times before 1970 are 1970.
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
    fn what_changed_just_before_it_was_read_is_never_trusted() {
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
    fn absence_holds_until_something_is_there() {
        let seen = ObservedState::at(SystemTime::now(), Err(Errno::NOENT));
        assert!(seen.still_holds(Err(Errno::NOENT)));
        assert!(!seen.still_holds(rustix::fs::stat("/")));
    }
}
