//! Where the bytes of a segment are.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

/// Where the bytes of a segment are. A file is read by position and never mapped: a file that is
/// truncated while it is mapped would end the process.
#[derive(Debug)]
pub enum Source {
    /// An open file, which may have been renamed or removed since.
    File(File),
    /// Memory.
    Memory(Vec<u8>),
}

impl Source {
    pub(crate) fn length(&self) -> io::Result<u64> {
        match self {
            Source::File(file) => Ok(file.metadata()?.len()),
            Source::Memory(bytes) => Ok(bytes.len() as u64),
        }
    }

    /// Reads `length` bytes at a position into `buffer`, replacing its content.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] if there are fewer.
    pub(crate) fn read(&self, at: u64, length: usize, buffer: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Source::File(file) => {
                buffer.resize(length, 0);
                file.read_exact_at(buffer, at)
            }
            Source::Memory(bytes) => {
                let start = usize::try_from(at).ok();
                let part = start.and_then(|start| bytes.get(start..start.checked_add(length)?));
                buffer.clear();
                buffer.extend_from_slice(part.ok_or(io::ErrorKind::UnexpectedEof)?);
                Ok(())
            }
        }
    }

    /// The number of bytes held in memory.
    pub(crate) fn memory(&self) -> usize {
        match self {
            Source::File(_) => 0,
            Source::Memory(bytes) => bytes.capacity(),
        }
    }
}
