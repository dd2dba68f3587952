//! The graph of each project: the repository's own, or one that this worker built.
//!
//! The repository's own graph is used if it has filters and HEAD's commit, which shows that it is
//! maintained. Otherwise a graph is built in the background, and each build extends the last one.
//! Builds never start from a repository's own graph: errors in it must not spread.

use std::sync::Arc;

use archway_repo::{Cancel, Key, Stopped};
use gix::ObjectId;
use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use parking_lot::Mutex;
use tokio::time::{Duration, Instant};

use super::super::graph::{Graph, GraphFiles};
use super::folder::{HistoryFolder, Part};
use super::{MAX_PROJECTS, idle_timeout};

/// Size of all graphs in memory, in KiB.
const MAX_KIB: u64 = 1 << 20;
/// Minimum time between two builds of a project.
const MIN_BUILD_INTERVAL: Duration = Duration::from_secs(10 * 60);
/// A queued build that never ended is queued again after this time.
const LOST_BUILD_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);
/// Builds of a project take at most 1/`CPU_SHARE` of a core's time.
const CPU_SHARE: u32 = 100;

/// Graphs by project.
#[derive(Clone)]
pub(super) struct Graphs {
    states: Cache<Key, Arc<ProjectState>>,
    graphs: Cache<Key, CachedGraph>,
    folder: Option<HistoryFolder>,
}

/// A graph in use.
#[derive(Clone, Debug)]
struct CachedGraph {
    graph: Arc<Graph>,
    /// Whether this worker built it.
    is_built: bool,
}

/// The observed state of a project's own graph, and when the next build is due.
#[derive(Debug, Default)]
struct ProjectState {
    files: Mutex<Option<GraphFiles>>,
    /// `None` before the first build.
    next_build: Mutex<Option<Instant>>,
}

impl Graphs {
    pub(super) fn new(folder: Option<HistoryFolder>) -> Graphs {
        let kib = |_: &Key, cached: &CachedGraph| {
            let kib = (cached.graph.bytes() >> 10) + 1;
            u32::try_from(kib).unwrap_or(u32::MAX)
        };
        // These do not expire when idle: the time between builds may be longer.
        let states = Cache::builder().max_capacity(MAX_PROJECTS);
        let graphs = Cache::builder().max_capacity(MAX_KIB).weigher(kib);
        // LRU never rejects a new entry: it may have taken half an hour to build.
        Graphs {
            states: states.eviction_policy(EvictionPolicy::lru()).build(),
            graphs: graphs
                .eviction_policy(EvictionPolicy::lru())
                .time_to_idle(idle_timeout(folder.as_ref()))
                .build(),
            folder,
        }
    }

    /// The project's current graph. Reads it on first use, and when git's own files changed.
    ///
    /// # Errors
    /// If the call has to stop. The next call reads the graph again.
    pub(super) fn get(
        &self,
        project: &Key,
        git: &gix::Repository,
        cancel: &Cancel,
    ) -> Result<Arc<Graph>, Stopped> {
        let state = self.state(project);
        // Concurrent calls wait here, and find the graph.
        let mut files = cancel.lock(&state.files)?;
        let cached = self.graphs.get(project);
        if let Some(cached) = &cached
            && files.as_ref().is_some_and(|files| files.are_unchanged(git))
        {
            return Ok(Arc::clone(&cached.graph));
        }
        let (read, own) = GraphFiles::read(git, cancel)?;
        let built = match cached.filter(|cached| cached.is_built) {
            Some(cached) => cached.graph,
            None => self.saved(project, cancel)?,
        };
        let cached = choose(own, built, archway_repo::head(git).ok().flatten());
        *files = Some(read);
        self.graphs.insert(project.clone(), cached.clone());
        Ok(cached.graph)
    }

    /// The graph that the next build extends.
    ///
    /// # Errors
    /// If the build has to stop.
    pub(super) fn built(&self, project: &Key, cancel: &Cancel) -> Result<Arc<Graph>, Stopped> {
        match self.graphs.get(project).filter(|cached| cached.is_built) {
            Some(cached) => Ok(cached.graph),
            None => self.saved(project, cancel),
        }
    }

    /// Saves and caches a graph that was built.
    pub(super) fn insert(&self, project: &Key, file: Vec<u8>, cancel: &Cancel) {
        if let Some(folder) = &self.folder
            && let Err(error) = folder.save(project, Part::Graph, &file)
        {
            tracing::warn!(%error, "a commit-graph could not be saved");
        }
        match Graph::of(vec![file], cancel) {
            Ok(graph) => {
                let graph = Arc::new(graph);
                let is_built = true;
                let state = self.state(project);
                // A concurrent reader would replace it by the previous graph.
                let _no_readers = cancel.lock(&state.files);
                self.graphs
                    .insert(project.clone(), CachedGraph { graph, is_built });
            }
            Err(error) => tracing::error!(%error, "a built commit-graph is invalid"),
        }
    }

    /// Whether a build is due. Returns true to one caller, which then has to queue the build; to
    /// others only after [`Graphs::schedule_next`].
    pub(super) fn claim(&self, project: &Key) -> bool {
        let state = self.state(project);
        let mut next = state.next_build.lock();
        let now = Instant::now();
        let is_due = next.is_none_or(|next| next <= now);
        if is_due {
            *next = Some(now + LOST_BUILD_TIMEOUT);
        }
        is_due
    }

    /// Schedules the next build after one that took this long.
    pub(super) fn schedule_next(&self, project: &Key, took: Duration) {
        let interval = MIN_BUILD_INTERVAL.max(took.saturating_mul(CPU_SHARE));
        *self.state(project).next_build.lock() = Some(Instant::now() + interval);
    }

    fn state(&self, project: &Key) -> Arc<ProjectState> {
        self.states.get_with_by_ref(project, Arc::default)
    }

    fn saved(&self, project: &Key, cancel: &Cancel) -> Result<Arc<Graph>, Stopped> {
        let parse = |content| Graph::checked(content, cancel);
        let load = |folder: &HistoryFolder| folder.load(project, Part::Graph, parse, cancel);
        let saved = self.folder.as_ref().map(load).transpose()?;
        Ok(Arc::new(saved.flatten().unwrap_or_default()))
    }
}

/// Chooses a graph. Filters count most, complete ones more than partial ones, then how few commits
/// would have to be read besides.
fn choose(own: Graph, built: Arc<Graph>, head: Option<ObjectId>) -> CachedGraph {
    let worth = |graph: &Graph| {
        let has_head = head.is_some_and(|head| graph.find(&head).is_some());
        let filters = (graph.has_filters(), graph.has_all_filters());
        (filters, has_head, graph.len())
    };
    let is_built = worth(&built) > worth(&own);
    let graph = if is_built { built } else { Arc::new(own) };
    CachedGraph { graph, is_built }
}

#[cfg(test)]
mod tests {
    use archway_repo::Rules;
    use archway_repo::testing::{Sandbox, cancel};
    use tokio::time::advance;
    use tokio_util::sync::CancellationToken;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn waiting_for_another_calls_graph_can_be_cancelled() {
        let app = Sandbox::new();
        app.file("a", "1").committed();
        let (repo, graphs) = (app.repo(), Graphs::new(None));
        let git = repo.git().unwrap();
        let state = graphs.state(repo.key());
        let reading = state.files.lock();
        let left = graphs.get(repo.key(), &git, &cancel().cancel_at_check(3));
        assert_eq!(left.err(), Some(Stopped::Cancelled));
        let soon = Instant::now() + Duration::from_millis(50);
        let late = graphs.get(
            repo.key(),
            &git,
            &Cancel::new(soon, CancellationToken::new()),
        );
        assert_eq!(late.err(), Some(Stopped::Deadline));
        drop(reading);
        assert!(graphs.get(repo.key(), &git, &cancel()).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_build_is_due_once_until_its_interval_has_passed() {
        let app = Sandbox::new();
        let (repo, graphs) = (app.repo(), Graphs::new(None));
        assert!(graphs.claim(repo.key()));
        advance(4 * MIN_BUILD_INTERVAL).await;
        assert!(!graphs.claim(repo.key()), "a build is queued or running");
        graphs.schedule_next(repo.key(), MIN_BUILD_INTERVAL);
        advance(CPU_SHARE * MIN_BUILD_INTERVAL - MIN_BUILD_INTERVAL).await;
        assert!(!graphs.claim(repo.key()));
        advance(MIN_BUILD_INTERVAL).await;
        assert!(graphs.claim(repo.key()));
    }

    #[test]
    fn build_intervals_hold_for_many_projects() {
        let app = Sandbox::new();
        let graphs = Graphs::new(None);
        let due = |number: usize| {
            let name = format!("app-{number}");
            std::fs::create_dir_all(app.host("acme").join(&name)).unwrap();
            let rules = Arc::new(Rules::new(&[], &[], None).unwrap());
            let repo = app.repos.open("acme", (&name, Uuid::nil()), rules).unwrap();
            let is_due = graphs.claim(repo.key());
            graphs.states.run_pending_tasks();
            is_due
        };
        assert!((0..200).all(due));
        assert!(!(0..200).any(due));
    }
}
