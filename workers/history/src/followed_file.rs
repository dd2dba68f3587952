//! The history of one file through its renames, like `git log --follow`.
//!
//! Where a commit added the file, the parent's whole tree is searched for its source. From there on
//! the walk looks for that name in all later commits, on every line of history, since a walk has
//! one name at a time. Merges are skipped. All of this is git's rule, with git's consequence: a
//! rename in a commit that a filter hides goes unnoticed.

use std::sync::Arc;

use archway_repo::{Cancel, Kind, RepoPath};
use gix::ObjectId;

use super::changed_file::{ChangedFile, Status};
use super::path_limiter::PathLimiter;
use super::walk_node::WalkNode;
use super::{AnswerKey, Cacheable, History, HistoryError, Side, file_source::FileSource, trees};

/// A followed file.
pub(super) struct FollowedFile {
    limiter: PathLimiter,
}

/// The effect of a commit on the followed file.
pub(super) enum CommitEffect {
    Nothing,
    /// The name is a folder, and was no file.
    Folder,
    File {
        old: Option<Side>,
        new: Option<Side>,
    },
}

impl FollowedFile {
    /// Follows the file named `path` at the start of the walk, or where it resumes.
    pub(super) fn of(path: RepoPath) -> FollowedFile {
        FollowedFile {
            limiter: PathLimiter::of(path),
        }
    }

    /// The file's name at this point of the walk.
    pub(super) fn path(&self) -> &RepoPath {
        self.limiter.path()
    }

    /// Changes the name that the walk looks for.
    pub(super) fn rename(&mut self, path: RepoPath) {
        self.limiter = PathLimiter::of(path);
    }

    /// The effect of a commit on the file, before rename detection.
    ///
    /// # Errors
    /// If an object can't be read.
    pub(super) fn effect_of(
        &mut self,
        history: &History,
        node: &WalkNode,
    ) -> Result<CommitEffect, HistoryError> {
        if node.parents.len() > 1 || self.limiter.is_proven_same(history, node.key) {
            return Ok(CommitEffect::Nothing);
        }
        let old = history.first_parent_tree(node)?;
        let (old, new) = self.limiter.sides(history, old, Some(node.tree))?;
        if old == new {
            return Ok(CommitEffect::Nothing);
        }
        let is_file = |side: &Side| !side.mode.is_tree();
        match (old.filter(is_file), new.filter(is_file)) {
            (None, None) => Ok(CommitEffect::Folder),
            (old, new) => Ok(CommitEffect::File { old, new }),
        }
    }

    /// The change of the file in a commit that touched it.
    ///
    /// # Errors
    /// If an object can't be read, or the call has to stop.
    pub(super) fn change(
        &self,
        history: &History,
        node: &WalkNode,
        sides: (Option<Side>, Option<Side>),
        cancel: &Cancel,
    ) -> Result<ChangedFile, HistoryError> {
        let path = self.path().clone();
        let (status, old_path) = match sides {
            (_, None) => (Status::Deleted, None),
            (Some(old), Some(new)) if trees::are_of_one_type(old, new) => (Status::Modified, None),
            (Some(_), Some(_)) => (Status::TypeChanged, None),
            (None, Some(new)) => match self.source(history, node, new, cancel)? {
                None => (Status::Added, None),
                Some(FileSource {
                    path,
                    is_copy: true,
                }) => (Status::Copied, Some(path)),
                Some(FileSource { path, .. }) => (Status::Renamed, Some(path)),
            },
        };
        Ok(ChangedFile {
            path,
            old_path,
            status,
        })
    }

    /// The source of the file, which the commit added. Cached, since searching a whole tree is slow
    /// and a file's history is often requested again.
    fn source(
        &self,
        history: &History,
        node: &WalkNode,
        side: Side,
        cancel: &Cancel,
    ) -> Result<Option<FileSource>, HistoryError> {
        let commit = history.id_of(node.key);
        if let Some(recorded) = self.ledger_source(history, commit) {
            return Ok(recorded);
        }
        let key = AnswerKey {
            commit,
            path: self.path().clone(),
            detail: String::new(),
        };
        if let Some(cached) = history.cache().get::<CachedSource>(&key) {
            return Ok(cached.0.clone());
        }
        let trees = (history.first_parent_tree(node)?, node.tree);
        let found = history.file_source(self.path(), side, trees, cancel)?;
        let cached = Arc::new(CachedSource(found.clone()));
        history.cache().insert(&key, cached);
        Ok(found)
    }

    /// The ledger's source. The ledger has only sources that hold whatever else is blocked; if the
    /// named source itself is blocked, another file may be found.
    fn ledger_source(&self, history: &History, commit: ObjectId) -> Option<Option<FileSource>> {
        let recorded = history.ledger().file_source(&commit, self.path())?;
        let is_visible =
            |source: &FileSource| history.rules.check(&source.path, Kind::File).is_ok();
        recorded.as_ref().is_none_or(is_visible).then_some(recorded)
    }
}

/// The source of an added file, as a cached answer.
struct CachedSource(Option<FileSource>);

impl Cacheable for CachedSource {
    const NAME: &'static str = "origin";

    fn bytes(&self) -> usize {
        let path = |source: &FileSource| source.path.as_bytes().len();
        size_of::<CachedSource>() + self.0.as_ref().map_or(0, path)
    }
}
