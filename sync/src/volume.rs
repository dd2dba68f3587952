//! The volume of the mirrors: how much of it is used, and whether runs may fill it further.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// What a run leaves free at least, in bytes: several runs are looked at twice a second each. Of a small volume it
/// is a fiftieth.
const LEAST_FREE: u64 = 256 << 20;
/// The share of a volume of its own size above which no run goes on. Its mirrors are measured every few seconds.
const LARGEST_SHARE: f64 = 0.95;

/// The volume of the mirrors.
#[derive(Debug)]
pub(crate) struct Volume {
    folder: PathBuf,
    /// Its size, if that is not the size of its file system.
    size: Option<u64>,
    /// The size of all mirrors, as of the last look.
    mirrored: AtomicU64,
}

impl Volume {
    pub(crate) fn new(folder: &Path, size: Option<u64>) -> Volume {
        Volume {
            folder: folder.to_owned(),
            size,
            mirrored: AtomicU64::new(0),
        }
    }

    /// The size of all mirrors, in bytes.
    pub(crate) fn set_mirrored(&self, bytes: u64) {
        self.mirrored.store(bytes, Ordering::Release);
    }

    /// Whether runs may fill it further. Nobody else can write to a full file system, and a pod whose volume is
    /// larger than its size is evicted.
    pub(crate) fn has_room(&self) -> bool {
        let system = FileSystem::of(&self.folder);
        let is_full = system.is_some_and(|system| system.free < least_free(system.size));
        !is_full && self.own_share().is_none_or(|share| share <= LARGEST_SHARE)
    }

    /// So many percent of its size, in bytes. `None` if the system does not say how large it is.
    pub(crate) fn part(&self, percent: u8) -> Option<u64> {
        let system = || Some(FileSystem::of(&self.folder)?.size);
        let size = self.size.or_else(system)?;
        Some(size / 100 * u64::from(percent))
    }

    /// The folder of mirrors, on it.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The share of it that is used, from 0 to 1. `None` if the system does not say.
    pub(crate) fn used(&self) -> Option<f64> {
        let system = FileSystem::of(&self.folder).map(|system| system.used);
        match (system, self.own_share()) {
            (Some(system), Some(own)) => Some(own.max(system)),
            (system, own) => own.or(system),
        }
    }

    /// The share of its own size that the mirrors take, if it has one.
    fn own_share(&self) -> Option<f64> {
        let mirrored = self.mirrored.load(Ordering::Acquire);
        self.size.map(|size| share(mirrored, size))
    }
}

/// The file system of a volume.
struct FileSystem {
    /// In bytes, as is `free`: what anybody may write.
    size: u64,
    free: u64,
    /// The share that is used, as `df` counts: without what is reserved for the system.
    used: f64,
}

impl FileSystem {
    /// `None` if the system does not say.
    fn of(folder: &Path) -> Option<FileSystem> {
        let system = rustix::fs::statvfs(folder).ok()?;
        let bytes = |blocks: u64| blocks.saturating_mul(system.f_frsize);
        let used = system.f_blocks.saturating_sub(system.f_bfree);
        Some(FileSystem {
            size: bytes(system.f_blocks),
            free: bytes(system.f_bavail),
            used: share(used, used.saturating_add(system.f_bavail)),
        })
    }
}

/// What a run leaves free of a file system of this size, in bytes.
fn least_free(size: u64) -> u64 {
    (size / 50).min(LEAST_FREE)
}

#[expect(clippy::cast_precision_loss, reason = "a share needs no more digits")]
fn share(used: u64, all: u64) -> f64 {
    match all {
        0 => 1.0,
        all => used as f64 / all as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_volume_of_its_own_size_is_used_by_its_mirrors() {
        let volume = Volume::new(Path::new("/nowhere"), Some(200));
        volume.set_mirrored(50);
        assert_eq!(volume.used(), Some(0.25));
        assert_eq!(Volume::new(Path::new("/nowhere"), None).used(), None);
        let system = Volume::new(&std::env::temp_dir(), None).used().unwrap();
        assert!((0.0..=1.0).contains(&system), "{system}");
    }

    #[test]
    fn a_volume_has_room_until_little_is_left() {
        let folder = std::env::temp_dir();
        assert!(Volume::new(&folder, None).has_room());
        let volume = Volume::new(&folder, Some(1000));
        for (mirrored, expected) in [(0, true), (950, true), (951, false), (2000, false)] {
            volume.set_mirrored(mirrored);
            assert_eq!(volume.has_room(), expected, "{mirrored}");
        }
        assert_eq!(volume.part(80), Some(800));
        assert_eq!(Volume::new(Path::new("/nowhere"), None).part(80), None);
        assert_eq!(least_free(1 << 40), LEAST_FREE);
        assert_eq!(least_free(1 << 30), (1 << 30) / 50);
    }
}
