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
        let mut found = lookup.base(form.base, form.upstream, form.log)?;
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

    fn ambiguous(&self, commits: impl Iterator<Item = ObjectId>) -> HistoryError {
        let candidates = commits.take(MAX_CANDIDATES);
        HistoryError::Ambiguous {
            revision: self.revision.to_owned(),
            candidates: candidates.map(|commit| commit.to_string()).collect(),
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
        let ask = |revision: &str| {
            let output = Command::new("git")
                .current_dir(app.root())
                .env("GIT_CONFIG_GLOBAL", "/dev/null")
                .args(["-c", "core.disambiguate=committish"])
                .args(["rev-parse", "--verify", "-q", revision])
                .output()
                .unwrap();
            let said = String::from_utf8(output.stdout).unwrap();
            output.status.success().then(|| said.trim_end().to_owned())
        };
        ask(&format!("{}^{{commit}}", ask(revision)?))
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
            "main@{u}@{0}",
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
        let all = bases
            .iter()
            .flat_map(|base| ["", "~1^2", "^{tag}"].map(|step| (*base, step)));
        let thorough = [
            "@",
            "main",
            "nested",
            "ofblob",
            "main@{1}",
            "@{-1}",
            &id[..7],
        ];
        let each = thorough
            .into_iter()
            .flat_map(|base| steps.map(|step| (base, step)));
        let mut named = 0;
        for (base, step) in all.chain(each) {
            let revision = format!("{base}{step}");
            let ours = resolve(&app, &revision);
            named += usize::from(ours.is_ok());
            if ours.is_err() && base.contains("@{") && step.contains('}') {
                // Where a step leads nowhere, git reads from the first brace to the last as a date.
                continue;
            }
            assert_eq!(ours.ok(), asked_of_git(&app, &revision), "{revision}");
        }
        assert!(named > 120, "{named}");
    }

    #[test]
    fn only_what_head_a_branch_or_a_tag_reaches_is_served() {
        let app = Sandbox::new();
        app.file("a", "1").committed();
        let id = |revision: &str| git(&app.root(), &["rev-parse", revision]);
        let one = id("HEAD");
        app.git(&["checkout", "-qb", "gone"])
            .git(&["commit", "-qm", "lost", "--allow-empty"]);
        app.git(&["commit", "-qm", "lost tip", "--allow-empty"]);
        let lost = id("HEAD");
        app.git(&["update-ref", "refs/pull/1/head", "HEAD"]);
        app.git(&["checkout", "-q", "main"])
            .git(&["branch", "-qD", "gone"]);
        app.file("a", "2")
            .git(&["stash", "-q"])
            .git(&["notes", "add", "-m", "n"]);
        let stash = id("stash");
        let notes = id("refs/notes/commits");
        app.git(&["commit", "-qm", "taken back", "--allow-empty"]);
        let back = id("HEAD");
        app.git(&["reset", "-q", "--hard", "HEAD~1"]);
        for text in [
            &lost,
            &lost[..9],
            &stash,
            &notes,
            &back,
            "stash",
            "refs/stash",
            "stash@{0}",
            "refs/notes/commits",
            "refs/pull/1/head",
            "pull/1/head",
            "main@{1}",
            "HEAD@{1}",
            "@{1}",
            "ORIG_HEAD",
            "@{-1}",
            &format!("{lost}~1"),
        ] {
            let refused = resolve(&app, text).expect_err(text);
            let not_found =
                matches!(&refused, HistoryError::RevisionNotFound { revision } if revision == text);
            assert!(not_found, "{text}: {refused}");
        }
        // Steps may lead back to what is reached.
        for text in [
            "stash~1",
            "main@{1}~1",
            &format!("{lost}~2"),
            &one,
            "HEAD@{2}",
        ] {
            assert_eq!(resolve(&app, text).unwrap(), one, "{text}");
        }
        for (name, tip) in [
            ("refs/tags/t", &lost),
            ("refs/remotes/o/m", &stash),
            ("refs/heads/b", &back),
        ] {
            app.git(&["update-ref", name, tip]);
            assert_eq!(&resolve(&app, tip).unwrap(), tip, "{name}");
        }
        assert_eq!(
            resolve(&app, "@{-1}~1").ok(),
            None,
            "the branch itself is gone"
        );
        app.git(&["update-ref", "-d", "refs/heads/b"]);
        assert!(resolve(&app, &back).is_err(), "taken back once more");
    }

    #[test]
    fn an_ambiguous_id_names_the_commits_that_are_reached() {
        let app = Sandbox::new();
        app.file("a", "1").committed();
        let tree = git(&app.root(), &["rev-parse", "HEAD^{tree}"]);
        // Of so many, some begin with the same four digits.
        let import: String = (0..1500)
            .map(|n| {
                format!(
                    "commit refs/heads/side\ncommitter A <a@b.c> {n} +0000\ndata 0\n{}\n",
                    if n == 0 {
                        format!("M 040000 {tree} \n")
                    } else {
                        String::new()
                    }
                )
            })
            .collect();
        app.import(&import);
        let ids = git(&app.root(), &["rev-list", "side"]);
        let mut starts = std::collections::BTreeMap::<&str, Vec<&str>>::new();
        for id in ids.lines() {
            starts.entry(&id[..4]).or_default().push(id);
        }
        let (start, mut several) = starts.into_iter().find(|(_, ids)| ids.len() > 1).unwrap();
        let candidates = |revision: &str| match resolve(&app, revision).unwrap_err() {
            HistoryError::Ambiguous { candidates, .. } => candidates,
            error => panic!("{revision}: {error}"),
        };
        let oldest = several.pop().unwrap();
        several.push(oldest);
        several.sort_unstable();
        assert_eq!(candidates(start), several);
        assert_eq!(candidates(&format!("{start}~1^{{}}")), several);
        assert_eq!(resolve(&app, &several[0][..12]).unwrap(), several[0]);
        let length = (5..40)
            .find(|&n| several[0][..n] != several[1][..n])
            .unwrap();
        assert_eq!(resolve(&app, &several[1][..length]).unwrap(), several[1]);
        app.git(&["branch", "-D", "side"]);
        app.git(&["branch", "kept", oldest]);
        assert_eq!(
            resolve(&app, start).unwrap(),
            oldest,
            "nothing reaches the others"
        );
    }

    #[test]
    fn a_repository_without_commits_says_so() {
        let app = Sandbox::new();
        app.git(&["init", "-q"]);
        for text in ["HEAD", "@", "HEAD~1"] {
            let refused = resolve(&app, text).unwrap_err();
            assert!(
                matches!(refused, HistoryError::NoCommits),
                "{text}: {refused}"
            );
        }
        assert!(matches!(
            resolve(&app, "main"),
            Err(HistoryError::RevisionNotFound { .. })
        ));
    }

    #[test]
    fn a_shallow_clone_ends_where_it_was_cut() {
        let app = Sandbox::new();
        app.file("a", "1").committed();
        for n in 2..6 {
            app.git(&["commit", "-qm", &n.to_string(), "--allow-empty"]);
        }
        let first = git(&app.root(), &["rev-parse", "HEAD~4"]);
        std::fs::rename(app.root(), app.host("acme/source")).unwrap();
        let source = format!("file://{}", app.host("acme/source").display());
        git(
            &app.host("acme"),
            &["clone", "-q", "--depth", "2", &source, "app"],
        );
        assert!(resolve(&app, "HEAD~1").is_ok());
        for text in ["HEAD~2", "HEAD~1^", &first] {
            let refused = resolve(&app, text).unwrap_err();
            assert!(
                matches!(refused, HistoryError::RevisionNotFound { .. }),
                "{text}: {refused}"
            );
        }
        let before = git(&app.root(), &["rev-parse", "HEAD~1"]);
        assert_eq!(resolve(&app, &before).unwrap(), before);
    }

    #[test]
    fn a_call_whose_time_is_up_stops() {
        let app = varied();
        let late = Cancel::new(
            tokio::time::Instant::now(),
            tokio_util::sync::CancellationToken::new(),
        );
        let one = git(&app.root(), &["rev-list", "--max-parents=0", "HEAD"]);
        for text in ["main~3", "v1.0.0", "@{-1}", "main@{1}", &one, &one[..8]] {
            let stopped = history(&app).resolve(text, &late);
            assert!(matches!(stopped, Err(HistoryError::Repo(_))), "{text}");
        }
    }

    #[test]
    fn ten_thousand_references_cost_a_bounded_time() {
        let app = Sandbox::new();
        app.file("a", "1").committed();
        let import: String = (0..10_000).map(|n| format!(
            "commit refs/heads/b{n}\ncommitter A <a@b.c> {n} +0000\ndata 0\nfrom refs/heads/main\n\n"
        )).collect();
        app.import(&import);
        let histories = Histories::new();
        let one = git(&app.root(), &["rev-parse", "main"]);
        let last = git(&app.root(), &["rev-parse", "b9999"]);
        let began = std::time::Instant::now();
        for text in [&one, &last, "0123456789012345678901234567890123456789"] {
            let found = History::of(&app.repo(), &histories)
                .unwrap()
                .resolve(text, &cancel());
            assert_eq!(found.is_ok(), !text.starts_with("01234"));
        }
        // A quarter of a second where it was measured.
        assert!(
            began.elapsed() < std::time::Duration::from_secs(20),
            "{:?}",
            began.elapsed()
        );
    }

    #[test]
    fn any_text_ends_in_a_commit_or_an_error() {
        let app = varied();
        let history = history(&app);
        let near = "(main|@|v1\\.0\\.0|HEAD|blob|both|origin|[0-9a-f]{4,8}|refs/|)\
            ([~^][0-9]{0,30}|\\^\\{[a-z]{0,6}\\}?|@\\{[-a-z0-9. ]{0,12}\\}?|[.:^!/-])*";
        proptest!(|(text in "\\PC{0,60}", near in near)| {
            for text in [text, near] {
                let found = history.resolve(&text, &cancel());
                let named = matches!(
                    &found,
                    Ok(_) | Err(HistoryError::InvalidRevision { .. }
                        | HistoryError::RevisionNotFound { .. }
                        | HistoryError::Ambiguous { .. })
                );
                prop_assert!(named, "{}: {:?}", text, found);
            }
        });
    }
}
