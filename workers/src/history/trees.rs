//! Which files differ between two trees, before anyone asks which of them were renamed.
//!
//! A tree of the same id is the same tree and is not read. What is blocked is not looked at, a
//! folder with all that it holds. A submodule is one entry, whatever its commit has.

use std::cmp::Ordering;

use gix::ObjectId;
use gix::objs::tree::{EntryKind, EntryRef};
use gix::objs::{FindExt as _, TreeRefIter};

use super::{HistoryError, Side, error::git};
use crate::repo::{Cancel, Kind, RepoError, RepoPath, Rules};

const READING: &str = "reading a tree";

/// How many files may differ: more than any repository has that can be listed.
const MAX_FILES: usize = 1_000_000;

/// How long a path may be, in bytes; what lies deeper does not exist.
const MAX_PATH: usize = 4096;

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
    let folder = |id| Side {
        id,
        mode: EntryKind::Tree.into(),
    };
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
    let mut walk = Walk {
        repository,
        rules,
        folders: Vec::new(),
        found: Vec::new(),
    };
    walk.begin(&path, sides);
    let mut buffers = (Vec::new(), Vec::new());
    while let Some(folder) = walk.folders.pop() {
        cancel.check()?;
        let old = walk.read(folder.old, &mut buffers.0)?;
        let new = walk.read(folder.new, &mut buffers.1)?;
        walk.compare(&folder.path, old, new)?;
        if walk.found.len() > MAX_FILES {
            return Err(RepoError::TooManyEntries { limit: MAX_FILES }.into());
        }
    }
    walk.found
        .sort_unstable_by(|a, b| a.path.as_bytes().cmp(b.path.as_bytes()));
    Ok(walk.found)
}

/// A folder whose trees differ.
struct Folder {
    path: RepoPath,
    old: Option<ObjectId>,
    new: Option<ObjectId>,
}

struct Walk<'a> {
    repository: &'a gix::Repository,
    rules: &'a Rules,
    /// Still to be compared: a tree may be deeper than a stack.
    folders: Vec<Folder>,
    found: Vec<Difference>,
}

impl Walk<'_> {
    /// A file that became a folder is gone, and all in the folder is new.
    fn begin(&mut self, path: &RepoPath, (old, new): (Option<Side>, Option<Side>)) {
        let is_tree = |side: &Side| side.mode.is_tree();
        let (old_tree, new_tree) = (old.filter(is_tree), new.filter(is_tree));
        let is_folder = old_tree.is_some() || new_tree.is_some();
        if is_folder && self.rules.judge(path, Kind::Directory).is_ok() {
            self.folders.push(Folder {
                path: path.clone(),
                old: old_tree.map(|side| side.id),
                new: new_tree.map(|side| side.id),
            });
        }
        let is_file = |side: &Side| !side.mode.is_tree();
        let (old, new) = (old.filter(is_file), new.filter(is_file));
        if old != new && self.rules.judge(path, Kind::File).is_ok() {
            self.found.push(Difference {
                path: path.clone(),
                old,
                new,
            });
        }
    }

    fn read<'b>(
        &self,
        id: Option<ObjectId>,
        buffer: &'b mut Vec<u8>,
    ) -> Result<TreeRefIter<'b>, HistoryError> {
        // Git has the empty tree without storing it.
        let id = id.filter(|id| !id.is_empty_tree());
        match id {
            Some(id) => {
                let found = self.repository.objects.find_tree_iter(&id, buffer);
                found.map_err(git(READING))
            }
            None => Ok(TreeRefIter::from_bytes(&[], self.repository.object_hash())),
        }
    }

    /// Goes through two trees side by side: both are sorted alike.
    fn compare(
        &mut self,
        folder: &RepoPath,
        mut old: TreeRefIter<'_>,
        mut new: TreeRefIter<'_>,
    ) -> Result<(), HistoryError> {
        let mut next_old = next(&mut old)?;
        let mut next_new = next(&mut new)?;
        loop {
            let order = match (&next_old, &next_new) {
                (None, None) => return Ok(()),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(old), Some(new)) => order(old, new),
            };
            let left = next_old.filter(|_| order != Ordering::Greater);
            let right = next_new.filter(|_| order != Ordering::Less);
            self.meet(folder, left, right);
            if order != Ordering::Greater {
                next_old = next(&mut old)?;
            }
            if order != Ordering::Less {
                next_new = next(&mut new)?;
            }
        }
    }

    /// What stands under one name in either tree.
    fn meet(&mut self, folder: &RepoPath, old: Option<EntryRef<'_>>, new: Option<EntryRef<'_>>) {
        let (old_side, new_side) = (old.map(side), new.map(side));
        let Some(entry) = old.or(new).filter(|_| old_side != new_side) else {
            return;
        };
        let Some(path) = entry_path(folder, entry.filename) else {
            return;
        };
        if !entry.mode.is_tree() {
            if self.rules.judge(&path, Kind::File).is_ok() {
                self.found.push(Difference {
                    path,
                    old: old_side,
                    new: new_side,
                });
            }
        } else if self.rules.judge(&path, Kind::Directory).is_ok() {
            self.folders.push(Folder {
                path,
                old: old_side.map(|side| side.id),
                new: new_side.map(|side| side.id),
            });
        }
    }
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

fn next<'a>(tree: &mut TreeRefIter<'a>) -> Result<Option<EntryRef<'a>>, HistoryError> {
    tree.next().transpose().map_err(git(READING))
}

/// A mode as git writes it today: old repositories have others that mean the same.
fn side(entry: EntryRef<'_>) -> Side {
    Side {
        id: entry.oid.to_owned(),
        mode: entry.mode.kind().into(),
    }
}

/// The path of a folder's entry; `None` for a name that no file can have, or a path too long.
pub(super) fn entry_path(folder: &RepoPath, name: &[u8]) -> Option<RepoPath> {
    let is_name = !name.contains(&b'/') && is_normal(name);
    let path = is_name.then(|| folder.join(name))?;
    (path.as_bytes().len() <= MAX_PATH).then_some(path)
}

/// Whether a path that was read from a repository's data can be a file's.
pub(super) fn is_normal(path: &[u8]) -> bool {
    let mut names = path.split(|&byte| byte == b'/');
    names.all(|name| !matches!(name, b"" | b"." | b".."))
}

/// Git's order within a tree: a folder's name is followed by a slash. A file and a folder of one
/// name are therefore two entries.
fn order(a: &EntryRef<'_>, b: &EntryRef<'_>) -> Ordering {
    let common = a.filename.len().min(b.filename.len());
    let next = |entry: &EntryRef<'_>| {
        let end = entry.mode.is_tree().then_some(b'/');
        entry.filename.get(common).copied().or(end)
    };
    let heads = a.filename.get(..common).cmp(&b.filename.get(..common));
    heads.then_with(|| next(a).cmp(&next(b)))
}

/// Whether both are files, links or submodules.
pub(super) fn are_of_one_type(old: Side, new: Side) -> bool {
    let kind = |side: Side| match side.mode.kind() {
        EntryKind::BlobExecutable => EntryKind::Blob,
        kind => kind,
    };
    kind(old) == kind(new)
}
