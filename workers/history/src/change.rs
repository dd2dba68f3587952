//! One file that differs, and all of them together.

use archway_repo::RepoPath;
use gix::{ObjectId, objs::tree::EntryMode};

/// One file that differs. Blocked paths are not among them: a file that was renamed from a blocked
/// name was added, one that was renamed to it deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Where the file is now, or was if it is gone.
    pub path: RepoPath,
    /// What became of it.
    pub kind: ChangeKind,
    /// The file before; `None` if it was added.
    pub old: Option<Side>,
    /// The file after; `None` if it was deleted.
    pub new: Option<Side>,
}

/// What became of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// Its content or its executable bit changed.
    Modified,
    /// It is gone.
    Deleted,
    /// From this path; its content may differ, too.
    Renamed(RepoPath),
    /// Between file, link and submodule.
    TypeChanged,
}

/// A file in a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
    pub(crate) id: ObjectId,
    /// File, executable, link or submodule.
    pub mode: EntryMode,
}

/// What differs, in the order of the paths: by component, as everywhere. (Git's own is by byte.)
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// The files, by path.
    pub files: Vec<Change>,
    /// Not all renames were looked for: too many files came and went (then those of the same
    /// content or name were paired), or there was no time (then those of the same content).
    pub renames_cut: bool,
}
