//! Logs of small histories made by hand.

use archway_repo::{
    RepoError, Rules,
    testing::{Sandbox, cancel, git},
};

use super::super::super::fixtures::{commit, history_of};
use super::super::super::{HistoryError, LogQuery};
use super::{CommitSummary, file_summary, git_log, history, log_query, paged_log};

/// All commits of a log, in one page.
pub(super) fn full_log(app: &Sandbox, query: &LogQuery) -> Vec<CommitSummary> {
    paged_log(app, query, &mut || 1000)
}

pub(super) fn subjects(app: &Sandbox, commits: &[CommitSummary]) -> Vec<String> {
    let subject = |(id, _): &CommitSummary| git(&app.root(), &["log", "-1", "--format=%s", id]);
    commits.iter().map(subject).collect()
}

#[test]
fn blocked_files_appear_in_no_list_and_no_history() {
    let app = Sandbox::new();
    let text = "a long line that makes it similar\n".repeat(20);
    app.git(&["init", "-q", "-b", "main"]);
    app.file(".env", &text).file("a.txt", "a");
    commit(&app, "one");
    app.git(&["mv", ".env", "settings.txt"]);
    commit(&app, "two");
    app.file("conf/server.key", "k");
    commit(&app, "three");
    app.file("conf/x.txt", "x");
    app.git(&["mv", "settings.txt", "secrets.txt"]);
    commit(&app, "four");

    let commits = full_log(&app, &log_query(None));
    let files: Vec<&[String]> = commits.iter().map(|(_, files)| files.as_slice()).collect();
    let expected: [&[&str]; 4] = [
        &["A conf/x.txt", "D settings.txt"],
        &[],
        &["A settings.txt"],
        &["A a.txt"],
    ];
    assert_eq!(files, expected);
    assert_eq!(subjects(&app, &commits), ["four", "three", "two", "one"]);

    // Its history ends at the rename, without revealing the blocked name.
    let commits = full_log(&app, &log_query(Some("settings.txt")));
    assert_eq!(commits.len(), 2);
    assert_eq!(commits[1].1, ["A settings.txt"]);
    // A folder counts as unchanged if only blocked files in it changed.
    let commits = full_log(&app, &log_query(Some("conf")));
    assert_eq!(subjects(&app, &commits), ["four"]);

    let history = history(&app);
    for blocked in [
        ".env",
        "secrets.txt",
        "conf/server.key",
        "never/was/id_rsa",
        ".git/config",
    ] {
        let refused = history
            .log(&log_query(Some(blocked)), None, &cancel())
            .err();
        let is_blocked = matches!(refused, Some(HistoryError::Repo(RepoError::Blocked { .. })));
        assert!(is_blocked, "{blocked}: {refused:?}");
    }
}

#[test]
fn renames_from_a_permitted_path_are_followed() {
    let app = Sandbox::new();
    app.git(&["init", "-q", "-b", "main"]);
    app.file(".env.test", "some text\n".repeat(9));
    commit(&app, "one");
    app.git(&["mv", ".env.test", "test.txt"]);
    commit(&app, "two");
    let rules = Rules::new(&[".env.test".to_owned()], &[], None).unwrap();
    let history = history_of(&app.repo_with(rules));
    let mut log = history
        .log(&log_query(Some("test.txt")), None, &cancel())
        .unwrap();
    let first = log.next(&cancel()).unwrap().unwrap();
    assert_eq!(file_summary(&first.files[0]), "R .env.test test.txt");
    assert!(log.next(&cancel()).unwrap().is_some());
}

#[test]
fn pages_are_unaffected_by_new_commits() {
    let app = Sandbox::new();
    app.git(&["init", "-q", "-b", "main"]);
    for at in 0..6 {
        app.file("a.txt", format!("{at}\n"));
        commit(&app, &format!("c{at}"));
    }
    for query in [
        log_query(None),
        log_query(Some("a.txt")),
        log_query(Some(".")),
    ] {
        let before = full_log(&app, &query);
        let mut at = 0;
        let commits = paged_log(&app, &query, &mut || {
            at += 1;
            app.file("a.txt", format!("more {at} of {:?}\n", query.path));
            commit(&app, "more");
            2
        });
        assert_eq!(commits, before);
    }
}

#[test]
fn deleted_paths_are_recognized_as_files_or_folders() {
    let app = Sandbox::new();
    app.git(&["init", "-q", "-b", "main"]);
    app.file("old/a", "a").file("b", "b").file("keep", "k");
    commit(&app, "one");
    app.file("old/c", "c");
    commit(&app, "two");
    app.git(&["rm", "-rq", "old", "b"]);
    commit(&app, "three");
    app.file("keep", "l");
    commit(&app, "four");
    let commits = full_log(&app, &log_query(Some("old")));
    assert_eq!(subjects(&app, &commits), ["three", "two", "one"]);
    assert_eq!(commits[0].1, ["D old/a", "D old/c"]);
    assert_eq!(
        subjects(&app, &full_log(&app, &log_query(Some("b")))),
        ["three", "one"]
    );
    assert_eq!(full_log(&app, &log_query(Some("never"))), []);
    assert_eq!(full_log(&app, &log_query(Some("."))).len(), 4);
}

#[test]
fn paths_that_are_not_utf8_are_found_by_their_escaped_form() {
    use std::os::unix::ffi::OsStrExt as _;
    let app = Sandbox::new();
    app.git(&["init", "-q", "-b", "main"]);
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9.txt");
    std::fs::write(app.root().join(name), "x").unwrap();
    commit(&app, "one");
    let commits = full_log(&app, &log_query(Some("caf\\xe9.txt")));
    assert_eq!(commits[0].1, ["A caf\\xe9.txt"]);
    std::fs::remove_file(app.root().join(name)).unwrap();
    commit(&app, "two");
    let commits = full_log(&app, &log_query(Some("caf\\xe9.txt")));
    let files = commits.iter().map(|(_, files)| files.join(" "));
    assert!(files.eq(["D caf\\xe9.txt", "A caf\\xe9.txt"]));
}

#[test]
fn a_repository_without_commits_has_an_empty_log() {
    let app = Sandbox::new();
    app.git(&["init", "-q", "-b", "main"]);
    assert_eq!(full_log(&app, &log_query(None)), []);
    assert_eq!(full_log(&app, &log_query(Some("a.txt"))), []);
}

#[test]
fn the_last_commit_of_a_shallow_clone_adds_all_files() {
    let app = Sandbox::new();
    app.git(&["init", "-q", "-b", "main"]);
    for at in 0..4 {
        app.file(&format!("f{at}"), "x");
        commit(&app, &format!("c{at}"));
    }
    let url = format!("file://{}", app.root().display());
    git(
        &app.host("acme"),
        &["clone", "-q", "--depth", "2", &url, "short"],
    );
    std::fs::remove_dir_all(app.root()).unwrap();
    std::fs::rename(app.host("acme/short"), app.root()).unwrap();
    let commits = full_log(&app, &log_query(None));
    assert_eq!(commits, git_log(&app.root(), &["HEAD"]));
    assert_eq!(commits[1].1, ["A f0", "A f1", "A f2"]);
    assert_eq!(
        subjects(&app, &full_log(&app, &log_query(Some("f0")))),
        ["c2"]
    );
}

#[test]
fn cursors_with_unreachable_commits_are_rejected() {
    let app = Sandbox::new();
    app.git(&["init", "-q", "-b", "main"]);
    app.file("a", "1");
    commit(&app, "one");
    app.file("a", "2");
    commit(&app, "two");
    let cursor = history(&app)
        .log(&log_query(None), None, &cancel())
        .unwrap()
        .cursor();
    app.git(&["reset", "-q", "--hard", "HEAD~1"]);
    let refused = history(&app)
        .log(&log_query(None), Some(cursor), &cancel())
        .err();
    assert!(
        matches!(refused, Some(HistoryError::CursorExpired)),
        "{refused:?}"
    );
}

#[test]
fn commits_beyond_the_rename_limit_are_marked() {
    let app = Sandbox::new();
    app.git(&["init", "-q", "-b", "main"]);
    let commit = |name: &str, time: u32, clear: &str| {
        let file = |at: u32| format!("M 644 inline {name}/{at}.{name}\ndata <<.\n{name} {at}\n.\n");
        let files: String = (0..1001).map(file).collect();
        let by = format!("committer A <a@b.c> {time} +0000\ndata 1\nm\n");
        format!("commit refs/heads/main\n{by}{clear}{files}")
    };
    let (before, after) = (commit("old", 1, ""), commit("new", 2, "deleteall\n"));
    app.import(&format!("{before}{after}"));
    let history = history(&app);
    for path in [None, Some(".")] {
        let mut log = history.log(&log_query(path), None, &cancel()).unwrap();
        let mut next = || log.next(&cancel()).unwrap().unwrap();
        let (moved, first) = (next(), next());
        assert_eq!((moved.renames_cut, moved.files_total), (true, 2002));
        assert_eq!((first.renames_cut, first.files_total), (false, 1001));
    }
}

#[test]
fn a_cancelled_log_stops() {
    let app = Sandbox::new();
    app.file("a", "1").committed();
    let history = history(&app);
    let mut log = history.log(&log_query(None), None, &cancel()).unwrap();
    let stop = cancel();
    stop.token.cancel();
    let cursor = log.cursor();
    assert!(matches!(
        log.next(&stop),
        Err(HistoryError::Repo(RepoError::Stopped(_)))
    ));
    assert_eq!(log.cursor(), cursor, "the position is unchanged");
    assert!(log.next(&cancel()).unwrap().is_some());
}
