//! A whole file, for those who have no use for a part of one.

use archway_proto::failure::Failure;
use archway_repo::{Repo, RepoPath};

use super::open;

/// Where a NUL says that a file is binary, in bytes.
const PROBE: usize = 8 << 10;

/// What a file holds.
pub(crate) enum WholeFile {
    /// Bytes that are not UTF-8 are U+FFFD.
    Text(String),
    /// It is no text, by its name or by what it holds.
    Bytes(Vec<u8>),
}

/// A file by its path, unless it has more than `most` bytes.
///
/// # Errors
/// As `read_file` refuses.
pub(crate) fn read_whole(repo: &Repo, path: &RepoPath, most: u64) -> Result<WholeFile, Failure> {
    let mut file = open::file(repo, path)?;
    let too_large = |file: &_| open::too_large(file, path, "call read_file for a part of it");
    if file.size() > most {
        return Err(too_large(&file));
    }
    let read = file.read_at_most(most);
    let read = read.map_err(|error| open::unreadable(path, &error))?;
    // It may have grown since it was opened.
    let bytes = read.ok_or_else(|| too_large(&file))?;
    let is_binary =
        open::is_binary_name(&path.display()) || bytes.iter().take(PROBE).any(|&byte| byte == 0);
    Ok(match is_binary {
        true => WholeFile::Bytes(bytes),
        false => WholeFile::Text(String::from_utf8_lossy(&bytes).into_owned()),
    })
}
