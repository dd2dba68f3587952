//! Logs of small histories made by hand.

use archway_repo::{
    RepoError, Rules,
    testing::{Sandbox, cancel, git},
};

use super::super::super::{Histories, History, HistoryError, LogQuery};
use super::{CommitSummary, ask, gits, history, ours, told_file};

/// All commits of a log, in one page.
fn whole(app: &Sandbox, query: &LogQuery) -> Vec<CommitSummary> {
    ours(app, query, &mut || 1000)
}

fn subjects(app: &Sandbox, told: &[CommitSummary]) -> Vec<String> {
    let subject = |(id, _): &CommitSummary| git(&app.root(), &["log", "-1", "--format=%s", id]);
    told.iter().map(subject).collect()
}

fn commit(app: &Sandbox, subject: &str) {
    app.git(&["add", "-A"]).git(&["commit", "-qm", subject]);
}

#[test]
fn blocked_files_are_in_no_list_and_no_history() {
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

    let told = whole(&app, &ask(None));
    let files: Vec<&[String]> = told.iter().map(|(_, files)| files.as_slice()).collect();
    let expected: [&[&str]; 4] = [
        &["A conf/x.txt", "D settings.txt"],
        &[],
        &["A settings.txt"],
        &["A a.txt"],
    ];
    assert_eq!(files, expected);
    assert_eq!(subjects(&app, &told), ["four", "three", "two", "one"]);

    // Its history ends at the rename, without revealing the blocked name.
    let told = whole(&app, &ask(Some("settings.txt")));
    assert_eq!(told.len(), 2);
    assert_eq!(told[1].1, ["A settings.txt"]);
    // A folder counts as unchanged if only blocked files in it changed.
    let told = whole(&app, &ask(Some("conf")));
    assert_eq!(subjects(&app, &told), ["four"]);

    let history = history(&app);
    for blocked in [
        ".env",
        "secrets.txt",
        "conf/server.key",
        "never/was/id_rsa",
        ".git/config",
    ] {
        let refused = history.log(&ask(Some(blocked)), None, &cancel()).err();
        let is_blocked = matches!(refused, Some(HistoryError::Repo(RepoError::Blocked { .. })));
        assert!(is_blocked, "{blocked}: {refused:?}");
    }
}

#[test]
fn an_opened_name_is_followed_to() {
    let app = Sandbox::new();
    app.git(&["init", "-q", "-b", "main"]);
    app.file(".env.test", "some text\n".repeat(9));
    commit(&app, "one");
    app.git(&["mv", ".env.test", "test.txt"]);
    commit(&app, "two");
    let rules = Rules::new(&[".env.test".to_owned()], &[], None).unwrap();
    let history = History::of(&app.repo_with(rules), &Histories::new(), &cancel()).unwrap();
    let mut log = history
        .log(&ask(Some("test.txt")), None, &cancel())
        .unwrap();
    let first = log.next(&cancel()).unwrap().unwrap();
    assert_eq!(told_file(&first.files[0]), "R .env.test test.txt");
    assert!(log.next(&cancel()).unwrap().is_some());
}

#[test]
fn a_page_goes_on_where_it_ended_whatever_was_committed_since() {
    let app = Sandbox::new();
    app.git(&["init", "-q", "-b", "main"]);
    for at in 0..6 {
        app.file("a.txt", format!("{at}\n"));
        commit(&app, &format!("c{at}"));
    }
    for query in [ask(None), ask(Some("a.txt")), ask(Some("."))] {
        let before = whole(&app, &query);
        let mut at = 0;
        let told = ours(&app, &query, &mut || {
            at += 1;
            app.file("a.txt", format!("more {at} of {:?}\n", query.path));
            commit(&app, "more");
            2
        });
        assert_eq!(told, before);
    }
}

#[test]
fn a_name_is_a_file_or_a_folder_also_after_it_went() {
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
    let told = whole(&app, &ask(Some("old")));
    assert_eq!(subjects(&app, &told), ["three", "two", "one"]);
    assert_eq!(told[0].1, ["D old/a", "D old/c"]);
    assert_eq!(
        subjects(&app, &whole(&app, &ask(Some("b")))),
        ["three", "one"]
    );
    assert_eq!(whole(&app, &ask(Some("never"))), []);
    assert_eq!(whole(&app, &ask(Some("."))).len(), 4);
}

#[test]
fn a_name_that_is_not_utf8_is_found_by_how_it_is_shown() {
    use std::os::unix::ffi::OsStrExt as _;
    let app = Sandbox::new();
    app.git(&["init", "-q", "-b", "main"]);
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9.txt");
    std::fs::write(app.root().join(name), "x").unwrap();
    commit(&app, "one");
    let told = whole(&app, &ask(Some("caf\\xe9.txt")));
    assert_eq!(told[0].1, ["A caf\\xe9.txt"]);
    std::fs::remove_file(app.root().join(name)).unwrap();
    commit(&app, "two");
    let told = whole(&app, &ask(Some("caf\\xe9.txt")));
    let files = told.iter().map(|(_, files)| files.join(" "));
    assert!(files.eq(["D caf\\xe9.txt", "A caf\\xe9.txt"]));
}

#[test]
fn a_repository_without_commits_has_an_empty_log() {
    let app = Sandbox::new();
    app.git(&["init", "-q", "-b", "main"]);
    assert_eq!(whole(&app, &ask(None)), []);
    assert_eq!(whole(&app, &ask(Some("a.txt"))), []);
}

#[test]
fn a_shallow_clone_ends_with_a_commit_that_added_all() {
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
    let told = whole(&app, &ask(None));
    assert_eq!(told, gits(&app.root(), &["HEAD"]));
    assert_eq!(told[1].1, ["A f0", "A f1", "A f2"]);
    assert_eq!(subjects(&app, &whole(&app, &ask(Some("f0")))), ["c2"]);
}

#[test]
fn a_cursor_of_commits_that_are_gone_is_refused() {
    let app = Sandbox::new();
    app.git(&["init", "-q", "-b", "main"]);
    app.file("a", "1");
    commit(&app, "one");
    app.file("a", "2");
    commit(&app, "two");
    let place = history(&app)
        .log(&ask(None), None, &cancel())
        .unwrap()
        .cursor();
    app.git(&["reset", "-q", "--hard", "HEAD~1"]);
    let refused = history(&app).log(&ask(None), Some(place), &cancel()).err();
    assert!(
        matches!(refused, Some(HistoryError::CursorExpired)),
        "{refused:?}"
    );
}

#[test]
fn a_commit_with_too_many_files_to_look_for_renames_says_so() {
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
        let mut log = history.log(&ask(path), None, &cancel()).unwrap();
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
    let mut log = history.log(&ask(None), None, &cancel()).unwrap();
    let stop = cancel();
    stop.token.cancel();
    let place = log.cursor();
    assert!(matches!(
        log.next(&stop),
        Err(HistoryError::Repo(RepoError::Stopped(_)))
    ));
    assert_eq!(log.cursor(), place, "nothing was lost");
    assert!(log.next(&cancel()).unwrap().is_some());
}
