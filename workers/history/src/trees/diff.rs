//! Compares two trees folder by folder, as far as they differ.

use archway_repo::{Cancel, Kind, RepoError, RepoPath, Rules};
use gix::ObjectId;
use gix::objs::tree::EntryRef;
use gix::objs::{FindExt as _, TreeRefIter};

use super::super::error::git;
use super::super::{HistoryError, Side};
use super::pairs::zip_entries;
use super::{Difference, READING, entry_path, side};

/// Maximum number of differing files: more than any repository that can be listed has.
const MAX_FILES: usize = 1_000_000;
/// Size of all visited paths, in bytes: a few objects can spell out more long paths than fit into
/// memory.
const MAX_PATH_BYTES: usize = 128 << 20;

/// Limits of a tree comparison.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Files that differ.
    pub(crate) files: usize,
    /// Folders that differ.
    pub(crate) folders: usize,
}

/// A folder whose trees differ.
struct Folder {
    path: RepoPath,
    old: Option<ObjectId>,
    new: Option<ObjectId>,
}

/// A tree comparison in progress.
pub(super) struct TreeDiff<'a> {
    repository: &'a gix::Repository,
    /// `None` admits all paths.
    rules: Option<&'a Rules>,
    /// A work list instead of recursion: a tree may be deeper than the stack.
    folders: Vec<Folder>,
    found: Vec<Difference>,
    limits: Limits,
    /// Bytes of paths that may still be stored, of [`MAX_PATH_BYTES`].
    bytes_left: usize,
}

impl<'a> TreeDiff<'a> {
    pub(super) fn new(repository: &'a gix::Repository, rules: Option<&'a Rules>) -> Self {
        TreeDiff {
            repository,
            rules,
            folders: Vec::new(),
            found: Vec::new(),
            // A call is bounded by its deadline.
            limits: Limits {
                files: MAX_FILES,
                folders: usize::MAX,
            },
            bytes_left: MAX_PATH_BYTES,
        }
    }

    /// Fails with [`RepoError::TooManyEntries`] beyond this limit.
    pub(super) fn with_limits(self, limits: Limits) -> Self {
        TreeDiff { limits, ..self }
    }

    /// The differences, in byte order of their paths.
    pub(super) fn run(
        mut self,
        path: &RepoPath,
        sides: (Option<Side>, Option<Side>),
        cancel: &Cancel,
    ) -> Result<Vec<Difference>, HistoryError> {
        self.add_root(path, sides);
        let mut buffers = (Vec::new(), Vec::new());
        let mut folders = 0;
        while let Some(folder) = self.folders.pop() {
            cancel.check()?;
            folders += 1;
            let old = self.read(folder.old, &mut buffers.0)?;
            let new = self.read(folder.new, &mut buffers.1)?;
            if folders > self.limits.folders {
                return Err(self.too_many().into());
            }
            let visit = |old, new| Ok(self.visit(&folder.path, old, new)?);
            zip_entries(old, new, cancel, visit)?;
        }
        self.found
            .sort_unstable_by(|a, b| a.path.as_bytes().cmp(b.path.as_bytes()));
        Ok(self.found)
    }

    fn admits(&self, path: &RepoPath, kind: Kind) -> bool {
        self.rules
            .is_none_or(|rules| rules.check(path, kind).is_ok())
    }

    /// A file that became a folder counts as deleted, and everything in the folder as added.
    fn add_root(&mut self, path: &RepoPath, (old, new): (Option<Side>, Option<Side>)) {
        let is_tree = |side: &Side| side.mode.is_tree();
        let (old_tree, new_tree) = (old.filter(is_tree), new.filter(is_tree));
        let is_folder = old_tree.is_some() || new_tree.is_some();
        if is_folder && self.admits(path, Kind::Directory) {
            self.folders.push(Folder {
                path: path.clone(),
                old: old_tree.map(|side| side.id),
                new: new_tree.map(|side| side.id),
            });
        }
        let is_file = |side: &Side| !side.mode.is_tree();
        let (old, new) = (old.filter(is_file), new.filter(is_file));
        if old != new && self.admits(path, Kind::File) {
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

    /// Compares the entries of one name.
    fn visit(
        &mut self,
        folder: &RepoPath,
        old: Option<EntryRef<'_>>,
        new: Option<EntryRef<'_>>,
    ) -> Result<(), RepoError> {
        let (old_side, new_side) = (old.map(side), new.map(side));
        let Some(entry) = old.or(new).filter(|_| old_side != new_side) else {
            return Ok(());
        };
        let Some(path) = entry_path(folder, entry.filename) else {
            return Ok(());
        };
        self.reserve(&path)?;
        if !entry.mode.is_tree() {
            if self.admits(&path, Kind::File) {
                if self.found.len() == self.limits.files {
                    return Err(self.too_many());
                }
                self.found.push(Difference {
                    path,
                    old: old_side,
                    new: new_side,
                });
            }
        } else if self.admits(&path, Kind::Directory) {
            self.folders.push(Folder {
                path,
                old: old_side.map(|side| side.id),
                new: new_side.map(|side| side.id),
            });
        }
        Ok(())
    }

    fn reserve(&mut self, path: &RepoPath) -> Result<(), RepoError> {
        let left = self.bytes_left.checked_sub(path.as_bytes().len());
        self.bytes_left = left.ok_or_else(|| self.too_many())?;
        Ok(())
    }

    fn too_many(&self) -> RepoError {
        let limit = self.limits.files;
        RepoError::TooManyEntries { limit }
    }
}

#[cfg(test)]
mod tests {
    use archway_repo::testing::{Sandbox, cancel};

    use super::*;

    #[test]
    fn trees_with_countless_long_paths_are_rejected() {
        let app = Sandbox::new();
        app.file("a", "1").committed();
        let tree = app.bomb().parse().unwrap();
        let side = super::super::folder(tree);
        let whole = cancel();
        let git = app.repo().git().unwrap();
        let walk = TreeDiff::new(&git, None).run(&RepoPath::root(), (None, Some(side)), &whole);
        let refused = walk.err();
        assert!(
            matches!(
                refused,
                Some(HistoryError::Repo(RepoError::TooManyEntries { .. }))
            ),
            "{refused:?}"
        );
        // A million of these paths take two gigabytes.
        assert!(whole.checks() < 20_000, "{}", whole.checks());
    }
}
