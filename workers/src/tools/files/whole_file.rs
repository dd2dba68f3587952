//! Reads a whole file, for callers that can't use a part of one.

use archway_proto::failure::Failure;
use archway_repo::{Cancel, Repo, RepoPath};

use super::open;

/// Number of leading bytes in which a NUL marks a file as binary.
const PROBE_BYTES: usize = 8 << 10;

/// The content of a file.
pub(crate) enum WholeFile {
    /// Text. Bytes that are not UTF-8 are U+FFFD.
    Text(String),
    /// A binary file, by its name or by its content.
    Bytes(Vec<u8>),
}

/// Reads a file of at most `max_bytes` bytes.
///
/// # Errors
/// The failures of `read_file`.
pub(crate) fn read_whole(
    repo: &Repo,
    path: &RepoPath,
    max_bytes: u64,
    cancel: &Cancel,
) -> Result<WholeFile, Failure> {
    let mut file = open::file(repo, path, cancel)?;
    let too_large = |file: &_| open::too_large(file, path, "call read_file for a part of it");
    if file.size() > max_bytes {
        return Err(too_large(&file));
    }
    let read = file.read_at_most(max_bytes);
    let read = read.map_err(|error| open::unreadable(path, &error))?;
    // The file may have grown since it was opened.
    let bytes = read.ok_or_else(|| too_large(&file))?;
    let is_binary = open::is_binary_name(&path.display())
        || bytes.iter().take(PROBE_BYTES).any(|&byte| byte == 0);
    Ok(match is_binary {
        true => WholeFile::Bytes(bytes),
        false => WholeFile::Text(String::from_utf8_lossy(&bytes).into_owned()),
    })
}
