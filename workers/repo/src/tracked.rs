//! Reads the paths of a work tree that git tracks, for comparison with a commit. Links are never
//! followed.
//!
//! A folder is opened beneath the root once, and its files are read relative to it: one system call
//! a file. Paths behind a link or on another file system count as missing.

use std::io::Read as _;

use rayon::prelude::*;
use rustix::fs::{FileType, OFlags, Stat};
use rustix::io::Errno;

use super::cancel::Cancel;
use super::error::RepoError;
use super::jail::{Jail, OpenFolder, file_type};
use super::path::RepoPath;
use super::worktree::READ;

/// Files that one thread stats at a time.
const FILES_PER_TASK: usize = 512;

/// The metadata of a tracked path.
#[derive(Clone, Copy, Debug)]
pub struct TrackedEntry {
    /// File, link or folder.
    pub kind: TrackedKind,
    /// Its metadata.
    pub stat: Stat,
}

/// The kinds of entries that git can track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrackedKind {
    /// A regular file.
    File {
        /// Whether its owner may execute it.
        is_executable: bool,
    },
    /// A symbolic link.
    Link,
    /// A folder.
    Folder,
}

/// The metadata at each path, in their order; `None` if there is nothing that git could track. Must
/// not run on a thread of a pool that itself waits for others.
pub(super) fn stat_all(
    jail: &Jail,
    paths: &[RepoPath],
    cancel: &Cancel,
) -> Result<Vec<Option<TrackedEntry>>, RepoError> {
    let chunks = paths.par_chunks(FILES_PER_TASK);
    let results = chunks.map(|paths| {
        cancel.check()?;
        let mut folder = OpenFolder::default();
        let stat = |path| folder.entry(jail, path);
        paths
            .iter()
            .map(stat)
            .collect::<Result<Vec<_>, RepoError>>()
    });
    let results: Result<Vec<_>, RepoError> = results.collect();
    Ok(results?.into_iter().flatten().collect())
}

/// Reads the regular file at `path` from its beginning and passes each part to `piece`.
///
/// # Errors
/// If it is no longer a regular file, or cannot be read.
pub(super) fn read(
    jail: &Jail,
    path: &RepoPath,
    mut piece: impl FnMut(&[u8]) -> Result<(), RepoError>,
) -> Result<(), RepoError> {
    let refused = |errno| RepoError::opening(path, errno);
    let fd = jail.open(path, READ).map_err(refused)?;
    let stat = rustix::fs::fstat(&fd).map_err(refused)?;
    if file_type(&stat) != FileType::RegularFile {
        return Err(RepoError::NotFound { path: path.clone() });
    }
    let mut file = std::fs::File::from(fd);
    let mut buffer = vec![0; 64 << 10];
    loop {
        let length = file.read(&mut buffer).map_err(|source| RepoError::Io {
            what: "reading a file of the work tree",
            source,
        })?;
        match buffer.get(..length) {
            Some([]) | None => return Ok(()),
            Some(read) => piece(read)?,
        }
    }
}

/// The target text of the link at `path`.
///
/// # Errors
/// If it is no longer a link.
pub(super) fn read_link(jail: &Jail, path: &RepoPath) -> Result<Vec<u8>, RepoError> {
    let refused = |errno| RepoError::opening(path, errno);
    let parent = path.parent().unwrap_or_else(RepoPath::root);
    let folder = jail.open(&parent, OFlags::PATH | OFlags::DIRECTORY);
    let text = rustix::fs::readlinkat(folder.map_err(refused)?, path.name(), Vec::new());
    text.map(std::ffi::CString::into_bytes).map_err(refused)
}

impl OpenFolder {
    fn entry(&mut self, jail: &Jail, path: &RepoPath) -> Result<Option<TrackedEntry>, RepoError> {
        match self.stat(jail, path) {
            Ok(stat) => Ok(TrackedEntry::of(stat)),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV | Errno::NAMETOOLONG) => {
                Ok(None)
            }
            Err(errno) => Err(RepoError::opening(path, errno)),
        }
    }
}

impl TrackedEntry {
    fn of(stat: Stat) -> Option<TrackedEntry> {
        let kind = match file_type(&stat) {
            FileType::RegularFile => TrackedKind::File {
                is_executable: stat.st_mode & 0o100 != 0,
            },
            FileType::Symlink => TrackedKind::Link,
            FileType::Directory => TrackedKind::Folder,
            _ => return None,
        };
        Some(TrackedEntry { kind, stat })
    }
}
