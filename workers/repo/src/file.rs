//! A regular file, opened after its path was checked.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::time::SystemTime;

use rustix::fd::OwnedFd;
use rustix::fs::FileType;

use super::error::RepoError;
use super::jail::file_type;
use super::path::RepoPath;
use super::stamp::modified;

/// A regular file, read from its beginning.
#[derive(Debug)]
pub struct RepoFile {
    content: Content,
    size: u64,
    modified: SystemTime,
    resolved: RepoPath,
}

#[derive(Debug)]
enum Content {
    File(File),
    Blob(Cursor<Vec<u8>>),
    /// Too large for memory.
    None,
}

impl RepoFile {
    /// Wraps the file opened at `resolved`. Errors name the `requested` path.
    pub(super) fn regular(
        fd: OwnedFd,
        resolved: RepoPath,
        requested: &RepoPath,
    ) -> Result<RepoFile, RepoError> {
        let stat = rustix::fs::fstat(&fd).map_err(|errno| RepoError::opening(requested, errno))?;
        if file_type(&stat) != FileType::RegularFile {
            return Err(RepoError::NotFound {
                path: requested.clone(),
            });
        }
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        let content = Content::File(File::from(fd));
        Ok(RepoFile {
            content,
            size,
            modified: modified(&stat),
            resolved,
        })
    }

    /// A file of a commit.
    pub(super) fn blob(bytes: Vec<u8>, modified: SystemTime, resolved: RepoPath) -> RepoFile {
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        RepoFile {
            content: Content::Blob(Cursor::new(bytes)),
            size,
            modified,
            resolved,
        }
    }

    /// A file of a commit that is too large to be held in memory.
    pub(super) fn too_large(size: u64, modified: SystemTime, resolved: RepoPath) -> RepoFile {
        RepoFile {
            content: Content::None,
            size,
            modified,
            resolved,
        }
    }

    /// The size in bytes at the time of opening.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Reads all remaining bytes. `None` if there are more than `limit`, whatever the size was at
    /// opening.
    ///
    /// # Errors
    /// If reading fails.
    pub fn read_at_most(&mut self, limit: u64) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = Vec::new();
        let read = self.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
        let fits = u64::try_from(read).is_ok_and(|read| read <= limit);
        Ok(fits.then_some(bytes))
    }

    /// When it was last written; for a commit's file, when the commit was made.
    pub fn modified(&self) -> SystemTime {
        self.modified
    }

    /// The path of the file itself, which differs from the requested one if that was a link.
    pub fn resolved(&self) -> &RepoPath {
        &self.resolved
    }
}

impl Read for RepoFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.content {
            Content::File(file) => file.read(buffer),
            Content::Blob(blob) => blob.read(buffer),
            Content::None => Err(io::ErrorKind::FileTooLarge.into()),
        }
    }
}
