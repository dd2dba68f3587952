//! The history of one file through its renames, like `git log --follow`.
//!
//! Where a commit added the file, the parent's whole tree is searched for its source. From there on
//! the walk looks for that name in all later commits, on every line of history, since a walk has
//! one name at a time. Merges are skipped. All of this is git's rule, with git's consequence: a
//! rename in a commit that a filter hides goes unnoticed.

use std::sync::Arc;

use archway_repo::{Cancel, Kind, RepoPath};
use gix::ObjectId;

use super::log_file::{ChangedFile, Status};
use super::scope::Scope;
use super::steps::Step;
use super::{History, HistoryError, Keepable, Question, Side, origin::Origin, trees};

/// A followed file.
pub(super) struct Follow {
    scope: Scope,
}

/// What a commit did to the file.
pub(super) enum Touch {
    Nothing,
    /// The name is a folder, and was no file.
    Folder,
    File {
        old: Option<Side>,
        new: Option<Side>,
    },
}

impl Follow {
    /// Follows the file named `path` at the start of the walk, or where it resumes.
    pub(super) fn of(path: RepoPath) -> Follow {
        Follow {
            scope: Scope::of(path),
        }
    }

    /// The file's name at this point of the walk.
    pub(super) fn path(&self) -> &RepoPath {
        self.scope.path()
    }

    /// Changes the name that the walk looks for.
    pub(super) fn rename(&mut self, path: RepoPath) {
        self.scope = Scope::of(path);
    }

    /// What a commit did to the file, before rename detection.
    ///
    /// # Errors
    /// If an object can't be read.
    pub(super) fn touch(&mut self, history: &History, step: &Step) -> Result<Touch, HistoryError> {
        if step.parents.len() > 1 || self.scope.is_known_same(history, step.spot) {
            return Ok(Touch::Nothing);
        }
        let old = history.first_parent_tree(step)?;
        let (old, new) = self.scope.sides(history, old, Some(step.tree))?;
        if old == new {
            return Ok(Touch::Nothing);
        }
        let is_file = |side: &Side| !side.mode.is_tree();
        match (old.filter(is_file), new.filter(is_file)) {
            (None, None) => Ok(Touch::Folder),
            (old, new) => Ok(Touch::File { old, new }),
        }
    }

    /// The change of the file in a commit that touched it.
    ///
    /// # Errors
    /// If an object can't be read, or the call has to stop.
    pub(super) fn change(
        &self,
        history: &History,
        step: &Step,
        sides: (Option<Side>, Option<Side>),
        cancel: &Cancel,
    ) -> Result<ChangedFile, HistoryError> {
        let path = self.path().clone();
        let (status, old_path) = match sides {
            (_, None) => (Status::Deleted, None),
            (Some(old), Some(new)) if trees::are_of_one_type(old, new) => (Status::Modified, None),
            (Some(_), Some(_)) => (Status::TypeChanged, None),
            (None, Some(new)) => match self.origin(history, step, new, cancel)? {
                None => (Status::Added, None),
                Some(Origin {
                    path,
                    is_copy: true,
                }) => (Status::Copied, Some(path)),
                Some(Origin { path, .. }) => (Status::Renamed, Some(path)),
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
    fn origin(
        &self,
        history: &History,
        step: &Step,
        side: Side,
        cancel: &Cancel,
    ) -> Result<Option<Origin>, HistoryError> {
        let commit = history.id_of(step.spot);
        if let Some(noted) = self.noted(history, commit) {
            return Ok(noted);
        }
        let question = Question {
            commit,
            path: self.path().clone(),
            detail: String::new(),
        };
        if let Some(kept) = history.kept().get::<Found>(&question) {
            return Ok(kept.0.clone());
        }
        let trees = (history.first_parent_tree(step)?, step.tree);
        let found = history.origin(self.path(), side, trees, cancel)?;
        let keeping = Arc::new(Found(found.clone()));
        history.kept().keep(&question, keeping);
        Ok(found)
    }

    /// The ledger's source. The ledger has only sources that hold whatever else is blocked; if the
    /// named source itself is blocked, another file may be found.
    fn noted(&self, history: &History, commit: ObjectId) -> Option<Option<Origin>> {
        let noted = history.ledger().origin(&commit, self.path())?;
        let is_seen = |origin: &Origin| history.rules.judge(&origin.path, Kind::File).is_ok();
        noted.as_ref().is_none_or(is_seen).then_some(noted)
    }
}

/// The source of an added file, as a cached answer.
struct Found(Option<Origin>);

impl Keepable for Found {
    const NAME: &'static str = "origin";

    fn bytes(&self) -> usize {
        let path = |origin: &Origin| origin.path.as_bytes().len();
        size_of::<Found>() + self.0.as_ref().map_or(0, path)
    }
}
