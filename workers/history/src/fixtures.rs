//! Histories, graphs, ledgers and queries for unit tests.

use archway_repo::{
    Repo,
    testing::{Sandbox, cancel, path},
};
use jiff::Timestamp;

use super::graph::{self, Graph};
use super::ledger::{self, Ledger};
use super::{Histories, History, LogQuery};

/// A history with empty caches.
pub(super) fn history(sandbox: &Sandbox) -> History {
    history_of(&sandbox.repo())
}

/// Like [`history`], for a [`Repo`] with its own path rules.
pub(super) fn history_of(repo: &Repo) -> History {
    History::of(repo, &Histories::new(), &cancel()).unwrap()
}

pub(super) fn commit(sandbox: &Sandbox, message: &str) {
    sandbox.git(&["add", "-A"]).git(&["commit", "-qm", message]);
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

/// A query for all commits, or those of one path. `now` is 1970, so relative dates make no sense.
pub(super) fn log_query(file_path: Option<&str>) -> LogQuery {
    LogQuery {
        path: file_path.map(path),
        since: None,
        until: None,
        author: None,
        grep: None,
        changed: None,
        revision: None,
        now: Timestamp::UNIX_EPOCH,
    }
}
