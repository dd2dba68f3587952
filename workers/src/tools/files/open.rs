//! What every reading tool does with a file: open it by the rules, refuse what is no text.

use std::{io, time::SystemTime};

use archway_proto::{failure::Failure, fault::Fault};

use super::window::{Part, Unreadable, Window};
use crate::{
    repo::{Cancel, Repo, RepoError, RepoFile, RepoPath},
    text,
};

/// The largest file that is opened, in bytes.
const MAX_SIZE: u64 = 64 << 20;

/// Opens a file for reading, unless it is too large to be.
pub(super) fn file(repo: &Repo, path: &RepoPath) -> Result<RepoFile, Failure> {
    let file = repo.open(path)?;
    if file.size() > MAX_SIZE {
        return Err(too_large(
            &file,
            path,
            "it is larger than anything that is served; look for a smaller file",
        ));
    }
    Ok(file)
}

/// Reads a part of a file as text. The extension decides before the content does.
pub(super) fn text(
    file: &mut RepoFile,
    path: &RepoPath,
    window: Window,
    cancel: &Cancel,
) -> Result<Part, Failure> {
    if is_binary_name(&path.display()) {
        return Err(binary(path));
    }
    window
        .read(file, cancel)
        .map_err(|unreadable_as| match unreadable_as {
            Unreadable::Binary => binary(path),
            Unreadable::Stopped(stopped) => RepoError::Stopped(stopped).into(),
            Unreadable::Io(error) => unreadable(path, &error),
        })
}

/// A time in data: RFC 3339 in UTC, with milliseconds.
pub(super) fn rfc3339(time: SystemTime) -> String {
    let time = jiff::Timestamp::try_from(time).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    format!("{time:.3}")
}

pub(super) fn too_large(file: &RepoFile, path: &RepoPath, suggestion: &str) -> Failure {
    let message = format!(
        "{} has {} bytes, more than can be read",
        shown(path),
        file.size()
    );
    Failure::new(Fault::FileTooLarge, message, suggestion).detail("size", file.size())
}

pub(super) fn unreadable(path: &RepoPath, error: &io::Error) -> Failure {
    tracing::warn!(kind = %error.kind(), "a file could not be read");
    let message = format!("{} could not be read", shown(path));
    Failure::new(Fault::InternalError, message, "try again in a few seconds")
}

fn binary(path: &RepoPath) -> Failure {
    let message = format!("{} is binary", shown(path));
    Failure::new(
        Fault::BinaryFile,
        message,
        "ask read_file for it with encoding \"base64\"",
    )
}

fn shown(path: &RepoPath) -> String {
    text::shown(&path.display()).into_owned()
}

/// The extensions that the repo contract takes for binary, whatever the content.
pub(super) fn is_binary_name(path: &str) -> bool {
    const BINARY: [&str; 35] = [
        "png", "jpg", "jpeg", "gif", "ico", "webp", "bmp", "zip", "tar", "gz", "bz2", "7z", "rar",
        "exe", "dll", "so", "dylib", "wasm", "pyc", "class", "o", "obj", "woff", "woff2", "ttf",
        "otf", "eot", "mp3", "mp4", "wav", "avi", "mov", "sqlite", "db", "pdf",
    ];
    let name = path.rsplit('/').next().unwrap_or(path);
    super::describe::extension(name).is_some_and(|extension| BINARY.contains(&extension.as_str()))
}
