//! Opens files for the reading tools: under the path rules, without binary files.

use std::io;

use archway_history::{ABSENT_AT_REVISION, FOLDER_AT_REVISION};
use archway_proto::{failure::Failure, fault::Fault};
use archway_repo::{Cancel, Repo, RepoError, RepoFile, RepoPath, text};

use super::{
    near,
    window::{Part, Unreadable, Window},
};

/// Maximum size in bytes of a file that is opened.
const MAX_SIZE: u64 = 64 << 20;

/// Opens a file for reading, unless it is too large.
pub(in crate::tools) fn file(
    repo: &Repo,
    path: &RepoPath,
    cancel: &Cancel,
) -> Result<RepoFile, Failure> {
    file_of(repo, path, None, cancel)
}

/// [`file()`] at `revision`, if one was named.
pub(super) fn file_of(
    repo: &Repo,
    path: &RepoPath,
    revision: Option<&str>,
    cancel: &Cancel,
) -> Result<RepoFile, Failure> {
    opened(repo, path, |error| {
        let (failure, is_folder) = absent(repo, path, revision, error);
        match is_folder {
            true => failure,
            false => near::suggest(failure, near::files(repo, path, cancel, |_| true)),
        }
    })
}

/// [`file()`] of the project's allow-list: no other path is named.
pub(super) fn allowed_file(
    repo: &Repo,
    path: &RepoPath,
    cancel: &Cancel,
) -> Result<RepoFile, Failure> {
    opened(repo, path, |error| {
        let (failure, is_folder) = absent(repo, path, None, error);
        if is_folder {
            return failure;
        }
        let rules = repo.rules();
        let near = near::files(repo, path, cancel, |path| rules.allows_reading(path));
        near::suggest(failure, near)
    })
}

fn opened(
    repo: &Repo,
    path: &RepoPath,
    absent: impl FnOnce(RepoError) -> Failure,
) -> Result<RepoFile, Failure> {
    let file = repo.open(path).map_err(|error| match error {
        RepoError::NotFound { .. } => absent(error),
        error => error.into(),
    })?;
    if file.size() > MAX_SIZE {
        return Err(too_large(
            &file,
            path,
            "files of this size are never served; look for a smaller file",
        ));
    }
    Ok(file)
}

/// The failure for a path without a file, and whether it is a folder or a submodule, for which nothing is near. No
/// tool lists the files of a revision.
fn absent(
    repo: &Repo,
    path: &RepoPath,
    revision: Option<&str>,
    error: RepoError,
) -> (Failure, bool) {
    if let Some(submodule) = repo.submodule(path) {
        return (submodule.into(), true);
    }
    let is_folder = repo.directory(path).is_ok();
    let suggestion = match (is_folder, revision) {
        (false, None) => return (error.into(), false),
        (false, Some(_)) => ABSENT_AT_REVISION,
        (true, None) => "call list_files with it as directory, and read a file in it",
        (true, Some(_)) => FOLDER_AT_REVISION,
    };
    let mut message = format!("no file {}", shown(path));
    if let Some(revision) = revision {
        message += &format!(" at {}", text::shown(revision));
    }
    if is_folder {
        message += ": it is a folder";
    }
    let failure = Failure::new(Fault::FileNotFound, message, suggestion);
    (failure, is_folder)
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
    window.read(file, cancel).map_err(|error| match error {
        Unreadable::Binary => binary(path),
        Unreadable::Stopped(stopped) => RepoError::Stopped(stopped).into(),
        Unreadable::Io(error) => unreadable(path, &error),
    })
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
        "read it with read_file and encoding \"base64\"",
    )
}

fn shown(path: &RepoPath) -> String {
    text::shown(&path.display()).into_owned()
}

/// Extensions that the repo contract treats as binary, whatever the content.
pub(super) fn is_binary_name(path: &str) -> bool {
    const BINARY: [&str; 35] = [
        "png", "jpg", "jpeg", "gif", "ico", "webp", "bmp", "zip", "tar", "gz", "bz2", "7z", "rar",
        "exe", "dll", "so", "dylib", "wasm", "pyc", "class", "o", "obj", "woff", "woff2", "ttf",
        "otf", "eot", "mp3", "mp4", "wav", "avi", "mov", "sqlite", "db", "pdf",
    ];
    let name = path.rsplit('/').next().unwrap_or(path);
    super::describe::extension(name).is_some_and(|extension| BINARY.contains(&extension.as_str()))
}
