//! Files of which a later look proves that they are unchanged.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{FileType, Stat};
use rustix::io::Errno;

use super::jail::file_type;
use super::stamp::ObservedState;

/// All files and folders that a value is read from, and their states before it was read: the next
/// look notices a change during the read.
#[derive(Clone, Debug)]
pub(super) struct SeenFiles(Option<Box<[SeenFile]>>);

/// A file or folder, and its state when it was looked at.
#[derive(Clone, Debug)]
struct SeenFile {
    path: Box<Path>,
    state: ObservedState,
}

impl SeenFiles {
    /// No file is known, so each look reads the value again.
    #[cfg(any(test, feature = "testing"))]
    pub(super) const UNKNOWN: SeenFiles = SeenFiles(None);

    /// `paths` is `None` if not all are known.
    pub(super) fn at(paths: Option<Vec<PathBuf>>) -> SeenFiles {
        let observed_at = SystemTime::now();
        let see = |path: PathBuf| SeenFile {
            state: ObservedState::at(observed_at, stat(&path)),
            path: path.into(),
        };
        SeenFiles(paths.map(|paths| paths.into_iter().map(see).collect()))
    }

    /// `paths` are the paths again, after the value was read. If they differ, it depends on a file that was
    /// not looked at before.
    pub(super) fn confirmed_by(self, paths: Option<Vec<PathBuf>>) -> SeenFiles {
        let paths = paths.unwrap_or_default();
        let Some(files) = &self.0 else {
            return self;
        };
        let is_same = paths.iter().eq(files.iter().map(|file| &*file.path));
        SeenFiles(self.0.filter(|_| is_same))
    }

    /// In bytes.
    #[cfg(test)]
    pub(super) fn heap_size(&self) -> usize {
        let size = |file: &SeenFile| size_of_val(file) + file.path.as_os_str().len();
        self.0.iter().flatten().map(size).sum()
    }

    /// Whether all files are known, and none has changed.
    pub(super) fn are_unchanged(&self) -> bool {
        let is_unchanged = |file: &SeenFile| file.state.still_holds(stat(&file.path));
        let files = self.0.as_deref();
        files.is_some_and(|files| files.iter().all(is_unchanged))
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
