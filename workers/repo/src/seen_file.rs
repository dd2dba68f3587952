//! A file of which a later look proves that it is unchanged.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{FileType, Stat};
use rustix::io::Errno;

use super::jail::file_type;
use super::stamp::ObservedState;

/// A file or folder, and its state when it was looked at.
#[derive(Clone, Debug)]
pub(super) struct SeenFile {
    pub(super) path: Box<Path>,
    state: ObservedState,
}

impl SeenFile {
    /// `observed_at` is the time before the look.
    pub(super) fn at(path: PathBuf, observed_at: SystemTime) -> SeenFile {
        let state = ObservedState::at(observed_at, stat(&path));
        SeenFile {
            path: path.into(),
            state,
        }
    }

    pub(super) fn is_unchanged(&self) -> bool {
        self.state.still_holds(stat(&self.path))
    }
}

/// The metadata of a file. Of a folder only the identity counts: git changes its content all the
/// time.
fn stat(path: &Path) -> Result<Stat, Errno> {
    let mut stat = rustix::fs::stat(path)?;
    if file_type(&stat) == FileType::Directory {
        stat.st_size = 0;
        (stat.st_mtime, stat.st_mtime_nsec) = (0, 0);
        (stat.st_ctime, stat.st_ctime_nsec) = (0, 0);
    }
    Ok(stat)
}
