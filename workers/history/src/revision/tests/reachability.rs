//! Only commits that HEAD, a branch or a tag reaches are served.

use std::sync::Arc;

use archway_repo::testing::{Sandbox, cancel, git};

use super::super::super::fixtures::history;
use super::super::{History, HistoryError};
use super::{resolve, start, varied};
use crate::Histories;

/// A repository with commits lost in every possible way. Returns the ids of one reachable commit,
/// then of the lost, the stashed, the noted and the reset one.
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
fn only_commits_reached_by_head_branches_and_tags_are_served() {
    const NAMES: &str = "stash refs/stash stash@{0} refs/notes/commits refs/pull/1/head pull/1/head \
        main@{1} HEAD@{1} @{1} ORIG_HEAD @{-1} @{-1}~1";
    let (app, [one, lost, stash, notes, back]) = lossy();
    let before_lost = format!("{lost}~1");
    let ids = [&lost, start(&lost, 9), &stash, &notes, &back, &before_lost];
    for text in NAMES.split_whitespace().chain(ids) {
        match resolve(&app, text).expect_err(text) {
            HistoryError::RevisionNotFound { revision, .. } => assert_eq!(revision, text),
            other => panic!("{text}: {other}"),
        }
    }
    // Steps may lead back to a reachable commit.
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
    assert!(resolve(&app, &back).is_err(), "unreachable again");
}

#[test]
fn cached_walks_follow_changes_of_references() {
    let (app, [one, lost, _, _, back]) = lossy();
    let histories = Histories::new();
    let is_reached = |commit: &str| {
        let history = History::of(&app.repo(), &histories, &cancel()).unwrap();
        history.resolve(commit, &cancel()).is_ok()
    };
    for (name, reached) in [("heads/a", &lost), ("tags/b", &back)] {
        let name = format!("refs/{name}");
        assert!(is_reached(&one) && !is_reached(reached));
        app.git(&["update-ref", &name, reached]);
        assert!(
            is_reached(&one) && is_reached(reached),
            "a new reference reaches it"
        );
        app.git(&["update-ref", "-d", &name]);
        assert!(
            is_reached(&one) && !is_reached(reached),
            "the reference is deleted"
        );
    }
}

#[test]
fn a_commit_graph_does_not_change_answers() {
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
            let history = History::of(&app.repo(), &histories, &cancel()).unwrap();
            assert!(history.graph().len() > 5, "git's graph is read");
            assert_eq!(history.resolve(id, &cancel()).unwrap().to_string(), id);
            for lost in lost.lines() {
                assert!(history.resolve(lost, &cancel()).is_err(), "{lost}");
            }
        }
    }
}

#[test]
fn cached_walks_do_not_keep_graphs_in_memory() {
    let (app, [one, ..]) = lossy();
    let mut history = history(&app);
    history.graph = Arc::default();
    assert!(history.resolve(&one, &cancel()).is_ok(), "reachable");
    assert_eq!(Arc::strong_count(&history.graph), 1);
}

#[test]
fn a_damaged_tag_does_not_hide_reachable_commits() {
    let app = Sandbox::new();
    app.file("a", "1").committed();
    app.git(&["checkout", "-qb", "side"])
        .git(&["commit", "-qm", "side", "--allow-empty"]);
    let side = git(&app.root(), &["rev-parse", "HEAD"]);
    app.git(&["checkout", "-q", "main"]).file("raw", "garbage");
    for kind in ["tag", "commit"] {
        let make = ["hash-object", "-t", kind, "-w", "--literally", "raw"];
        let damaged = git(&app.root(), &make);
        let tag = app.root().join(".git/refs/tags").join(kind);
        std::fs::write(tag, damaged + "\n").unwrap();
    }
    assert_eq!(resolve(&app, &side).unwrap(), side);
}
