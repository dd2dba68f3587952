//! Finds a file in a commit's parent: under the same name, or under its name before a rename.
//!
//! Renames are detected as in `git blame`: for this one file, among all files that the commit
//! deleted and no rule blocks, by the steps of [`renames`].

use std::rc::Rc;

use archway_repo::{Cancel, RepoPath};
use gix::ObjectId;
use gix::objs::tree::EntryKind;

use super::super::blobs::Blobs;
use super::super::change::{Change, ChangeKind};
use super::super::{FilterQuery, History, HistoryError, Side, renames, trees};

/// A file's name at some point in history.
#[derive(Debug)]
pub(super) struct Name {
    pub(super) path: RepoPath,
    /// For queries of changed-path filters.
    pub(super) filter_query: FilterQuery,
}

/// A version of a file in a commit's tree.
#[derive(Clone, Debug)]
pub(super) struct FileVersion {
    pub(super) entry: Side,
    /// The trees on its path, from the root down. Empty if unknown.
    folders: Vec<ObjectId>,
}

/// The lookup of a path in a commit's tree, compared with the child's version.
#[derive(Debug)]
pub(super) enum PathLookup {
    File(FileVersion),
    /// An entry of another type than the child's: a different file, and not a rename either.
    Other,
    Nothing,
}

/// A file's version before a rename.
#[derive(Debug)]
pub(super) struct RenameSource {
    /// `None` without a rename.
    pub(super) from: Option<(Rc<Name>, FileVersion)>,
    /// Rename detection was cut short.
    pub(super) is_cut: bool,
}

impl Name {
    pub(super) fn new(path: RepoPath) -> Rc<Name> {
        let filter_query = FilterQuery::of(&path);
        Rc::new(Name { path, filter_query })
    }
}

impl FileVersion {
    /// The same file, in a commit whose trees are unknown.
    pub(super) fn unchanged(&self) -> FileVersion {
        FileVersion {
            entry: self.entry,
            folders: Vec::new(),
        }
    }
}

impl History {
    /// Looks up `path` in the tree `root`. Folders shared with `like`, the same path in another
    /// commit, are not read again.
    pub(super) fn file_version(
        &self,
        root: ObjectId,
        path: &RepoPath,
        like: Option<&FileVersion>,
    ) -> Result<PathLookup, HistoryError> {
        let mut buffer = self.git.empty_reusable_buffer();
        let mut folders = Vec::new();
        let mut tree = root;
        let mut names = path.components().peekable();
        while let Some(name) = names.next() {
            let known = like.and_then(|like| like.folders.get(folders.len()..));
            if let (Some(like), Some(rest)) =
                (like, known.filter(|rest| rest.first() == Some(&tree)))
            {
                folders.extend_from_slice(rest);
                return Ok(PathLookup::File(FileVersion {
                    entry: like.entry,
                    folders,
                }));
            }
            folders.push(tree);
            let Some(entry) = trees::entry(&self.git, tree, name, &mut buffer)? else {
                return Ok(PathLookup::Nothing);
            };
            match (names.peek(), entry.mode.kind()) {
                (Some(_), EntryKind::Tree) => tree = entry.id,
                (Some(_), _) | (None, EntryKind::Tree) => return Ok(PathLookup::Nothing),
                (None, EntryKind::Commit) => return Ok(PathLookup::Other),
                (None, _) => {
                    let is_other = |like: &FileVersion| !trees::are_of_one_type(like.entry, entry);
                    if like.is_some_and(is_other) {
                        return Ok(PathLookup::Other);
                    }
                    return Ok(PathLookup::File(FileVersion { entry, folders }));
                }
            }
        }
        Ok(PathLookup::Nothing)
    }

    /// The source of the file `path` of the tree `new` in the tree `old`, if it was renamed.
    pub(super) fn renamed(
        &self,
        (old, new): (ObjectId, ObjectId),
        path: &RepoPath,
        cancel: &Cancel,
    ) -> Result<RenameSource, HistoryError> {
        let both = (Some(old), Some(new));
        let mut differences = trees::differences(&self.git, &self.rules, both, cancel)?;
        // The only added file: no other file may take its source.
        differences.retain(|difference| difference.new.is_none() || difference.path == *path);
        let changes = renames::pair(&Blobs::new(&self.git), differences, cancel)?;
        let from = changes.files.into_iter().find_map(|change| match change {
            Change {
                kind: ChangeKind::Renamed(from),
                old: Some(entry),
                ..
            } => {
                let folders = Vec::new();
                Some((Name::new(from), FileVersion { entry, folders }))
            }
            _ => None,
        });
        Ok(RenameSource {
            from,
            is_cut: changes.renames_cut,
        })
    }
}
