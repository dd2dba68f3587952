//! Path histories: what logs share, and what they do after an interruption.

use std::os::unix::ffi::OsStrExt as _;

use archway_repo::{
    RepoError, Stopped,
    testing::{Sandbox, cancel, git, path},
};

use super::super::{Histories, LogQuery, graph, ledger};
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
    let made = graph::build(&history.git, &Graph::default(), &cancel()).unwrap();
    history.graph = Arc::new(Graph::of(vec![made.unwrap().0], &cancel()).unwrap());
    let made = ledger::build(&history.git, &history.graph, &Ledger::default(), &cancel());
    let made = Ledger::checked(made.unwrap().unwrap().0, &cancel()).unwrap();
    history.ledger = Arc::new(made);
    history
}

fn path_history(history: &History) -> PathHistory<'_> {
    let from = [history.head().unwrap()];
    PathHistory::from(history, &from, &cancel())
        .unwrap()
        .unwrap()
}

/// The ids of all remaining commits.
fn rest(path_history: &mut PathHistory<'_>, name: &str, cancel: &Cancel) -> Vec<String> {
    let mut rest = Vec::new();
    while let Some(node) = path_history.next(&path(name), cancel).unwrap() {
        rest.push(path_history.history.id_of(node.key).to_string());
    }
    rest
}

fn gits(app: &Sandbox, name: &str) -> Vec<String> {
    let ids = git(&app.root(), &["log", "--format=%H", "--", name]);
    ids.lines().map(str::to_owned).collect()
}

fn ask(name: &str) -> LogQuery {
    LogQuery {
        path: Some(path(name)),
        since: None,
        until: None,
        author: None,
        revision: None,
        now: jiff::Timestamp::UNIX_EPOCH,
    }
}

#[test]
fn only_commits_that_changed_the_file_come_and_later_logs_find_them_at_once() {
    let (app, histories) = (repository(), Histories::new());
    let history = history(&app, &histories);
    let mut first = path_history(&history);
    assert_eq!(rest(&mut first, "rare", &cancel()), gits(&app, "rare"));
    assert_eq!(first.order.lock().visited(), 10);
    let mut second = path_history(&history);
    assert!(Arc::ptr_eq(&first.order, &second.order));
    assert_eq!(rest(&mut second, "other", &cancel()), gits(&app, "other"));
    assert!(rest(&mut path_history(&history), "neither", &cancel()).is_empty());
    assert_eq!(second.order.lock().visited(), 10, "the order is shared");
}

#[test]
fn an_order_goes_no_further_than_somebody_needed() {
    let (app, histories) = (repository(), Histories::new());
    let history = history(&app, &histories);
    let mut path_history = path_history(&history);
    path_history
        .next(&path("rare"), &cancel())
        .unwrap()
        .unwrap();
    assert_eq!(path_history.order.lock().visited(), 1);
    let last = gits(&app, "other").pop().unwrap().parse().unwrap();
    assert!(path_history.resume_after(last, &cancel()).unwrap());
    assert_eq!(path_history.order.lock().visited(), 9);
    assert_eq!(rest(&mut path_history, "rare", &cancel()).len(), 1);
    let unborn = ObjectId::null(gix::hash::Kind::Sha1);
    assert!(!path_history.resume_after(unborn, &cancel()).unwrap());
}

#[test]
fn a_commit_that_is_given_back_and_one_where_a_call_had_to_stop_come_again() {
    let (app, histories) = (repository(), Histories::new());
    let history = history(&app, &histories);
    let all = gits(&app, "rare");
    let mut path_history = path_history(&history);
    path_history
        .next(&path("rare"), &cancel())
        .unwrap()
        .unwrap();
    path_history.put_back();
    let stopped = path_history
        .next(&path("rare"), &cancel().cancel_at_check(1))
        .err();
    assert!(matches!(
        stopped,
        Some(HistoryError::Repo(RepoError::Stopped(Stopped::Cancelled)))
    ));
    assert_eq!(rest(&mut path_history, "rare", &cancel()), all);
}

#[test]
fn what_is_kept_is_of_one_graph_and_one_ledger_and_has_a_bound() {
    let (app, histories) = (repository(), Histories::new());
    let mut history = history(&app, &histories);
    let held = || {
        let kept = history
            .cache()
            .path_histories(&history.graph, &history.ledger, &cancel());
        kept.unwrap().unwrap()
    };
    let first = held();
    assert!(Arc::ptr_eq(&first, &held()));
    for commit in gits(&app, "other") {
        first.order(&history, &[commit.parse().unwrap()]).unwrap();
    }
    assert_eq!(first.orders.lock().len(), MAX_ORDERS);
    let other = self::history(&app, &histories);
    history.graph = Arc::clone(&other.graph);
    let kept = history
        .cache()
        .path_histories(&history.graph, &history.ledger, &cancel());
    assert!(!Arc::ptr_eq(&first, &kept.unwrap().unwrap()));
    let none = Arc::new(Ledger::default());
    let kept = history
        .cache()
        .path_histories(&history.graph, &none, &cancel());
    assert!(kept.unwrap().is_none());
}

#[test]
fn a_page_goes_on_where_another_workers_ended_with_a_course_or_without() {
    let (app, histories) = (repository(), Histories::new());
    let with = history(&app, &histories);
    let without = History::of(&app.repo(), &Histories::new(), &cancel()).unwrap();
    let query = ask("rare");
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
            let place = super::super::LogCursor::parse(&log.cursor().into_text()).unwrap();
            let mut log = second.log(&query, Some(place), &cancel()).unwrap();
            while let Some(entry) = log.next(&cancel()).unwrap() {
                ids.push(entry.commit_info.id.to_string());
            }
            assert_eq!(ids, gits(&app, "rare"));
        }
    }
}

#[test]
fn a_file_whose_name_is_no_text_has_a_log_of_several_pages() {
    let (app, histories) = (repository(), Histories::new());
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9");
    for content in ["1", "2", "3"] {
        std::fs::write(app.root().join(name), content).unwrap();
        app.git(&["add", "-A"]).git(&["commit", "-qm", content]);
    }
    let history = history(&app, &histories);
    let (mut place, mut ids) = (None, Vec::new());
    for _page in 0..3 {
        let mut log = history.log(&ask("caf\\xe9"), place, &cancel()).unwrap();
        ids.push(log.next(&cancel()).unwrap().unwrap().commit_info.message);
        place = super::super::LogCursor::parse(&log.cursor().into_text());
    }
    assert_eq!(ids, ["3\n", "2\n", "1\n"]);
    assert_eq!(
        path_history(&history).order.lock().visited(),
        3,
        "path history was used"
    );
}
