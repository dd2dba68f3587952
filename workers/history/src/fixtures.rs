//! Fixtures that unit tests share.

use archway_repo::{
    Repo,
    testing::{Sandbox, cancel, path},
};
use jiff::Timestamp;

use super::graph::{self, Graph};
use super::ledger::{self, Ledger};
use super::{Histories, History, LogQuery};

/// A history with empty caches.
pub(super) fn history(app: &Sandbox) -> History {
    history_of(&app.repo())
}

/// [`history`] of a repository under rules of its own.
pub(super) fn history_of(repo: &Repo) -> History {
    History::of(repo, &Histories::new(), &cancel()).unwrap()
}

/// Commits all files.
pub(super) fn commit(app: &Sandbox, message: &str) {
    app.git(&["add", "-A"]).git(&["commit", "-qm", message]);
}

/// A graph of the whole repository.
pub(super) fn graph(git: &gix::Repository) -> Graph {
    let built = graph::build(git, &Graph::default(), &cancel()).unwrap();
    Graph::checked(built.unwrap().0, &cancel()).unwrap()
}

/// A ledger of the graph's commits.
pub(super) fn ledger(git: &gix::Repository, graph: &Graph) -> Ledger {
    let built = ledger::build(git, graph, &Ledger::default(), &cancel()).unwrap();
    Ledger::checked(built.unwrap().0, &cancel()).unwrap()
}

/// A query for all commits, or those of one path.
pub(super) fn log_query(name: Option<&str>) -> LogQuery {
    LogQuery {
        path: name.map(path),
        since: None,
        until: None,
        author: None,
        revision: None,
        now: Timestamp::UNIX_EPOCH,
    }
}
