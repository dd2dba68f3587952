//! Which runs are active, and which project is next.
//!
//! Fair over tenants: the next run is of the tenant whose last run began the longest ago, and within
//! it of the project for which the same holds, documents before vectors. A run that ends frees a
//! slot for whoever waits.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};

use archway_repo::Look;
use archway_store::ProjectKey;
use tokio::task::{Id, JoinError, JoinSet};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;
use uuid::Uuid;

use super::project_entry::Work;
use super::run::RunError;

/// Concurrent runs of a worker. They share one thread, so a small change waits for one batch of a
/// large repository, not for all of it.
const MAX_RUNS: usize = 8;
/// Concurrent runs of one tenant.
const MAX_TENANT_RUNS: usize = 2;

/// Active runs, and projects that wait for one.
#[derive(Default)]
pub(super) struct RunQueue {
    runs: JoinSet<Result<Look, RunError>>,
    active: HashMap<Id, ActiveRun>,
    /// Waiting projects of each tenant, with their order.
    waiting: HashMap<Uuid, BTreeSet<(ProjectOrder, ProjectKey)>>,
    /// The tenants with waiting projects, by the number of their last run.
    turns: BTreeSet<(Option<u64>, Uuid)>,
    /// The number of the last run of each tenant and project.
    last_tenant_run: HashMap<Uuid, u64>,
    last_project_run: HashMap<ProjectKey, u64>,
    runs_begun: u64,
    /// Orders projects that never ran: by chance, so that workers begin with different ones.
    hasher: RandomState,
}

/// The order of a tenant's projects: documents before vectors, then by the last run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ProjectOrder {
    lacks_vectors_alone: bool,
    last_run: Option<u64>,
    chance: u64,
}

/// An active run.
struct ActiveRun {
    project_key: ProjectKey,
    /// Cancelled when another project waits for the slot.
    yields: CancellationToken,
}

impl RunQueue {
    /// Replaces the waiting projects; those with an active run do not wait. If documents wait for a
    /// slot, runs that make vectors stop after their present batch.
    pub(super) fn set_waiting(&mut self, waiting: impl Iterator<Item = (ProjectKey, Work)>) {
        self.waiting.clear();
        self.turns.clear();
        let active: HashSet<ProjectKey> = self.active.values().map(|run| run.project_key).collect();
        for (project_key, work) in waiting.filter(|(key, _)| !active.contains(key)) {
            let order = ProjectOrder {
                lacks_vectors_alone: work == Work::Vectors,
                last_run: self.last_project_run.get(&project_key).copied(),
                chance: self.hasher.hash_one(project_key),
            };
            let projects = self.waiting.entry(project_key.tenant).or_default();
            projects.insert((order, project_key));
        }
        let turn = |tenant: &Uuid| (self.last_tenant_run.get(tenant).copied(), *tenant);
        self.turns = self.waiting.keys().map(turn).collect();
    }

    /// Forgets the runs of projects that are gone.
    pub(super) fn retain(&mut self, is_there: impl Fn(ProjectKey) -> bool) {
        self.last_project_run.retain(|key, _| is_there(*key));
        let tenants: HashSet<Uuid> = self.last_project_run.keys().map(|key| key.tenant).collect();
        self.last_tenant_run
            .retain(|tenant, _| tenants.contains(tenant));
    }

    /// Takes the project whose run is next, if a slot is free for it.
    pub(super) fn next(&mut self) -> Option<ProjectKey> {
        if self.active.len() >= MAX_RUNS {
            return None;
        }
        // Tenants without a free slot began a run recently: they are last.
        let turn = *(self.turns.iter()).find(|(_, tenant)| self.has_tenant_slot(*tenant))?;
        let projects = self.waiting.get_mut(&turn.1)?;
        let (_, project_key) = projects.pop_first()?;
        if projects.is_empty() {
            self.waiting.remove(&turn.1);
            self.turns.remove(&turn);
        }
        Some(project_key)
    }

    /// Starts a run, which makes no more vectors once its token is cancelled.
    pub(super) fn start(
        &mut self,
        project_key: ProjectKey,
        yields: CancellationToken,
        run: impl Future<Output = Result<Look, RunError>> + Send + 'static,
    ) {
        let tenant = project_key.tenant;
        self.runs_begun += 1;
        let last = self.last_tenant_run.insert(tenant, self.runs_begun);
        if self.turns.remove(&(last, tenant)) {
            self.turns.insert((Some(self.runs_begun), tenant));
        }
        self.last_project_run.insert(project_key, self.runs_begun);
        let id = self.runs.spawn(run.in_current_span()).id();
        let run = ActiveRun {
            project_key,
            yields,
        };
        self.active.insert(id, run);
    }

    /// Makes room for documents that wait: runs that make vectors stop after their present batch,
    /// those of the same tenant if it uses all its slots, else all.
    pub(super) fn displace_vectors(&self) {
        let has_room = self.active.len() < MAX_RUNS;
        let waits = |tenant: &Uuid| {
            let first = self.waiting.get(tenant).and_then(BTreeSet::first);
            first.is_some_and(|(order, _)| !order.lacks_vectors_alone)
        };
        let any_waits = !has_room && self.waiting.keys().any(waits);
        for run in self.active.values() {
            if any_waits || waits(&run.project_key.tenant) {
                run.yields.cancel();
            }
        }
    }

    /// Waits for the end of a run. `None` if none is active.
    pub(super) async fn join_next(
        &mut self,
    ) -> Option<(ProjectKey, Result<Result<Look, RunError>, JoinError>)> {
        let joined = self.runs.join_next_with_id().await?;
        let (id, ended) = match joined {
            Ok((id, ended)) => (id, Ok(ended)),
            Err(panicked) => (panicked.id(), Err(panicked)),
        };
        let run = self.active.remove(&id)?;
        Some((run.project_key, ended))
    }

    /// Whether no run is active.
    pub(super) fn is_idle(&self) -> bool {
        self.active.is_empty()
    }

    /// Whether the project has an active run.
    pub(super) fn is_running(&self, project_key: ProjectKey) -> bool {
        let mut active = self.active.values();
        active.any(|run| run.project_key == project_key)
    }

    fn has_tenant_slot(&self, tenant: Uuid) -> bool {
        let active = self.active.values();
        let of_tenant = active.filter(|run| run.project_key.tenant == tenant);
        of_tenant.count() < MAX_TENANT_RUNS
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    fn key(tenant: u128, project: u128) -> ProjectKey {
        ProjectKey {
            tenant: Uuid::from_u128(tenant),
            project: Uuid::from_u128(project),
        }
    }

    fn documents(projects: &[(u128, u128)]) -> impl Iterator<Item = (ProjectKey, Work)> {
        let projects = projects.iter().map(|&(t, p)| (key(t, p), Work::Documents));
        projects.collect::<Vec<_>>().into_iter()
    }

    /// Starts what may start; none of the runs ends. Returns their tenants and tokens.
    fn start_all(queue: &mut RunQueue) -> Vec<(u128, CancellationToken)> {
        let mut started = Vec::new();
        while let Some(next) = queue.next() {
            let yields = CancellationToken::new();
            queue.start(next, yields.clone(), pending());
            started.push((next.tenant.as_u128(), yields));
        }
        started
    }

    fn tenants(started: &[(u128, CancellationToken)]) -> Vec<u128> {
        started.iter().map(|(tenant, _)| *tenant).collect()
    }

    #[tokio::test]
    async fn a_tenant_with_many_projects_leaves_slots_for_others() {
        let mut queue = RunQueue::default();
        let projects: Vec<_> = (0..300)
            .map(|project| (1, project))
            .chain([(2, 1)])
            .collect();
        queue.set_waiting(documents(&projects));
        let mut started = tenants(&start_all(&mut queue));
        started.sort_unstable();
        assert_eq!(started, [1, 1, 2]);
        queue.set_waiting(documents(&projects));
        assert!(queue.next().is_none());
    }

    #[tokio::test]
    async fn an_ended_run_starts_the_next_until_all_have_run() {
        let mut queue = RunQueue::default();
        let projects: Vec<_> = (0..100).map(|project| (project / 50, project)).collect();
        queue.set_waiting(documents(&projects));
        let mut ran = Vec::new();
        loop {
            while let Some(next) = queue.next() {
                queue.start(
                    next,
                    CancellationToken::new(),
                    ready(Err(RunError::LeaseHeld)),
                );
                ran.push(next.project.as_u128());
            }
            if queue.join_next().await.is_none() {
                break;
            }
        }
        ran.sort_unstable();
        assert_eq!(ran, (0..100).collect::<Vec<u128>>());
    }

    #[tokio::test]
    async fn the_tenant_that_has_waited_longest_comes_first() {
        let mut queue = RunQueue::default();
        let projects: Vec<_> = (1..=6).flat_map(|t| [(t, 1), (t, 2)]).collect();
        queue.set_waiting(documents(&projects));
        let first = tenants(&start_all(&mut queue));
        assert_eq!(first.len(), MAX_RUNS);
        let begun: HashSet<u128> = first.into_iter().collect();
        assert_eq!(begun.len(), 6, "one of each before the second of any");
        queue.runs = JoinSet::new();
        queue.active.clear();
        queue.set_waiting(documents(&[(1, 1), (2, 1), (9, 1)]));
        assert_eq!(queue.next(), Some(key(9, 1)), "it never had a run");
    }

    #[tokio::test]
    async fn projects_of_a_tenant_take_turns() {
        let mut queue = RunQueue::default();
        let mut ran = Vec::new();
        for _ in 0..3 {
            queue.set_waiting(documents(&[(1, 1), (1, 2), (1, 3)]));
            for _ in 0..2 {
                let next = queue.next().unwrap();
                queue.start(
                    next,
                    CancellationToken::new(),
                    ready(Err(RunError::LeaseHeld)),
                );
                ran.push(next);
            }
            while queue.join_next().await.is_some() {}
        }
        let (first, second) = ran.split_at(3);
        assert_eq!(first, second);
        let different: HashSet<&ProjectKey> = first.iter().collect();
        assert_eq!(different.len(), 3);
    }

    #[tokio::test]
    async fn a_project_with_an_active_run_does_not_wait() {
        let mut queue = RunQueue::default();
        queue.set_waiting(documents(&[(1, 1)]));
        start_all(&mut queue);
        queue.set_waiting(documents(&[(1, 1)]));
        assert!(queue.next().is_none() && queue.is_running(key(1, 1)));
    }

    #[tokio::test]
    async fn waiting_documents_displace_runs_that_make_vectors() {
        let mut queue = RunQueue::default();
        let lacking = [(1, 1), (1, 2), (2, 1)].map(|(t, p)| (key(t, p), Work::Vectors));
        queue.set_waiting(lacking.into_iter());
        let started = start_all(&mut queue);
        queue.set_waiting([(key(1, 3), Work::Vectors)].into_iter());
        queue.displace_vectors();
        assert!(!started.iter().any(|(_, yields)| yields.is_cancelled()));
        queue.set_waiting([(key(1, 3), Work::Documents), (key(1, 4), Work::Vectors)].into_iter());
        queue.displace_vectors();
        for (tenant, yields) in started {
            assert_eq!(yields.is_cancelled(), tenant == 1, "{tenant}");
        }
    }

    #[tokio::test]
    async fn with_all_slots_taken_every_run_that_makes_vectors_yields() {
        let mut queue = RunQueue::default();
        let projects: Vec<_> = (0..8).map(|tenant| (tenant, 1)).collect();
        queue.set_waiting(documents(&projects));
        let started = start_all(&mut queue);
        queue.set_waiting(documents(&[(9, 1)]));
        queue.displace_vectors();
        assert!(started.iter().all(|(_, yields)| yields.is_cancelled()));
    }

    #[tokio::test]
    async fn documents_of_a_tenant_come_before_its_vectors() {
        let mut queue = RunQueue::default();
        let work = [(key(1, 1), Work::Vectors), (key(1, 2), Work::Documents)];
        queue.set_waiting(work.into_iter());
        assert_eq!(queue.next(), Some(key(1, 2)));
    }

    #[tokio::test]
    async fn removed_projects_are_forgotten() {
        let mut queue = RunQueue::default();
        queue.set_waiting(documents(&[(1, 1), (2, 1)]));
        start_all(&mut queue);
        queue.retain(|project_key| project_key == key(2, 1));
        assert_eq!(
            (queue.last_project_run.len(), queue.last_tenant_run.len()),
            (1, 1)
        );
    }
}
