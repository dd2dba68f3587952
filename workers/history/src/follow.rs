//! The history of one file through its renames, as `git log --follow` tells it.
//!
//! Where a commit added the file, the parent's whole tree is looked through for what it was made
//! of. From there on the walk looks for that name, in all commits that come later: on every line of
//! history, since the walk has one name at a time. Merges are passed over. All of it is git's rule,
//! and so is what it brings: a rename in a commit that a filter hides is not seen.

use std::sync::Arc;

use archway_repo::{Cancel, Kind, RepoPath};
use gix::ObjectId;

use super::log_file::{ChangedFile, Status};
use super::scope::Scope;
use super::steps::Step;
use super::{History, HistoryError, Keepable, Question, Side, origin::Origin, trees};

/// A file whose history is followed.
pub(super) struct Follow {
    scope: Scope,
}

/// What a commit did to the file.
pub(super) enum Touch {
    Nothing,
    /// There is a folder of this name, and was never a file.
    Folder,
    File {
        old: Option<Side>,
        new: Option<Side>,
    },
}

impl Follow {
    /// Follows the file that is called `path` where the walk begins, or goes on.
    pub(super) fn of(path: RepoPath) -> Follow {
        Follow {
            scope: Scope::of(path),
        }
    }

    /// What the file is called where the walk is now.
    pub(super) fn path(&self) -> &RepoPath {
        self.scope.path()
    }

    /// From here on the file is called so.
    pub(super) fn rename(&mut self, path: RepoPath) {
        self.scope = Scope::of(path);
    }

    /// What a commit did to the file, before it is asked where it came from.
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

    /// What became of the file in a commit that touched it.
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

    /// Where the file, which the commit added, came from. To look through all of a tree takes long,
    /// and who asks for a file's history asks for it again.
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

    /// What the ledger says. It has only what holds whatever else is blocked: where the file that
    /// it names can't be seen, another one may be found.
    fn noted(&self, history: &History, commit: ObjectId) -> Option<Option<Origin>> {
        let noted = history.ledger().origin(&commit, self.path())?;
        let is_seen = |origin: &Origin| history.rules.judge(&origin.path, Kind::File).is_ok();
        noted.as_ref().is_none_or(is_seen).then_some(noted)
    }
}

/// Where an added file came from, kept between calls.
struct Found(Option<Origin>);

impl Keepable for Found {
    const NAME: &'static str = "origin";

    fn bytes(&self) -> usize {
        let path = |origin: &Origin| origin.path.as_bytes().len();
        size_of::<Found>() + self.0.as_ref().map_or(0, path)
    }
}
