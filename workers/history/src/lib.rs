//! A repository's history: which commit a revision names, which commits changed what, and how.
//!
//! Sits between `tools/git` and `repo`, which validates where git's data lies. Everything here is
//! git plumbing through `gix`, in this process: no command is started and no hook, filter or alias
//! of a repository is run. All functions block, and check [`Cancel`] every few milliseconds.

// In the order in which a request meets them.
mod date;
mod revision;
mod tips;
mod reachability;
mod cache;
mod metrics;
mod graph;
mod ledger;
mod commit_head;
mod commit;
mod walk_node;
mod merge_base;
mod frontier;
mod path_history;
mod walk;
mod exclusion;
mod path_limiter;
mod changed_file;
mod followed_file;
mod last_change;
mod file_source;
mod cursor;
mod log;
mod change;
mod changes;
mod trees;
mod worktree;
mod renames;
mod blame;
mod cuts;
mod similarity;
mod blobs;
mod content;
mod hunks;
mod patch;
mod suggestions;
mod error;
mod refusal;
#[cfg(test)]
mod git_comparison;
#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod cancellation_tests;

use std::sync::Arc;

use gix::ObjectId;

use archway_repo::{Cancel, Repo, Rules, pack_cache};

pub use blame::BlamedFile;
pub use cache::Histories;
pub(crate) use cache::{AnswerKey, Cacheable, ProjectCache};
#[cfg(test)]
pub(crate) use change::Changes;
pub use change::{Change, ChangeKind, Side};
pub use changed_file::{ChangedFile, Status};
pub use changes::Comparison;
pub use commit::{CommitInfo, Signature};
pub use cursor::LogCursor;
pub use date::{SpanEnd, parse_bound};
pub use error::HistoryError;
pub(crate) use graph::{FilterQuery, Graph, Position};
pub use last_change::LastChange;
pub use log::{Log, LogEntry, LogQuery};
pub use metrics::HistoryMetrics;
pub use patch::{Comparer, LineCounts, Measure};
pub use refusal::{ABSENT_AT_REVISION, FOLDER_AT_REVISION};
pub use suggestions::EmptyLogReason;

use cache::Indexes;
use ledger::Ledger;

/// The history of one project, as one call sees it.
pub struct History {
    git: gix::Repository,
    /// The same repository for lookups that may miss: it does not look for new packs on a miss.
    no_refresh: gix::Repository,
    /// Commits whose parents were not cloned. `None` for a full clone.
    shallow: Option<gix::shallow::Commits>,
    rules: Arc<Rules>,
    /// The commit that the call is pinned to. `None` before the first commit.
    head: Option<ObjectId>,
    graph: Arc<Graph>,
    ledger: Arc<Ledger>,
    cache: ProjectCache,
}

impl History {
    /// Opens the history of a project, with the caches in `histories`.
    ///
    /// # Errors
    /// [`HistoryError::NotARepository`], [`HistoryError::UnusableRepository`], an unreadable list
    /// of shallow commits, or a stopped call.
    pub fn of(
        repo: &Repo,
        histories: &Histories,
        cancel: &Cancel,
    ) -> Result<History, HistoryError> {
        let mut git = repo.git().ok_or_else(|| match repo.git_refused() {
            Some(why) => HistoryError::UnusableRepository { why },
            None => HistoryError::NotARepository,
        })?;
        pack_cache::enable(&mut git);
        let shallow = git.shallow_commits();
        let shallow = shallow.map_err(error::git("reading the list of shallow commits"))?;
        let ends = shallow.as_ref().map(|ends| ends.iter().copied().collect());
        let cache = histories.project_cache(repo, &git, ends);
        // A graph may know parents that a shallow clone lacks.
        let indexes = match shallow {
            Some(_) => Indexes::default(),
            None => cache.indexes(&git, repo.commit(), cancel)?,
        };
        let mut no_refresh = git.clone();
        no_refresh.objects.refresh_never();
        Ok(History {
            git,
            no_refresh,
            shallow,
            rules: repo.rules(),
            head: repo.commit(),
            graph: indexes.graph,
            ledger: indexes.ledger,
            cache,
        })
    }

    /// The commit that the call is pinned to. `None` before the first commit.
    pub fn head(&self) -> Option<ObjectId> {
        self.head
    }

    /// The commit-graph: commits that need no object reads. May lack any commit, or all.
    pub(crate) fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The ledger: changed files per commit, as far as recorded. Callers must apply path rules.
    fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Cached answers of earlier calls.
    pub(crate) fn cache(&self) -> &ProjectCache {
        &self.cache
    }
}
