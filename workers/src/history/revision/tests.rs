//! Revisions as git takes them: held against `git rev-parse`, and against what no text may do.

use std::{collections::BTreeMap, process::Command};

use proptest::prelude::*;
use tokio::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

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

/// An id's first characters.
fn start(id: &str, length: usize) -> &str {
    id.get(..length).unwrap()
}

/// A repository with all that a revision may name: merges, tags of all kinds, a name that is a
/// tag's and a branch's, a remote, reflogs, packed references.
fn varied() -> Sandbox {
    const AFTER_FIVE_COMMITS: &str = "
        checkout -qb topic/deep HEAD~2
        commit -qm side --allow-empty
        checkout -q main
        merge -q --no-ff -m merge topic/deep
        tag v1.0.0 -am one
        tag nested v1.0.0 -am two
        tag light HEAD~1
        tag both HEAD~2
        branch both HEAD~1
        tag blob HEAD:a
        tag tree HEAD^{tree}
        tag ofblob -am three blob
        pack-refs --all
        branch loose HEAD~1
        tag after -am four
        config remote.origin.url nowhere
        config remote.origin.fetch +refs/heads/*:refs/remotes/origin/*
        update-ref refs/remotes/origin/main HEAD~1
        symbolic-ref refs/remotes/origin/HEAD refs/remotes/origin/main
        config branch.main.remote origin
        config branch.main.merge refs/heads/main
        commit -qm six --allow-empty";
    let app = Sandbox::new();
    app.file("a", "1").committed();
    for n in 2..6 {
        let n = n.to_string();
        app.file("a", &n).git(&["commit", "-qam", &n]);
    }
    for command in AFTER_FIVE_COMMITS.trim().lines() {
        app.git(&command.split_whitespace().collect::<Vec<_>>());
    }
    // A branch whose name begins another commit's id.
    let id = git(&app.root(), &["rev-parse", "HEAD~1"]);
    app.git(&["branch", start(&id, 5), "HEAD~3"]);
    app
}

/// What revisions begin with, parted by white space.
const BASES: &str = "
    @ HEAD main topic/deep heads/both both tags/both v1.0.0 nested light blob tree ofblob after loose
    origin origin/main remotes/origin/main refs/heads/main refs/tags/v1.0.0 refs/remotes/origin/HEAD
    main@{u} @{upstream} HEAD@{U} loose@{u} main@{u}@{0} main@{0} main@{1} @{1} HEAD@{1} HEAD@{3}
    main@{99} @{-1} @{-2} @{-9} main@{now} main@{2030-01-01} main@{1999-01-01} main@{1.second.ago}
    topic/deep@{1} v1.0.0@{1} none a.. ORIG_HEAD FETCH_HEAD config index abc 0000 main.lock
    v1.0.0-1-g0000000 0000000000000000000000000000000000000000 refs/heads heads main/ /main";

/// What may follow them, and what may not.
const STEPS: &str = "
    ~ ^ ^0 ~0 ^^ ~2 ^2 ^2~1 ^3 ~1^2 ~99 ~99999999999999999999 ^{} ^{commit} ^{object} ^{tag} ^{tag}^{}
    ^{}~1 ^{commit}^2 ~1^{tag} ~1x ^x ~-1 ^{ @ ~1@{0}";

/// How many of `revisions` name a commit, each the same as git says.
fn agreed<'a>(app: &Sandbox, revisions: impl Iterator<Item = (&'a str, &'a str)>) -> usize {
    let mut named = 0;
    for (base, step) in revisions {
        let revision = format!("{base}{step}");
        let ours = resolve(app, &revision);
        if ours.is_err() && base.contains("@{") && step.contains('}') {
            // Where a step leads nowhere, git reads from the first brace to the last as a date.
            continue;
        }
        named += usize::from(ours.is_ok());
        assert_eq!(ours.ok(), asked_of_git(app, &revision), "{revision}");
    }
    named
}

#[test]
fn a_revision_names_what_git_says() {
    let app = varied();
    let id = |revision: &str| git(&app.root(), &["rev-parse", revision]);
    let (two, tag, six) = (id("HEAD~2"), id("nested"), id("HEAD~1"));
    let described = git(&app.root(), &["describe", "HEAD"]);
    let ids = [
        &two,
        start(&two, 7),
        start(&two, 39),
        start(&two, 4),
        &two.to_uppercase(),
    ];
    let others = [
        &tag,
        start(&tag, 10),
        &described,
        start(&six, 5),
        start(&six, 6),
        "a b",
    ];
    let each = BASES.split_whitespace().chain(ids).chain(others);
    let each = each.flat_map(|base| ["", "~1^2", "^{tag}"].map(|step| (base, step)));
    assert!(agreed(&app, each) > 60);
    let some = [
        "@",
        "main",
        "nested",
        "ofblob",
        "main@{1}",
        "@{-1}",
        start(&two, 7),
    ];
    let all = some.into_iter().flat_map(|base| {
        let steps = STEPS.split_whitespace();
        steps.map(move |step| (base, step))
    });
    assert!(agreed(&app, all) > 60);
}

/// A repository in which commits were lost in all the ways there are, with the one that was not,
/// and the lost, the stashed, the noted and the one that was taken back.
fn lossy() -> (Sandbox, [String; 5]) {
    let app = Sandbox::new();
    app.file("a", "1").committed();
    let run = |commands: &[&str]| {
        for command in commands {
            app.git(&command.split_whitespace().collect::<Vec<_>>());
        }
    };
    let id = |revision: &str| git(&app.root(), &["rev-parse", revision]);
    let one = id("HEAD");
    run(&[
        "checkout -qb gone",
        "commit -qm lost --allow-empty",
        "commit -qm tip --allow-empty",
    ]);
    let lost = id("HEAD");
    run(&[
        "update-ref refs/pull/1/head HEAD",
        "checkout -q main",
        "branch -qD gone",
    ]);
    app.file("a", "2");
    run(&["stash -q", "notes add -m n"]);
    let (stash, notes) = (id("stash"), id("refs/notes/commits"));
    run(&["commit -qm back --allow-empty"]);
    let back = id("HEAD");
    run(&["reset -q --hard HEAD~1"]);
    (app, [one, lost, stash, notes, back])
}

#[test]
fn only_what_head_a_branch_or_a_tag_reaches_is_served() {
    const NAMES: &str = "stash refs/stash stash@{0} refs/notes/commits refs/pull/1/head pull/1/head \
        main@{1} HEAD@{1} @{1} ORIG_HEAD @{-1} @{-1}~1";
    let (app, [one, lost, stash, notes, back]) = lossy();
    let before_lost = format!("{lost}~1");
    let ids = [&lost, start(&lost, 9), &stash, &notes, &back, &before_lost];
    for text in NAMES.split_whitespace().chain(ids) {
        match resolve(&app, text).expect_err(text) {
            HistoryError::RevisionNotFound { revision } => assert_eq!(revision, text),
            other => panic!("{text}: {other}"),
        }
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
        ("tags/t", &lost),
        ("remotes/o/m", &stash),
        ("heads/b", &back),
    ] {
        app.git(&["update-ref", &format!("refs/{name}"), tip]);
        assert_eq!(&resolve(&app, tip).unwrap(), tip, "{name}");
    }
    app.git(&["update-ref", "-d", "refs/heads/b"]);
    assert!(resolve(&app, &back).is_err(), "taken back once more");
}

#[test]
fn what_is_kept_of_a_walk_follows_the_references() {
    let (app, [one, lost, _, _, back]) = lossy();
    let histories = Histories::new();
    let is_reached = |commit: &str| {
        let history = History::of(&app.repo(), &histories).unwrap();
        history.resolve(commit, &cancel()).is_ok()
    };
    for (name, reached) in [("heads/a", &lost), ("tags/b", &back)] {
        let name = format!("refs/{name}");
        assert!(is_reached(&one) && !is_reached(reached));
        app.git(&["update-ref", &name, reached]);
        assert!(
            is_reached(&one) && is_reached(reached),
            "a new reference is walked from"
        );
        app.git(&["update-ref", "-d", &name]);
        assert!(
            is_reached(&one) && !is_reached(reached),
            "a reference is gone"
        );
    }
}

#[test]
fn a_commit_graph_changes_no_answer() {
    let app = varied();
    app.git(&["branch", "lost"])
        .git(&["checkout", "-q", "lost"]);
    for n in 0..3 {
        app.git(&["commit", "-qm", &n.to_string(), "--allow-empty"]);
    }
    app.git(&["commit-graph", "write", "--reachable"]);
    let lost = git(&app.root(), &["rev-list", "main..lost"]);
    app.git(&["checkout", "-q", "main"])
        .git(&["branch", "-qD", "lost"]);
    // Newer than the graph.
    app.git(&["commit", "-qm", "seven", "--allow-empty"]);
    let all = git(&app.root(), &["rev-list", "--all"]);
    let histories = Histories::new();
    for order in [all.lines().collect::<Vec<_>>(), all.lines().rev().collect()] {
        for id in order {
            let history = History::of(&app.repo(), &histories).unwrap();
            assert!(history.graph().len() > 5, "git's graph is read");
            assert_eq!(history.resolve(id, &cancel()).unwrap().to_string(), id);
            for lost in lost.lines() {
                assert!(history.resolve(lost, &cancel()).is_err(), "{lost}");
            }
        }
    }
}

#[test]
fn an_ambiguous_id_names_the_commits_that_are_reached() {
    let app = Sandbox::new();
    app.file("a", "1").committed();
    // Of so many, some begin with the same four digits.
    let commit = |n| format!("commit refs/heads/side\ncommitter A <a@b.c> {n} +0000\ndata 0\n\n");
    app.import(&(0..1500).map(commit).collect::<String>());
    let ids = git(&app.root(), &["rev-list", "side"]);
    let mut starts = BTreeMap::<&str, Vec<&str>>::new();
    for id in ids.lines() {
        starts.entry(start(id, 4)).or_default().push(id);
    }
    let (short, newest_first) = starts.into_iter().find(|(_, ids)| ids.len() > 1).unwrap();
    let mut several = newest_first.clone();
    several.sort_unstable();
    for revision in [short.to_owned(), format!("{short}~1^{{}}")] {
        match resolve(&app, &revision).unwrap_err() {
            HistoryError::Ambiguous { candidates, .. } => assert_eq!(candidates, several),
            other => panic!("{revision}: {other}"),
        }
    }
    assert_eq!(resolve(&app, start(several[0], 12)).unwrap(), several[0]);
    let oldest = newest_first.last().unwrap();
    app.git(&["branch", "-D", "side"])
        .git(&["branch", "kept", oldest]);
    assert_eq!(
        &resolve(&app, short).unwrap(),
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
    let late = Cancel::new(Instant::now(), CancellationToken::new());
    let one = git(&app.root(), &["rev-list", "--max-parents=0", "HEAD"]);
    for text in [
        "main~3",
        "v1.0.0",
        "@{-1}",
        "main@{1}",
        &one,
        start(&one, 8),
    ] {
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
    for text in [&one, &last, "0123456789012345678901234567890123456789"] {
        let (began, history) = (
            Instant::now(),
            History::of(&app.repo(), &histories).unwrap(),
        );
        let found = history.resolve(text, &cancel());
        assert_eq!(found.is_ok(), !text.starts_with("01234"));
        assert!(
            began.elapsed() < Duration::from_secs(10),
            "{:?}",
            began.elapsed()
        );
    }
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
