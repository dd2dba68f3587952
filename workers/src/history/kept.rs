//! What is kept of histories between calls: the graph of each project, and answers that took long.
//!
//! Nothing in here decides what an answer is. An answer is kept by the commit it was given at, so
//! it never grows old, and only for the path rules it was given under: with others it is none.

// In the order in which a graph is looked for.
mod graphs;
mod folder;
mod builder;

use std::any::Any;
use std::io;
use std::sync::Arc;

use gix::ObjectId;
use moka::sync::Cache;
use tokio::time::Duration;

pub use folder::{CacheFolder, CacheFolderError};

use super::graph::Graph;
use super::reachable::Reach;
use crate::metrics::{HistoryMetrics, Metrics};
use crate::repo::{Key, Repo, RepoPath, Rules};
use builder::Builder;
use graphs::Graphs;

/// How many projects are remembered, and may wait for their graph.
const MAX_PROJECTS: usize = 64;
/// For how many projects it is kept which commits are reached.
const MAX_REACHES: u64 = 16;
/// How long is kept what nobody asks for.
const IDLE: Duration = Duration::from_secs(15 * 60);
/// What all kept answers may hold, in bytes.
const ANSWER_BYTES: u64 = 64 << 20;
/// What a kept answer costs beside its own bytes.
const OVERHEAD: usize = 256;

/// What this worker keeps of all projects' histories.
#[derive(Clone)]
pub(crate) struct Histories(Arc<Shared>);

struct Shared {
    graphs: Graphs,
    builder: Builder,
    reaches: Cache<Key, Reach>,
    answers: Cache<Address, Answer>,
    metrics: HistoryMetrics,
}

/// What is kept of one project's history, for calls under one set of path rules.
pub(crate) struct Kept {
    shared: Arc<Shared>,
    project: Key,
    rules: Arc<Rules>,
}

/// An answer that is worth keeping.
pub(crate) trait Keepable: Send + Sync + 'static {
    /// What it is called in metrics, and what tells it from answers of other kinds.
    const NAME: &'static str;

    /// About how many bytes it holds.
    fn bytes(&self) -> usize;
}

/// What decides an answer, beside the project and its rules.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Question {
    /// The commit it was asked at.
    pub(crate) commit: ObjectId,
    /// The file it was asked of.
    pub(crate) path: RepoPath,
    /// Whatever else decides it, such as options; empty if nothing does.
    pub(crate) detail: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Address {
    project: Key,
    kind: &'static str,
    question: Question,
}

#[derive(Clone)]
struct Answer {
    rules: Arc<Rules>,
    bytes: u32,
    value: Arc<dyn Any + Send + Sync>,
}

impl Histories {
    /// Nothing is kept yet, but for graphs that an earlier worker left in `folder`. Starts a thread
    /// that makes graphs, confined as the calling one.
    ///
    /// # Errors
    /// If the thread can't be started.
    pub(crate) fn start(folder: Option<CacheFolder>, metrics: &Metrics) -> io::Result<Histories> {
        let graphs = Graphs::new(folder);
        let metrics = metrics.history();
        let weigh = |_: &Address, answer: &Answer| answer.bytes;
        Ok(Histories(Arc::new(Shared {
            builder: Builder::start(graphs.clone(), metrics.clone())?,
            graphs,
            reaches: Cache::builder()
                .max_capacity(MAX_REACHES)
                .time_to_idle(IDLE)
                .build(),
            answers: Cache::builder()
                .max_capacity(ANSWER_BYTES)
                .weigher(weigh)
                .time_to_idle(IDLE)
                .build(),
            metrics,
        })))
    }

    /// Kept in memory only.
    #[cfg(test)]
    pub(crate) fn new() -> Histories {
        Histories::start(None, &Metrics::new()).unwrap()
    }

    /// What is known of a project's commits without reading them; not for a shallow clone. A graph
    /// is made in the background where there is no good one.
    pub(super) fn graph(&self, repo: &Repo, git: &gix::Repository) -> Arc<Graph> {
        let shared = &self.0;
        let graph = shared.graphs.get(repo.key(), git);
        if let Some(head) = repo.commit()
            && shared.graphs.claim(repo.key(), &graph, head)
        {
            shared.builder.ask(repo.key(), git);
        }
        graph
    }

    /// What is kept for calls on this project.
    pub(super) fn kept(&self, repo: &Repo) -> Kept {
        Kept {
            shared: Arc::clone(&self.0),
            project: repo.key().clone(),
            rules: repo.rules(),
        }
    }
}

impl Kept {
    /// Which commits are reached, as far as it is known.
    pub(super) fn reach(&self) -> Reach {
        self.shared
            .reaches
            .get_with_by_ref(&self.project, Reach::default)
    }

    /// The answer that was kept for `question`, if it was given under the same path rules.
    pub(crate) fn get<T: Keepable>(&self, question: &Question) -> Option<Arc<T>> {
        let found = self.shared.answers.get(&self.address::<T>(question));
        // Rules are read again every few seconds, and are the same most often.
        let same = found.filter(|found| found.rules == self.rules);
        let value = same.and_then(|found| found.value.downcast().ok());
        self.shared.metrics.looked_up(T::NAME, value.is_some());
        value
    }

    /// Keeps an answer.
    pub(crate) fn keep<T: Keepable>(&self, question: &Question, value: Arc<T>) {
        let bytes = value.bytes() + question.path.as_bytes().len() + OVERHEAD;
        let answer = Answer {
            rules: Arc::clone(&self.rules),
            bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
            value,
        };
        let address = self.address::<T>(question);
        self.shared.answers.insert(address, answer);
    }

    fn address<T: Keepable>(&self, question: &Question) -> Address {
        Address {
            project: self.project.clone(),
            kind: T::NAME,
            question: question.clone(),
        }
    }
}
