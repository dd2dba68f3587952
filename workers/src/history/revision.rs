//! Which commit a revision names.
//!
//! Revisions are git's, but for those that name no one commit ([`form`]). What a revision names
//! counts only if HEAD, a branch, a remote branch or a tag reaches it: a commit that was taken
//! back, a stash or a pull request's is as if it weren't there, however it is named. HEAD is the
//! commit that the call is pinned to.

mod form;
mod name;

use gix::{ObjectId, object::Kind};
use jiff::Timestamp;

use self::form::Step;
use super::{History, HistoryError, error::git};
use crate::repo::Cancel;

/// How many commits an ambiguous id is answered with.
const MAX_CANDIDATES: usize = 10;

/// The largest tag that is read, in bytes.
const MAX_TAG: u64 = 1 << 20;

/// What peeling failed at, if it did.
const READING: &str = "reading what a revision names";

impl History {
    /// The commit that a revision names, which HEAD, a branch or a tag reaches.
    ///
    /// # Errors
    /// [`HistoryError::InvalidRevision`] for a form that is not served,
    /// [`HistoryError::RevisionNotFound`], [`HistoryError::Ambiguous`], and
    /// [`HistoryError::NoCommits`] for HEAD before the first.
    pub(crate) fn resolve(
        &self,
        revision: &str,
        cancel: &Cancel,
    ) -> Result<ObjectId, HistoryError> {
        let lookup = Lookup {
            history: self,
            revision,
            cancel,
        };
        let form = form::read(revision, Timestamp::now()).map_err(|why| lookup.invalid(why))?;
        let mut found = lookup.base(form.base, form.sibling, form.log)?;
        for step in form.steps {
            found.id = lookup.step(found.id, step)?;
        }
        let commit = lookup.commit(found.id)?;
        if found.reached || !self.reachable(&[commit], cancel)?.is_empty() {
            return Ok(commit);
        }
        Err(lookup.not_found())
    }

    /// The commit that an object is, or names as a tag; `None` if it is neither, or isn't there.
    ///
    /// # Errors
    /// If it can't be read, or the call has to stop.
    pub(super) fn peel(
        &self,
        id: ObjectId,
        cancel: &Cancel,
    ) -> Result<Option<ObjectId>, HistoryError> {
        let mut id = id;
        loop {
            cancel.check()?;
            match self.kind(id)? {
                Some((Kind::Commit, _)) => return Ok(Some(id)),
                Some((Kind::Tag, size)) if size <= MAX_TAG => {
                    let tag = self.git.find_tag(id).map_err(git(READING))?;
                    id = tag.target_id().map_err(git(READING))?.detach();
                }
                _ => return Ok(None),
            }
        }
    }

    /// What an object is and how large, `None` if it isn't there.
    fn kind(&self, id: ObjectId) -> Result<Option<(Kind, u64)>, HistoryError> {
        let header = self.git.try_find_header(id).map_err(git(READING))?;
        Ok(header.map(|header| (header.kind(), header.size())))
    }
}

/// One revision that is being looked up.
struct Lookup<'a> {
    history: &'a History,
    /// As it was given.
    revision: &'a str,
    cancel: &'a Cancel,
}

/// An object that a part of a revision names.
struct Found {
    id: ObjectId,
    /// It was named by HEAD, a branch or a tag; so all that steps from it lead to is reached.
    reached: bool,
}

impl Found {
    /// An object of which it isn't known whether anything reaches it.
    fn by_id(id: ObjectId) -> Found {
        Found { id, reached: false }
    }
}

impl Lookup<'_> {
    fn step(&self, id: ObjectId, step: Step) -> Result<ObjectId, HistoryError> {
        match step {
            Step::Same => Ok(id),
            Step::Commit | Step::Parent(0) => self.commit(id),
            Step::Parent(nth) => {
                let parents = self.history.node(self.commit(id)?)?.parents;
                let nth = usize::try_from(nth - 1).unwrap_or(usize::MAX);
                parents.get(nth).copied().ok_or_else(|| self.not_found())
            }
            Step::Ancestor(generations) => self.ancestor(self.commit(id)?, generations),
            Step::Tag => match self.history.kind(id)? {
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
            commit = *parents.first().ok_or_else(|| self.not_found())?;
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
        HistoryError::RevisionNotFound {
            revision: self.revision.to_owned(),
        }
    }

    fn ambiguous(&self, commits: &[ObjectId]) -> HistoryError {
        let candidates = commits.iter().take(MAX_CANDIDATES);
        HistoryError::Ambiguous {
            revision: self.revision.to_owned(),
            candidates: candidates.map(ToString::to_string).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;
    use crate::{
        history::Histories,
        repo::testing::{Sandbox, cancel, git},
    };

    fn history(app: &Sandbox) -> History {
        History::of(&app.repo(), &Histories::new()).unwrap()
    }

    fn resolve(app: &Sandbox, revision: &str) -> Result<String, HistoryError> {
        let commit = history(app).resolve(revision, &cancel());
        commit.map(|commit| commit.to_string())
    }

    /// What git takes a revision for, if it names a commit.
    fn asked_of_git(app: &Sandbox, revision: &str) -> Option<String> {
        let output = Command::new("git")
            .current_dir(app.root())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .args(["rev-parse", "--verify", "-q"])
            .arg(format!("{revision}^{{commit}}"))
            .output()
            .unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        output.status.success().then(|| said.trim_end().to_owned())
    }

    /// A repository with all that a revision may name: merges, tags of all kinds, a name that is a
    /// tag's and a branch's, a remote, reflogs, packed references.
    fn varied() -> Sandbox {
        let app = Sandbox::new();
        app.file("a", "1").committed();
        for n in 2..6 {
            let n = n.to_string();
            app.file("a", &n).git(&["commit", "-qam", &n]);
        }
        app.git(&["checkout", "-qb", "topic/deep", "HEAD~2"]);
        app.file("b", "x")
            .git(&["add", "b"])
            .git(&["commit", "-qm", "side"]);
        app.git(&["checkout", "-q", "main"]);
        app.git(&["merge", "-q", "--no-ff", "-m", "merge", "topic/deep"]);
        app.git(&["tag", "v1.0.0", "-am", "one"]);
        app.git(&["tag", "nested", "v1.0.0", "-am", "a tag of a tag"]);
        app.git(&["tag", "light", "HEAD~1"])
            .git(&["tag", "both", "HEAD~2"]);
        app.git(&["branch", "both", "HEAD~1"]);
        app.git(&["tag", "blob", "HEAD:a"])
            .git(&["tag", "tree", "HEAD^{tree}"]);
        app.git(&["tag", "ofblob", "-am", "a tag of a blob", "blob"]);
        app.git(&["pack-refs", "--all"]);
        app.git(&["branch", "loose", "HEAD~1"])
            .git(&["tag", "after", "-am", "loose"]);
        app.git(&["config", "remote.origin.url", "nowhere"]);
        app.git(&[
            "config",
            "remote.origin.fetch",
            "+refs/heads/*:refs/remotes/origin/*",
        ]);
        app.git(&["update-ref", "refs/remotes/origin/main", "HEAD~1"]);
        app.git(&[
            "symbolic-ref",
            "refs/remotes/origin/HEAD",
            "refs/remotes/origin/main",
        ]);
        app.git(&["config", "branch.main.remote", "origin"]);
        app.git(&["config", "branch.main.merge", "refs/heads/main"]);
        app.file("c", "6")
            .git(&["add", "c"])
            .git(&["commit", "-qm", "six"]);
        let id = git(&app.root(), &["rev-parse", "HEAD~1"]);
        app.git(&["branch", &id[..5], "HEAD~3"]);
        app
    }

    #[test]
    fn a_revision_names_what_git_says() {
        let app = varied();
        let id = git(&app.root(), &["rev-parse", "HEAD~2"]);
        let tag = git(&app.root(), &["rev-parse", "nested"]);
        let described = git(&app.root(), &["describe", "HEAD"]);
        let named_like_an_id = git(&app.root(), &["rev-parse", "HEAD~1"]);
        let bases = [
            "@",
            "HEAD",
            "main",
            "topic/deep",
            "heads/both",
            "both",
            "tags/both",
            "v1.0.0",
            "nested",
            "light",
            "blob",
            "tree",
            "ofblob",
            "after",
            "loose",
            "origin",
            "origin/main",
            "remotes/origin/main",
            "refs/heads/main",
            "refs/tags/v1.0.0",
            "refs/remotes/origin/HEAD",
            "main@{u}",
            "@{upstream}",
            "HEAD@{U}",
            "@{push}",
            "main@{0}",
            "main@{1}",
            "@{1}",
            "HEAD@{1}",
            "HEAD@{3}",
            "main@{99}",
            "@{-1}",
            "@{-2}",
            "@{-9}",
            "main@{now}",
            "main@{2030-01-01}",
            "main@{1999-01-01}",
            "main@{1 second ago}",
            "topic/deep@{1}",
            "loose@{u}",
            "v1.0.0@{1}",
            "none",
            "a b",
            "a..",
            "ORIG_HEAD",
            "FETCH_HEAD",
            "config",
            "index",
            "abc",
            "0000",
            "main.lock",
            &id,
            &id[..7],
            &id[..39],
            &id[..4],
            &id.to_uppercase(),
            &tag,
            &tag[..10],
            &described,
            "v1.0.0-1-g0000000",
            &named_like_an_id[..5],
            &named_like_an_id[..6],
            "0000000000000000000000000000000000000000",
            "refs/heads",
            "heads",
            "main/",
            "/main",
        ];
        let steps = [
            "",
            "~",
            "^",
            "^0",
            "~0",
            "^^",
            "~2",
            "^2",
            "^2~1",
            "^3",
            "~1^2",
            "~99",
            "~99999999999999999999",
            "^{}",
            "^{commit}",
            "^{object}",
            "^{tag}",
            "^{tag}^{}",
            "^{}~1",
            "^{commit}^2",
            "~1^{tag}",
            "~1x",
            "^x",
            "~-1",
            "^{",
            "@",
            "~1@{0}",
        ];
        let mut named = 0;
        for (base, step) in bases.iter().flat_map(|base| steps.map(|step| (base, step))) {
            let revision = format!("{base}{step}");
            let ours = resolve(&app, &revision);
            named += usize::from(ours.is_ok());
            assert_eq!(ours.ok(), asked_of_git(&app, &revision), "{revision}");
        }
        assert!(named > 500, "{named}");
    }
}
