//! Keeps the folder of all indexes below its limit: the least recently used ones are removed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use parking_lot::Mutex;
use tokio::time::{Duration, Instant};

use super::store::{USED, WriteLock};

/// How long a measured size is trusted: other workers write to the folder, too.
const MEASURE_INTERVAL: Duration = Duration::from_secs(10 * 60);

/// The folder of all indexes and its limit.
pub(super) struct Room {
    folder: Option<PathBuf>,
    /// The limit, in bytes.
    bytes: u64,
    measured: Mutex<Option<Measured>>,
}

struct Measured {
    bytes: u64,
    at: Instant,
}

/// The folder of a repository's index.
struct IndexFolder {
    used: SystemTime,
    path: PathBuf,
    bytes: u64,
}

impl Room {
    pub(super) fn new(folder: Option<PathBuf>, bytes: u64) -> Room {
        Room {
            folder,
            bytes,
            measured: Mutex::new(None),
        }
    }

    pub(super) fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// The limit, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Makes room after `written` bytes were added. Indexes whose folders are locked stay: among them
    /// the one that the caller builds.
    pub(super) fn make(&self, written: u64) {
        let Some(folder) = &self.folder else {
            return;
        };
        let mut measured = self.measured.lock();
        let is_known = measured.as_mut().is_some_and(|it| {
            it.bytes += written;
            it.bytes <= self.bytes && it.at.elapsed() < MEASURE_INTERVAL
        });
        if is_known {
            return;
        }
        match remove_least_used(folder, self.bytes) {
            Ok(bytes) => {
                let at = Instant::now();
                *measured = Some(Measured { bytes, at });
            }
            Err(error) => {
                let error = error.kind();
                tracing::warn!(%error, "the folder of the search index can't be measured");
            }
        }
    }
}

/// Removes indexes until those that remain have at most `limit` bytes. Returns their size.
fn remove_least_used(folder: &Path, limit: u64) -> io::Result<u64> {
    let mut indexes = Vec::new();
    for tenant in fs::read_dir(folder)? {
        // Another worker may remove one meanwhile.
        let Ok(folders) = fs::read_dir(tenant?.path()) else {
            continue;
        };
        let folders = folders.filter_map(Result::ok).map(|entry| entry.path());
        indexes.extend(folders.filter_map(|path| measure(path).ok()));
    }
    let mut bytes = indexes.iter().map(|index| index.bytes).sum();
    indexes.sort_unstable_by_key(|index| index.used);
    for index in indexes {
        if bytes <= limit {
            break;
        }
        // Held until it is removed, so that nobody begins a build in it.
        let lock = WriteLock::take(&index.path).ok().flatten();
        if lock.is_some() {
            if fs::remove_dir_all(&index.path).is_err() {
                continue;
            }
            bytes -= index.bytes;
            // Removed only if it was the last one of its tenant.
            index.path.parent().map(fs::remove_dir);
        }
    }
    Ok(bytes)
}

fn measure(path: PathBuf) -> io::Result<IndexFolder> {
    let mut bytes = 0;
    let mut used = SystemTime::UNIX_EPOCH;
    for entry in fs::read_dir(&path)? {
        let entry = entry?;
        let about = entry.metadata()?;
        bytes += about.len();
        if entry.file_name() == USED {
            used = about.modified()?;
        }
    }
    Ok(IndexFolder { used, path, bytes })
}
