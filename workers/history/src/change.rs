//! Changes of files.

use archway_repo::RepoPath;
use gix::{ObjectId, objs::tree::EntryMode};

/// One changed file. Blocked paths are left out: a rename from a blocked path counts as an
/// addition, a rename to one as a deletion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The path after the change, or before it if the file was deleted.
    pub path: RepoPath,
    /// The kind of change.
    pub kind: ChangeKind,
    /// The file before. `None` if it was added.
    pub old: Option<Side>,
    /// The file after. `None` if it was deleted.
    pub new: Option<Side>,
}

/// The kind of change of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// The file is new.
    Added,
    /// Its content or its executable bit changed.
    Modified,
    /// The file is gone.
    Deleted,
    /// Renamed from this path. Its content may differ, too.
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

/// All changes, in order of path components, as everywhere. (Git's own order is by byte.)
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// The files, by path.
    pub files: Vec<Change>,
    /// Rename detection was cut short. With too many added and deleted files, only those of equal
    /// content or name were paired; without enough time, only those of equal content.
    pub renames_cut: bool,
}
