//! The files in which two trees differ, before rename detection.
//!
//! Trees of equal id are skipped unread. Blocked files and folders are skipped. A submodule is one
//! entry, whatever its commit contains.

mod diff;
mod pairs;

use archway_repo::{Cancel, RepoPath, Rules};
use gix::ObjectId;
use gix::objs::FindExt as _;
use gix::objs::tree::{EntryKind, EntryRef};

use super::{HistoryError, Side, error::git};
use diff::TreeDiff;
pub(super) use pairs::zip_entries;

pub(super) use diff::Limits;

const READING: &str = "reading a tree";

/// The longest path, in bytes. Deeper files are ignored.
pub(super) const MAX_PATH: usize = 4096;

/// A file that differs between two trees, or that only one of them has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Difference {
    pub(super) path: RepoPath,
    pub(super) old: Option<Side>,
    pub(super) new: Option<Side>,
}

/// The differences between two trees, in byte order of their paths, which is git's. `None` is the
/// empty tree.
///
/// # Errors
/// If a tree can't be read, or the call has to stop.
pub(super) fn differences(
    repository: &gix::Repository,
    rules: &Rules,
    trees: (Option<ObjectId>, Option<ObjectId>),
    cancel: &Cancel,
) -> Result<Vec<Difference>, HistoryError> {
    differences_beneath(repository, rules, RepoPath::root(), trees, cancel)
}

/// [`differences`] including blocked files, within the limit `limits`.
///
/// # Errors
/// If a tree can't be read, the limit is exceeded, or the call has to stop.
pub(super) fn all_differences(
    repository: &gix::Repository,
    (old, new): (Option<ObjectId>, Option<ObjectId>),
    limits: Limits,
    cancel: &Cancel,
) -> Result<Vec<Difference>, HistoryError> {
    let sides = (old.map(folder), new.map(folder));
    let walk = TreeDiff::new(repository, None).with_limits(limits);
    walk.run(&RepoPath::root(), sides, cancel)
}

/// [`differences`] between two trees at `path`.
///
/// # Errors
/// If a tree can't be read, or the call has to stop.
pub(super) fn differences_beneath(
    repository: &gix::Repository,
    rules: &Rules,
    path: RepoPath,
    trees: (Option<ObjectId>, Option<ObjectId>),
    cancel: &Cancel,
) -> Result<Vec<Difference>, HistoryError> {
    let sides = (trees.0.map(folder), trees.1.map(folder));
    differences_at(repository, rules, path, sides, cancel)
}

/// [`differences`] between the entries at `path`, each a file or a folder.
///
/// # Errors
/// If a tree can't be read, or the call has to stop.
pub(super) fn differences_at(
    repository: &gix::Repository,
    rules: &Rules,
    path: RepoPath,
    sides: (Option<Side>, Option<Side>),
    cancel: &Cancel,
) -> Result<Vec<Difference>, HistoryError> {
    TreeDiff::new(repository, Some(rules)).run(&path, sides, cancel)
}

/// A tree's entry `name`, read through `buffer`.
///
/// # Errors
/// If the tree can't be read.
pub(super) fn entry(
    repository: &gix::Repository,
    tree: ObjectId,
    name: &[u8],
    buffer: &mut Vec<u8>,
) -> Result<Option<Side>, HistoryError> {
    // Git has the empty tree without storing it.
    if tree.is_empty_tree() {
        return Ok(None);
    }
    let entries = repository.objects.find_tree_iter(&tree, buffer);
    for entry in entries.map_err(git(READING))? {
        let entry = entry.map_err(git(READING))?;
        if entry.filename == name {
            return Ok(Some(side(entry)));
        }
        // Entries are sorted, a folder's name as if a slash followed it.
        if entry.filename > name && !entry.filename.starts_with(name) {
            break;
        }
    }
    Ok(None)
}

/// Normalizes the mode: old repositories have others of the same meaning.
pub(super) fn side(entry: EntryRef<'_>) -> Side {
    Side {
        id: entry.oid.to_owned(),
        mode: entry.mode.kind().into(),
    }
}

fn folder(id: ObjectId) -> Side {
    Side {
        id,
        mode: EntryKind::Tree.into(),
    }
}

/// The path of a folder's entry. `None` for an invalid name, or a path that is too long.
pub(super) fn entry_path(folder: &RepoPath, name: &[u8]) -> Option<RepoPath> {
    let path = is_name(name).then(|| folder.join(name))?;
    (path.as_bytes().len() <= MAX_PATH).then_some(path)
}

/// Whether a tree entry's name is valid for a file or folder.
pub(super) fn is_name(name: &[u8]) -> bool {
    !name.contains(&b'/') && is_normal(name)
}

/// Whether a path from a repository's data is valid.
pub(super) fn is_normal(path: &[u8]) -> bool {
    let mut names = path.split(|&byte| byte == b'/');
    names.all(|name| !matches!(name, b"" | b"." | b".."))
}

/// Whether both are files, both links, or both submodules.
pub(super) fn are_of_one_type(old: Side, new: Side) -> bool {
    let kind = |side: Side| match side.mode.kind() {
        EntryKind::BlobExecutable => EntryKind::Blob,
        kind => kind,
    };
    kind(old) == kind(new)
}
