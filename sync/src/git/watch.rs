//! Watches a run of git: its deadline, its silence, its size on disk, the room that it leaves, and how far it is.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fs, io};

use tokio::time::{Duration, Instant, MissedTickBehavior};

use super::RunBounds;
use crate::failure::{SyncFailure, SyncState};
use crate::volume::Volume;

/// How often a run is looked at.
const INTERVAL: Duration = Duration::from_millis(500);
/// How long a command may compute at least: a commit-graph of a million commits takes minutes.
const LOCAL_TIME: Duration = Duration::from_secs(30 * 60);
/// Why a run ends that would fill the volume.
const NO_ROOM: &str = "the volume is nearly full: the run was ended before it filled it";
/// Files and folders of a mirror that are counted at most.
const MAX_ENTRIES: usize = 1_000_000;

/// The limits of a run.
#[derive(Clone, Copy, Debug)]
pub struct RunLimits {
    /// How long it may take.
    pub time: Duration,
    /// How long it may neither write to disk nor report progress.
    pub silence: Duration,
    /// The size of the mirror's folder, in bytes.
    pub bytes: u64,
}

impl RunLimits {
    /// Whether a mirror may have this size, in bytes.
    pub(crate) fn check_size(self, bytes: u64) -> Result<(), SyncFailure> {
        match bytes > self.bytes {
            true => {
                let text = format!(
                    "the mirror is larger than {} bytes, which --mirror-bytes or --volume-bytes leaves",
                    self.bytes
                );
                Err(stopped_by(SyncState::TooLarge, text))
            }
            false => Ok(()),
        }
    }

    /// The limits of a command that reaches no remote.
    pub(super) fn of_local_work(self) -> RunLimits {
        let time = self.time.max(LOCAL_TIME);
        RunLimits {
            time,
            silence: time,
            // What was received is judged by whoever asked for it.
            bytes: u64::MAX,
        }
    }
}

/// How far a run is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Percent of the objects; `None` before git knows their number.
    pub percent: Option<u8>,
    /// The size of the mirror's folder, in bytes.
    pub bytes: u64,
}

/// What git has said so far.
#[derive(Debug, Default)]
pub(super) struct Activity {
    /// Bytes of its standard error.
    heard: AtomicU64,
    /// Percent and 1; 0 if none was reported.
    percent: AtomicU64,
}

/// Watches one run.
pub(super) struct Watch<'a> {
    folder: PathBuf,
    volume: &'a Arc<Volume>,
    bounds: &'a RunBounds<'a>,
    activity: Arc<Activity>,
}

impl Activity {
    /// Takes a part of git's standard error.
    pub(super) fn hear(&self, bytes: &[u8]) {
        self.heard.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        if let Some(percent) = percent(bytes) {
            self.percent
                .store(u64::from(percent) + 1, Ordering::Relaxed);
        }
    }

    fn percent(&self) -> Option<u8> {
        let percent = self.percent.load(Ordering::Relaxed).checked_sub(1)?;
        u8::try_from(percent).ok()
    }
}

impl<'a> Watch<'a> {
    pub(super) fn new(
        folder: &Path,
        volume: &'a Arc<Volume>,
        bounds: &'a RunBounds<'a>,
    ) -> Watch<'a> {
        Watch {
            folder: folder.to_owned(),
            volume,
            bounds,
            activity: Arc::default(),
        }
    }

    pub(super) fn activity(&self) -> &Arc<Activity> {
        &self.activity
    }

    /// Returns once the run has to be stopped.
    pub(super) async fn stopped(&self) -> SyncFailure {
        tokio::select! {
            () = self.bounds.cancel.cancelled() => stopped_by(SyncState::BackingOff, "the run was stopped".to_owned()),
            failure = self.exceeded() => failure,
        }
    }

    async fn exceeded(&self) -> SyncFailure {
        let limits = self.bounds.limits;
        let begun = Instant::now();
        let (mut last, mut changed) = ((0, 0), begun);
        let mut first = None;
        let mut ticks = tokio::time::interval(INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let (bytes, has_room) = self.size().await;
            let percent = self.activity.percent();
            (self.bounds.progress)(Progress { percent, bytes });
            let now = (self.activity.heard.load(Ordering::Relaxed), bytes);
            if now != last {
                (last, changed) = (now, Instant::now());
            }
            if let Err(failure) = limits.check_size(bytes) {
                return failure;
            }
            // What brings nothing takes no room.
            let grew = bytes > *first.get_or_insert(bytes);
            if grew && !has_room {
                return stopped_by(SyncState::NoSpace, NO_ROOM.to_owned());
            }
            if changed.elapsed() >= limits.silence {
                let text = format!("no byte came for {} s", limits.silence.as_secs());
                return stopped_by(SyncState::BackingOff, text);
            }
            if begun.elapsed() >= limits.time {
                let text = format!("it took longer than {} s", limits.time.as_secs());
                return stopped_by(SyncState::BackingOff, text);
            }
        }
    }

    /// The size of the folder in bytes, and whether the volume has room for more.
    async fn size(&self) -> (u64, bool) {
        let (folder, volume) = (self.folder.clone(), Arc::clone(self.volume));
        let size = move || (folder_size(&folder).unwrap_or_default(), volume.has_room());
        let size = tokio::task::spawn_blocking(size).await;
        size.unwrap_or((0, true))
    }
}

fn stopped_by(state: SyncState, message: String) -> SyncFailure {
    SyncFailure::new(state, message)
}

/// The percentage that a progress line ends with: `Receiving objects:  43% (…`.
fn percent(bytes: &[u8]) -> Option<u8> {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.rsplit(['\r', '\n']);
    let mut received =
        lines.filter_map(|line| line.trim_start().strip_prefix("Receiving objects:"));
    let (number, _) = received.next()?.split_once('%')?;
    number.trim().parse().ok().filter(|percent| *percent <= 100)
}

/// The size of all files beneath a folder, in bytes, as they take room on disk.
///
/// # Errors
/// If the folder cannot be read. What vanishes meanwhile is not counted.
pub(crate) fn folder_size(folder: &Path) -> io::Result<u64> {
    use std::os::unix::fs::MetadataExt as _;
    let (mut size, mut entries) = (0, 0);
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)?.flatten() {
            entries += 1;
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            if metadata.is_dir() && entries < MAX_ENTRIES {
                folders.push(entry.path());
            }
            size += metadata.blocks() * 512;
        }
    }
    Ok(size)
}

#[cfg(test)]
mod tests {
    use tokio_util::sync::CancellationToken;

    use super::*;

    #[test]
    fn the_last_progress_line_says_how_far_it_is() {
        let lines =
            b"remote: x\nReceiving objects:   1% (1/99)\rReceiving objects:  43% (43/99), 1 MiB";
        assert_eq!(percent(lines), Some(43));
        for other in [
            "",
            "Receiving objects",
            "Receiving objects: 999%",
            "43%",
            "Resolving deltas: 4%",
        ] {
            assert_eq!(percent(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn the_size_is_that_of_all_files_beneath() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("a/b")).unwrap();
        fs::write(folder.path().join("a/b/file"), vec![1; 1 << 20]).unwrap();
        assert!(folder_size(folder.path()).unwrap() >= 1 << 20);
    }

    #[tokio::test]
    async fn a_run_that_grows_ends_before_the_volume_is_full() {
        let folder = tempfile::tempdir().unwrap();
        let volume = Arc::new(Volume::new(folder.path(), Some(100)));
        volume.set_mirrored(99);
        let limits = RunLimits {
            time: Duration::from_secs(2),
            silence: Duration::from_secs(60),
            bytes: u64::MAX,
        };
        let grow = |_| fs::write(folder.path().join("pack"), vec![1; 1 << 20]).unwrap();
        let rest: [(&(dyn Fn(Progress) + Send + Sync), SyncState); 2] = [
            (&|_| {}, SyncState::BackingOff),
            (&grow, SyncState::NoSpace),
        ];
        for (progress, expected) in rest {
            let bounds = RunBounds {
                limits,
                cancel: &CancellationToken::new(),
                progress,
            };
            let watch = Watch::new(folder.path(), &volume, &bounds);
            let failure = watch.stopped().await;
            assert_eq!(failure.state, expected, "{failure}");
        }
    }
}
