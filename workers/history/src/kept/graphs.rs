//! The graph of each project: the repository's own, or one that this worker built.
//!
//! The repository's own graph is used if it has filters and HEAD's commit: then somebody maintains
//! it. Otherwise one is built in the background, and each build extends the last one. Builds never
//! start from a repository's own graph: errors in it must not spread.

use std::sync::Arc;

use archway_repo::{Cancel, Key, Stopped};
use gix::ObjectId;
use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use parking_lot::Mutex;
use tokio::time::{Duration, Instant};

use super::super::graph::{Graph, Origin};
use super::folder::{CacheFolder, Part};
use super::{MAX_PROJECTS, idle};

/// Size of all graphs in memory, in KiB.
const MAX_KIB: u64 = 1 << 20;
/// Minimum time between two builds of a project.
const REST: Duration = Duration::from_secs(10 * 60);
/// A queued build that never ended is queued again after this time.
const NEVER_ENDED: Duration = Duration::from_secs(24 * 60 * 60);
/// Builds of a project take at most 1/`CPU_SHARE` of a core's time.
const SHARE: u32 = 100;

/// Graphs by project.
#[derive(Clone)]
pub(super) struct Graphs {
    looks: Cache<Key, Arc<Look>>,
    graphs: Cache<Key, Held>,
    folder: Option<CacheFolder>,
}

/// A graph in use.
#[derive(Clone, Debug)]
struct Held {
    graph: Arc<Graph>,
    /// Whether this worker built it.
    is_ours: bool,
}

/// The observed state of a project's own graph, and when the next build is due.
#[derive(Debug, Default)]
struct Look {
    origin: Mutex<Option<Origin>>,
    /// `None` before the first build.
    next_build: Mutex<Option<Instant>>,
}

impl Graphs {
    pub(super) fn new(folder: Option<CacheFolder>) -> Graphs {
        let kib = |_: &Key, held: &Held| {
            let kib = (held.graph.bytes() >> 10) + 1;
            u32::try_from(kib).unwrap_or(u32::MAX)
        };
        // These do not expire when idle: the time between builds may be longer.
        let looks = Cache::builder().max_capacity(MAX_PROJECTS);
        let graphs = Cache::builder().max_capacity(MAX_KIB).weigher(kib);
        // LRU never rejects a new entry: it may have taken half an hour to build.
        Graphs {
            looks: looks.eviction_policy(EvictionPolicy::lru()).build(),
            graphs: graphs
                .eviction_policy(EvictionPolicy::lru())
                .time_to_idle(idle(folder.as_ref()))
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
        let look = self.look(project);
        // Concurrent calls wait here, and find the graph.
        let mut origin = cancel.lock(&look.origin)?;
        let held = self.graphs.get(project);
        if let Some(held) = &held
            && origin.as_ref().is_some_and(|seen| seen.still_holds(git))
        {
            return Ok(Arc::clone(&held.graph));
        }
        let (seen, own) = Origin::read(git, cancel)?;
        let ours = match held.filter(|held| held.is_ours) {
            Some(held) => held.graph,
            None => self.saved(project, cancel)?,
        };
        let held = better(own, ours, archway_repo::head(git).ok().flatten());
        *origin = Some(seen);
        self.graphs.insert(project.clone(), held.clone());
        Ok(held.graph)
    }

    /// The graph that the next build extends.
    ///
    /// # Errors
    /// If the build has to stop.
    pub(super) fn ours(&self, project: &Key, cancel: &Cancel) -> Result<Arc<Graph>, Stopped> {
        match self.graphs.get(project).filter(|held| held.is_ours) {
            Some(held) => Ok(held.graph),
            None => self.saved(project, cancel),
        }
    }

    /// Saves and caches a graph that was built.
    pub(super) fn take(&self, project: &Key, file: Vec<u8>, cancel: &Cancel) {
        if let Some(folder) = &self.folder
            && let Err(error) = folder.save(project, Part::Graph, &file)
        {
            tracing::warn!(%error, "a commit-graph can't be saved");
        }
        match Graph::of(vec![file], cancel) {
            Ok(graph) => {
                let graph = Arc::new(graph);
                let is_ours = true;
                let look = self.look(project);
                // A concurrent reader would replace it by the previous graph.
                let _none_reads = cancel.lock(&look.origin);
                self.graphs.insert(project.clone(), Held { graph, is_ours });
            }
            Err(error) => tracing::error!(%error, "a commit-graph that was made can't be used"),
        }
    }

    /// Whether a build is due. Returns true to one caller, which then has to queue the build; to
    /// others only after [`Graphs::schedule_next`].
    pub(super) fn claim(&self, project: &Key) -> bool {
        let look = self.look(project);
        let mut next = look.next_build.lock();
        let now = Instant::now();
        let is_due = next.is_none_or(|next| next <= now);
        if is_due {
            *next = Some(now + NEVER_ENDED);
        }
        is_due
    }

    /// Schedules the next build after one that took this long.
    pub(super) fn rest(&self, project: &Key, took: Duration) {
        let rest = REST.max(took.saturating_mul(SHARE));
        *self.look(project).next_build.lock() = Some(Instant::now() + rest);
    }

    fn look(&self, project: &Key) -> Arc<Look> {
        self.looks.get_with_by_ref(project, Arc::default)
    }

    fn saved(&self, project: &Key, cancel: &Cancel) -> Result<Arc<Graph>, Stopped> {
        let parse = |content| Graph::checked(content, cancel);
        let load = |folder: &CacheFolder| folder.load(project, Part::Graph, parse, cancel);
        let saved = self.folder.as_ref().map(load).transpose()?;
        Ok(Arc::new(saved.flatten().unwrap_or_default()))
    }
}

/// Chooses a graph. Filters count most, complete ones more than partial ones, then how few commits
/// would have to be read besides.
fn better(own: Graph, ours: Arc<Graph>, head: Option<ObjectId>) -> Held {
    let worth = |graph: &Graph| {
        let has_head = head.is_some_and(|head| graph.find(&head).is_some());
        let filters = (graph.has_filters(), graph.has_all_filters());
        (filters, has_head, graph.len())
    };
    let is_ours = worth(&ours) > worth(&own);
    let graph = if is_ours { ours } else { Arc::new(own) };
    Held { graph, is_ours }
}

#[cfg(test)]
mod tests {
    use archway_repo::Rules;
    use archway_repo::testing::{Sandbox, cancel};
    use tokio::time::advance;
    use tokio_util::sync::CancellationToken;

    use super::*;

    #[test]
    fn who_waits_for_a_graph_that_another_call_reads_can_give_up() {
        let app = Sandbox::new();
        app.file("a", "1").committed();
        let (repo, graphs) = (app.repo(), Graphs::new(None));
        let git = repo.git().unwrap();
        let look = graphs.look(repo.key());
        let reading = look.origin.lock();
        let left = graphs.get(repo.key(), &git, &cancel().at_look(3));
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
    async fn a_build_is_due_once_until_it_has_ended_and_rested() {
        let app = Sandbox::new();
        let (repo, graphs) = (app.repo(), Graphs::new(None));
        assert!(graphs.claim(repo.key()));
        advance(4 * REST).await;
        assert!(!graphs.claim(repo.key()), "it waits or runs");
        graphs.rest(repo.key(), REST);
        advance(SHARE * REST - REST).await;
        assert!(!graphs.claim(repo.key()));
        advance(REST).await;
        assert!(graphs.claim(repo.key()));
    }

    #[test]
    fn however_many_projects_there_are_none_is_built_again_before_its_rest() {
        let app = Sandbox::new();
        let graphs = Graphs::new(None);
        let due = |number: usize| {
            let name = format!("app-{number}");
            std::fs::create_dir_all(app.host("acme").join(&name)).unwrap();
            let rules = Arc::new(Rules::new(&[], &[], None).unwrap());
            let repo = app.repos.open("acme", &name, rules).unwrap();
            let is_due = graphs.claim(repo.key());
            graphs.looks.run_pending_tasks();
            is_due
        };
        assert!((0..200).all(due));
        assert!(!(0..200).any(due));
    }
}
