//! Logs share a path history, and resume it after an interruption.

use std::os::unix::ffi::OsStrExt as _;

use archway_repo::{
    RepoError, Stopped,
    testing::{Sandbox, cancel, git, path},
};

use super::super::Histories;
use super::super::fixtures::{self, log_query};
use super::*;

/// Ten commits, every third of which changes the file `rare`.
fn repository() -> Sandbox {
    let app = Sandbox::new();
    app.file("rare", "0").committed();
    for number in 1..10 {
        app.file(
            if number % 3 == 0 { "rare" } else { "other" },
            number.to_string(),
        );
        app.git(&["add", "-A"]).git(&["commit", "-qm", "more"]);
    }
    app
}

/// A history with a complete graph and ledger.
fn history(app: &Sandbox, histories: &Histories) -> History {
    let mut history = History::of(&app.repo(), histories, &cancel()).unwrap();
    history.graph = Arc::new(fixtures::graph(&history.git));
    history.ledger = Arc::new(fixtures::ledger(&history.git, &history.graph));
    history
}

fn path_history(history: &History) -> PathHistory<'_> {
    let from = [history.head().unwrap()];
    PathHistory::from(history, &from, &cancel())
        .unwrap()
        .unwrap()
}

/// The ids of all remaining commits.
fn rest(log: &mut PathHistory<'_>, name: &str, cancel: &Cancel) -> Vec<String> {
    let mut rest = Vec::new();
    while let Some(node) = log.next(&path(name), cancel).unwrap() {
        rest.push(log.history.id_of(node.key).to_string());
    }
    rest
}

fn git_log(app: &Sandbox, name: &str) -> Vec<String> {
    let ids = git(&app.root(), &["log", "--format=%H", "--", name]);
    ids.lines().map(str::to_owned).collect()
}

#[test]
fn orders_are_shared_and_yield_only_commits_of_the_file() {
    let (app, histories) = (repository(), Histories::new());
    let history = history(&app, &histories);
    let mut first = path_history(&history);
    assert_eq!(rest(&mut first, "rare", &cancel()), git_log(&app, "rare"));
    assert_eq!(first.order.lock().visited(), 10);
    let mut second = path_history(&history);
    assert!(Arc::ptr_eq(&first.order, &second.order));
    assert_eq!(
        rest(&mut second, "other", &cancel()),
        git_log(&app, "other")
    );
    assert!(rest(&mut path_history(&history), "neither", &cancel()).is_empty());
    assert_eq!(second.order.lock().visited(), 10, "the order is shared");
}

#[test]
fn an_order_is_computed_only_as_far_as_needed() {
    let (app, histories) = (repository(), Histories::new());
    let history = history(&app, &histories);
    let mut log = path_history(&history);
    log.next(&path("rare"), &cancel()).unwrap().unwrap();
    assert_eq!(log.order.lock().visited(), 1);
    let last = git_log(&app, "other").pop().unwrap().parse().unwrap();
    assert!(log.resume_after(last, &cancel()).unwrap());
    assert_eq!(log.order.lock().visited(), 9);
    assert_eq!(rest(&mut log, "rare", &cancel()).len(), 1);
    let unborn = ObjectId::null(gix::hash::Kind::Sha1);
    assert!(!log.resume_after(unborn, &cancel()).unwrap());
}

#[test]
fn commits_come_again_after_put_back_and_after_cancellation() {
    let (app, histories) = (repository(), Histories::new());
    let history = history(&app, &histories);
    let all = git_log(&app, "rare");
    let mut log = path_history(&history);
    log.next(&path("rare"), &cancel()).unwrap().unwrap();
    log.put_back();
    let stopped = log.next(&path("rare"), &cancel().cancel_at_check(1)).err();
    assert!(matches!(
        stopped,
        Some(HistoryError::Repo(RepoError::Stopped(Stopped::Cancelled)))
    ));
    assert_eq!(rest(&mut log, "rare", &cancel()), all);
}

#[test]
fn path_histories_are_bounded_and_bound_to_graph_and_ledger() {
    let (app, histories) = (repository(), Histories::new());
    let mut history = history(&app, &histories);
    let cached = || {
        let histories = history
            .cache()
            .path_histories(&history.graph, &history.ledger, &cancel());
        histories.unwrap().unwrap()
    };
    let first = cached();
    assert!(Arc::ptr_eq(&first, &cached()));
    for commit in git_log(&app, "other") {
        first.order(&history, &[commit.parse().unwrap()]).unwrap();
    }
    assert_eq!(first.orders.lock().len(), MAX_ORDERS);
    let other = self::history(&app, &histories);
    history.graph = Arc::clone(&other.graph);
    let histories = history
        .cache()
        .path_histories(&history.graph, &history.ledger, &cancel());
    assert!(!Arc::ptr_eq(&first, &histories.unwrap().unwrap()));
    let none = Arc::new(Ledger::default());
    let histories = history
        .cache()
        .path_histories(&history.graph, &none, &cancel());
    assert!(histories.unwrap().is_none());
}

#[test]
fn workers_with_and_without_path_history_continue_pages() {
    let (app, histories) = (repository(), Histories::new());
    let with = history(&app, &histories);
    let without = fixtures::history(&app);
    let query = log_query(Some("rare"));
    for first in [&with, &without] {
        for second in [&with, &without] {
            let mut log = first.log(&query, None, &cancel()).unwrap();
            let mut ids = vec![
                log.next(&cancel())
                    .unwrap()
                    .unwrap()
                    .commit_info
                    .id
                    .to_string(),
            ];
            let text = first.save_cursor(&query, log.cursor());
            let cursor = second.find_cursor(&query, &text, &cancel()).unwrap();
            let mut log = second.log(&query, cursor, &cancel()).unwrap();
            while let Some(entry) = log.next(&cancel()).unwrap() {
                ids.push(entry.commit_info.id.to_string());
            }
            assert_eq!(ids, git_log(&app, "rare"));
        }
    }
}

#[test]
fn a_file_with_a_non_utf8_name_has_a_log_of_several_pages() {
    let (app, histories) = (repository(), Histories::new());
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9");
    for content in ["1", "2", "3"] {
        std::fs::write(app.root().join(name), content).unwrap();
        app.git(&["add", "-A"]).git(&["commit", "-qm", content]);
    }
    let history = history(&app, &histories);
    let query = log_query(Some("caf\\xe9"));
    let (mut cursor, mut ids) = (None, Vec::new());
    for _page in 0..3 {
        let mut log = history.log(&query, cursor, &cancel()).unwrap();
        ids.push(log.next(&cancel()).unwrap().unwrap().commit_info.message);
        let text = history.save_cursor(&query, log.cursor());
        cursor = history.find_cursor(&query, &text, &cancel()).unwrap();
    }
    assert_eq!(ids, ["3\n", "2\n", "1\n"]);
    assert_eq!(
        path_history(&history).order.lock().visited(),
        3,
        "path history was used"
    );
}
