//! Logs of malformed, shallow and interrupted histories.

use archway_repo::testing::{Sandbox, cancel, git};

use super::super::super::fixtures::{self, commit};
use super::super::super::{Histories, History, LogCursor};
use super::{file_summary, history, log_query};

#[test]
fn commits_with_malformed_headers_are_shown_as_in_git() {
    const GOOD: &str = "A U <a@x.y> 1700000000 +0000";
    let app = Sandbox::new();
    app.file("a", "1").committed();
    let tree = git(&app.root(), &["rev-parse", "HEAD^{tree}"]);
    let mut parent = git(&app.root(), &["rev-parse", "HEAD"]);
    let heads = [
        format!("author Nobody 1700000001 +0000\ncommitter {GOOD}\n\n"),
        format!("author Eve <e@x 1700000001 +0000\ncommitter {GOOD}\n\n"),
        format!("author {GOOD}\ncommitter Eve <e@x 1700000001 +0000\n\n"),
        format!("committer {GOOD}\n\n"),
        format!("author {GOOD}\n\n"),
        format!("author {GOOD}\ncommitter {GOOD}\nodd\n\n"),
        format!("author {GOOD}\ncommitter {GOOD}\n"),
    ];
    for head in &heads {
        let commit = format!("tree {tree}\nparent {parent}\n{head}");
        app.file("raw", &commit);
        let make = ["hash-object", "-t", "commit", "-w", "--literally", "raw"];
        parent = git(&app.root(), &make);
    }
    app.git(&["update-ref", "refs/heads/main", &parent]);
    let format = ["log", "-7", "--format=%H %an <%ae> %s"];
    let expected = git(&app.root(), &format);
    let history = history(&app);
    let mut log = history.log(&log_query(None), None, &cancel()).unwrap();
    for line in expected.lines() {
        let commit_info = log.next(&cancel()).unwrap().unwrap().commit_info;
        let by = format!("{} <{}>", commit_info.author.name, commit_info.author.email);
        let shown = format!("{} {by} {}", commit_info.id, commit_info.message);
        assert_eq!(shown.trim_end(), line.trim_end());
    }
    let repository = app.repo().git().unwrap();
    assert!(
        fixtures::graph(&repository).len() > 7,
        "a graph can be built"
    );
}

#[test]
fn deepening_a_shallow_clone_changes_cached_answers() {
    let app = Sandbox::new();
    app.file("a", "1").committed();
    app.file("b", "1");
    commit(&app, "two");
    let shallow = app.root().join(".git/shallow");
    std::fs::write(&shallow, git(&app.root(), &["rev-parse", "HEAD"]) + "\n").unwrap();
    let histories = Histories::new();
    let files = || {
        let history = History::of(&app.repo(), &histories, &cancel()).unwrap();
        let mut log = history.log(&log_query(None), None, &cancel()).unwrap();
        let head = log.next(&cancel()).unwrap().unwrap();
        head.files.iter().map(file_summary).collect::<Vec<_>>()
    };
    assert_eq!(files(), ["A a", "A b"]);
    std::fs::remove_file(shallow).unwrap();
    assert_eq!(files(), ["A b"]);
}

#[test]
fn an_interrupted_log_keeps_its_position() {
    let app = Sandbox::new();
    app.file("a", "1").committed();
    for number in 0..3 {
        app.file("a", number.to_string() + "\n");
        commit(&app, "more");
    }
    // Each call runs on a worker with empty caches.
    let stopped = |from: Option<LogCursor>, check: u64| {
        let history = history(&app);
        let mut log = history.log(&log_query(None), from, &cancel()).unwrap();
        let start = log.cursor();
        let late = cancel().cancel_at_check(check);
        let outcome = log.next(&late);
        (outcome.is_err()).then(|| (start, log.cursor()))
    };
    let mut stops = 0;
    for check in 1..8 {
        let Some((start, end)) = stopped(None, check) else {
            continue;
        };
        assert_eq!(end, start, "at check {check}");
        let history = history(&app);
        let mut log = history.log(&log_query(None), None, &cancel()).unwrap();
        log.next(&cancel()).unwrap();
        let (_, once) = stopped(Some(log.cursor()), check).unwrap();
        let (_, twice) = stopped(Some(once.clone()), check).unwrap();
        assert_eq!(twice, once, "at check {check}");
        stops += 1;
    }
    assert!(stops > 1);
}
