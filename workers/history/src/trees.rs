//! Which files differ between two trees, before anyone asks which of them were renamed.
//!
//! A tree of the same id is the same tree and is not read. What is blocked is not looked at, a
//! folder with all that it holds. A submodule is one entry, whatever its commit has.

mod walk;
mod pairs;

use archway_repo::{Cancel, RepoPath, Rules};
use gix::ObjectId;
use gix::objs::FindExt as _;
use gix::objs::tree::{EntryKind, EntryRef};

use super::{HistoryError, Side, error::git};
pub(super) use pairs::in_pairs;
use walk::Walk;

pub(super) use walk::Most;

const READING: &str = "reading a tree";

/// How long a path may be, in bytes; what lies deeper does not exist.
pub(super) const MAX_PATH: usize = 4096;

/// A file that only one tree has, or that is not the same in both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Difference {
    pub(super) path: RepoPath,
    pub(super) old: Option<Side>,
    pub(super) new: Option<Side>,
}

/// What differs between two trees, in the order of the paths' bytes, which is git's; `None` is
/// the empty tree.
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

/// [`differences`], with all that is blocked, for who has no use for more than `most`.
///
/// # Errors
/// If a tree can't be read, there are more, or the call has to stop.
pub(super) fn all_differences(
    repository: &gix::Repository,
    (old, new): (Option<ObjectId>, Option<ObjectId>),
    most: Most,
    cancel: &Cancel,
) -> Result<Vec<Difference>, HistoryError> {
    let sides = (old.map(folder), new.map(folder));
    let walk = Walk::new(repository, None).at_most(most);
    walk.run(&RepoPath::root(), sides, cancel)
}

/// [`differences`] between two trees that stand at `path`.
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

/// [`differences`] of what stands at `path` on either side, a file or a folder.
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
    Walk::new(repository, Some(rules)).run(&path, sides, cancel)
}

/// What a tree has under `name`; read into `buffer`.
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

/// A mode as git writes it today: old repositories have others that mean the same.
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

/// The path of a folder's entry; `None` for a name that no file can have, or a path too long.
pub(super) fn entry_path(folder: &RepoPath, name: &[u8]) -> Option<RepoPath> {
    let path = is_name(name).then(|| folder.join(name))?;
    (path.as_bytes().len() <= MAX_PATH).then_some(path)
}

/// Whether an entry of a tree can be a file's or folder's.
pub(super) fn is_name(name: &[u8]) -> bool {
    !name.contains(&b'/') && is_normal(name)
}

/// Whether a path that was read from a repository's data can be a file's.
pub(super) fn is_normal(path: &[u8]) -> bool {
    let mut names = path.split(|&byte| byte == b'/');
    names.all(|name| !matches!(name, b"" | b"." | b".."))
}

/// Whether both are files, links or submodules.
pub(super) fn are_of_one_type(old: Side, new: Side) -> bool {
    let kind = |side: Side| match side.mode.kind() {
        EntryKind::BlobExecutable => EntryKind::Blob,
        kind => kind,
    };
    kind(old) == kind(new)
}
