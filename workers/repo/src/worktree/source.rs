//! File contents of a work tree for searches: from the cache, or opened beneath the root and read.

use std::time::SystemTime;

use rustix::fs::FileType;
use rustix::io::Errno;

use super::{READ, WorkTree};
use crate::content_cache::Loaded;
use crate::jail::file_type;
use crate::path::RepoPath;
use crate::scan::MAX_FILE;
use crate::search::FileSource;
use crate::stamp::ObservedState;

impl FileSource for WorkTree {
    fn load<'a>(&self, path: &RepoPath, buffer: &'a mut Vec<u8>) -> Option<Loaded<'a>> {
        let holds = |seen: ObservedState| seen.still_holds(self.jail.stat_unchecked(path));
        if let Some(bytes) = self.contents.get(path, holds) {
            return Some(Loaded::Cached(bytes));
        }
        let observed_at = SystemTime::now();
        let stat = self.read_whole(path, buffer).ok().flatten()?;
        self.contents
            .insert(path, ObservedState::at(observed_at, Ok(stat)), buffer);
        Some(Loaded::Read(buffer))
    }

    fn is_too_large(&self, path: &RepoPath) -> bool {
        let stat = self.jail.stat(path);
        stat.is_ok_and(|stat| u64::try_from(stat.st_size).is_ok_and(|size| size > MAX_FILE))
    }
}

impl WorkTree {
    /// Reads a listed file, and returns its metadata from before the read. `None` if it is too
    /// large or not a regular file.
    fn read_whole(
        &self,
        path: &RepoPath,
        into: &mut Vec<u8>,
    ) -> Result<Option<rustix::fs::Stat>, Errno> {
        into.clear();
        let fd = self.jail.open(path, READ)?;
        let stat = rustix::fs::fstat(&fd)?;
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        if size > MAX_FILE || file_type(&stat) != FileType::RegularFile {
            return Ok(None);
        }
        let size = usize::try_from(size).unwrap_or(0);
        into.reserve_exact(size);
        // One read usually suffices; some file systems return less at a time.
        while into.len() < size {
            match rustix::io::read(&fd, rustix::buffer::spare_capacity(into)) {
                Ok(0) => break,
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        into.truncate(size);
        Ok(Some(stat))
    }
}
