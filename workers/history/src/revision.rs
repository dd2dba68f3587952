//! Resolves revisions to commits.
//!
//! The syntax is git's, except for revisions that do not name one commit ([`parse`]). A resolved
//! commit is served only if HEAD, a branch, a remote branch or a tag reaches it: dropped commits,
//! stashes and pull requests do not exist here, however they are named. HEAD is the commit that the
//! call is pinned to.

mod parse;
mod base;
mod suggestions;

use archway_repo::Cancel;
use gix::{ObjectId, object::Kind};
use jiff::Timestamp;

use self::parse::Step;
use super::{History, HistoryError, error::git};

/// Maximum number of candidates for an ambiguous id.
const MAX_CANDIDATES: usize = 10;

/// The largest tag object that is read, in bytes.
const MAX_TAG: u64 = 1 << 20;

/// Maximum length of a chain of tags. Only a forged tag leads to itself.
const MAX_TAGS: usize = 64;

const READING: &str = "reading the object of a revision";

impl History {
    /// Resolves a revision to a commit that HEAD, a branch or a tag reaches.
    ///
    /// # Errors
    /// [`HistoryError::InvalidRevision`] for an unsupported form,
    /// [`HistoryError::RevisionNotFound`], [`HistoryError::Ambiguous`], and
    /// [`HistoryError::NoCommits`] for HEAD before the first commit.
    pub fn resolve(&self, revision: &str, cancel: &Cancel) -> Result<ObjectId, HistoryError> {
        let lookup = Lookup {
            history: self,
            revision,
            cancel,
        };
        let parsed = parse::parse(revision, Timestamp::now()).map_err(|why| lookup.invalid(why))?;
        let mut found = lookup.base(parsed.base, parsed.upstream, parsed.reflog)?;
        for step in parsed.steps {
            found.id = lookup.step(found.id, step)?;
        }
        let commit = lookup.commit(found.id)?;
        if found.is_reached || !self.reachable(&[commit], cancel)?.is_empty() {
            return Ok(commit);
        }
        Err(lookup.not_found())
    }

    /// Follows tags to a commit. `None` if the object is missing or leads to something else.
    ///
    /// # Errors
    /// If it can't be read, or the call has to stop.
    pub(super) fn peel(
        &self,
        id: ObjectId,
        cancel: &Cancel,
    ) -> Result<Option<ObjectId>, HistoryError> {
        peel(&self.git, id, cancel)
    }
}

/// [`History::peel`] for a repository handle.
///
/// # Errors
/// If it can't be read, or the call has to stop.
pub(super) fn peel(
    repository: &gix::Repository,
    id: ObjectId,
    cancel: &Cancel,
) -> Result<Option<ObjectId>, HistoryError> {
    let mut id = id;
    for _ in 0..MAX_TAGS {
        cancel.check()?;
        match kind(repository, id)? {
            Some((Kind::Commit, _)) => return Ok(Some(id)),
            Some((Kind::Tag, size)) if size <= MAX_TAG => {
                let tag = repository.find_tag(id).map_err(git(READING))?;
                id = tag.target_id().map_err(git(READING))?.detach();
            }
            _ => return Ok(None),
        }
    }
    Ok(None)
}

/// An object's kind, and its size in bytes. `None` if it is missing.
fn kind(repository: &gix::Repository, id: ObjectId) -> Result<Option<(Kind, u64)>, HistoryError> {
    let header = repository.try_find_header(id).map_err(git(READING))?;
    Ok(header.map(|header| (header.kind(), header.size())))
}

/// The lookup of one revision.
struct Lookup<'a> {
    history: &'a History,
    /// The revision as the caller gave it.
    revision: &'a str,
    cancel: &'a Cancel,
}

/// An object that a part of a revision names.
struct ResolvedObject {
    id: ObjectId,
    /// HEAD, a branch or a tag names it, so every step from it leads to a reachable object.
    is_reached: bool,
}

impl ResolvedObject {
    /// An object whose reachability is not known.
    fn by_id(id: ObjectId) -> ResolvedObject {
        ResolvedObject {
            id,
            is_reached: false,
        }
    }
}

impl Lookup<'_> {
    fn step(&self, id: ObjectId, step: Step) -> Result<ObjectId, HistoryError> {
        match step {
            Step::Same => Ok(id),
            Step::Commit | Step::Parent(0) => self.commit(id),
            Step::Parent(nth) => {
                let commit = self.commit(id)?;
                let parents = self.history.node(commit)?.parents;
                let nth = usize::try_from(nth - 1).unwrap_or(usize::MAX);
                let parent = parents.get(nth).copied();
                parent.ok_or_else(|| self.no_parent(commit))
            }
            Step::Ancestor(generations) => self.ancestor(self.commit(id)?, generations),
            Step::Tag => match kind(&self.history.git, id)? {
                Some((Kind::Tag, _)) => Ok(id),
                _ => Err(self.not_found()),
            },
        }
    }

    fn ancestor(&self, commit: ObjectId, generations: u64) -> Result<ObjectId, HistoryError> {
        let mut commit = commit;
        for _ in 0..generations {
            self.cancel.check()?;
            let parents = self.history.node(commit)?.parents;
            commit = *parents.first().ok_or_else(|| self.no_parent(commit))?;
        }
        Ok(commit)
    }

    fn commit(&self, id: ObjectId) -> Result<ObjectId, HistoryError> {
        self.peel(id)?.ok_or_else(|| self.not_found())
    }

    fn peel(&self, id: ObjectId) -> Result<Option<ObjectId>, HistoryError> {
        self.history.peel(id, self.cancel)
    }

    fn invalid(&self, reason: &'static str) -> HistoryError {
        HistoryError::InvalidRevision {
            revision: self.revision.to_owned(),
            reason,
        }
    }

    fn not_found(&self) -> HistoryError {
        self.not_found_with(None)
    }

    fn not_found_with(&self, hint: Option<String>) -> HistoryError {
        HistoryError::RevisionNotFound {
            revision: self.revision.to_owned(),
            hint,
        }
    }

    fn ambiguous(&self, commits: impl Iterator<Item = ObjectId>) -> HistoryError {
        let candidates = commits.take(MAX_CANDIDATES);
        HistoryError::Ambiguous {
            revision: self.revision.to_owned(),
            candidates: candidates.map(|commit| commit.to_string()).collect(),
        }
    }
}

#[cfg(test)]
mod tests;
