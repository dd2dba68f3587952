//! The indexer's state between scans: active runs, turns, back-offs, and folders that do not
//! respond.

use std::collections::{HashMap, HashSet};

use archway_proto::chain::Chain;
use archway_repo::RepoError;
use archway_store::{MountedProject, ProjectKey};
use tokio::task::{Id, JoinError, JoinHandle, JoinSet};
use tokio::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::indexer::chunk_loss::{CountTurns, StorePresence};
use crate::indexer::run::RunError;

/// Concurrent runs of a worker. They share one thread, so a small change waits for one batch of a
/// large repository, not for all of it.
const MAX_RUNS: usize = 8;
/// Concurrent runs of one tenant.
const MAX_TENANT_RUNS: usize = 2;
/// Back-off after a failed run: first and longest.
const BACKOFF: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(60));

/// State between two scans.
#[derive(Default)]
pub(super) struct IndexerState {
    /// The active runs.
    pub(super) runs: JoinSet<Result<(), RunError>>,
    running: HashMap<Id, ActiveRun>,
    backoffs: HashMap<ProjectKey, Backoff>,
    /// Back-offs of runs for vectors alone.
    vector_backoffs: HashMap<ProjectKey, Backoff>,
    /// Reads of folders that exceeded their timeout and have not ended.
    stuck: HashMap<ProjectKey, JoinHandle<()>>,
    /// The number of the last run of each tenant.
    last_tenant_run: HashMap<Uuid, u64>,
    /// The number of the last run of each project.
    last_project_run: HashMap<ProjectKey, u64>,
    runs_begun: u64,
    /// Whether the store was missing.
    pub(super) store_presence: StorePresence,
    /// When projects are counted.
    count_turns: CountTurns,
    /// Counts in progress; they return whether chunks are lost.
    pub(super) counts: JoinSet<(ProjectKey, bool)>,
    lost: HashSet<ProjectKey>,
    /// Projects that could not be read by the last scan.
    unreadable: HashSet<ProjectKey>,
    /// Tenants with a project that has waited for a slot since the last scan; the next run that ends
    /// frees one.
    pub(super) waiting: HashSet<Uuid>,
    /// Whether the last scan failed: an outage is logged once.
    pub(super) is_away: bool,
}

/// An active run.
struct ActiveRun {
    project_key: ProjectKey,
    /// Cancelled when another project waits for the slot.
    yields: CancellationToken,
}

/// A back-off after consecutive failures.
struct Backoff {
    until: Instant,
    failures: u32,
}

impl Backoff {
    fn is_over(&self) -> bool {
        self.until <= Instant::now()
    }
}

impl IndexerState {
    /// Starts a scan: sorts projects by their tenant's waiting time; within a tenant, those that lack
    /// only vectors come last, and the others by their own waiting time. Forgets removed projects.
    /// Returns the projects whose chunks to count, active runs or not.
    pub(super) fn begin_scan(&mut self, mounted: &mut [MountedProject]) -> Vec<ProjectKey> {
        let there: HashSet<ProjectKey> =
            mounted.iter().map(|project| project.project_key).collect();
        self.backoffs.retain(|key, _| there.contains(key));
        self.vector_backoffs.retain(|key, _| there.contains(key));
        self.lost.retain(|key| there.contains(key));
        self.unreadable.retain(|key| there.contains(key));
        self.stuck.retain(|_, read| !read.is_finished());
        let tenants: HashSet<Uuid> = there.iter().map(|key| key.tenant).collect();
        self.last_tenant_run
            .retain(|tenant, _| tenants.contains(tenant));
        self.last_project_run.retain(|key, _| there.contains(key));
        self.waiting.clear();
        mounted.sort_by_cached_key(|project| {
            let begun = self
                .last_tenant_run
                .get(&project.project_key.tenant)
                .copied();
            let had = self.last_project_run.get(&project.project_key).copied();
            (begun, self.lacks_vectors_alone(project), had)
        });
        let counted = self.count_turns.begin(&there).into_iter();
        counted.filter(|key| !self.is_count_useless(*key)).collect()
    }

    /// Whether only vectors are missing, as far as known before reading the folder.
    fn lacks_vectors_alone(&self, project: &MountedProject) -> bool {
        let is_searched = project.indexed.is_some() && !self.is_lost(project.project_key);
        is_searched && project.lacks_vectors && !project.is_requested
    }

    /// Whether another run may start.
    pub(super) fn has_slot(&self) -> bool {
        self.runs.len() < MAX_RUNS
    }

    /// Whether another run of this tenant may start.
    pub(super) fn has_tenant_slot(&self, tenant: Uuid) -> bool {
        let of_tenant = self.running.values();
        let of_tenant = of_tenant.filter(|other| other.project_key.tenant == tenant);
        self.has_slot() && of_tenant.count() < MAX_TENANT_RUNS
    }

    /// Whether the project itself allows a run: none is active, its folder responds, and no back-off
    /// is in effect.
    pub(super) fn is_ready(&self, project_key: ProjectKey) -> bool {
        let backoffs = self.backoffs.get(&project_key);
        !self.is_running(project_key)
            && !self.stuck.contains_key(&project_key)
            && backoffs.is_none_or(Backoff::is_over)
    }

    /// Whether a run for vectors alone may start.
    pub(super) fn may_make_vectors(&self, project_key: ProjectKey) -> bool {
        self.vector_backoffs
            .get(&project_key)
            .is_none_or(Backoff::is_over)
    }

    /// Queues a tenant that has documents to index and no slot. Runs that make vectors stop after their
    /// present batch: those of the tenant if it uses all its slots, else all.
    pub(super) fn queue_tenant(&mut self, tenant: Uuid) {
        self.waiting.insert(tenant);
        let has_room = self.has_slot();
        for run in self.running.values() {
            if !has_room || run.project_key.tenant == tenant {
                run.yields.cancel();
            }
        }
    }

    /// Whether a count adds nothing: chunks are known to be lost, or a run counts them.
    fn is_count_useless(&self, project_key: ProjectKey) -> bool {
        self.is_lost(project_key) || self.is_running(project_key)
    }

    fn is_running(&self, project_key: ProjectKey) -> bool {
        self.running
            .values()
            .any(|other| other.project_key == project_key)
    }

    /// Starts a run, which makes no more vectors once `yields` is cancelled.
    pub(super) fn start_run(
        &mut self,
        project_key: ProjectKey,
        yields: CancellationToken,
        run: impl Future<Output = Result<(), RunError>> + Send + 'static,
    ) {
        self.lost.remove(&project_key);
        self.runs_begun += 1;
        self.last_tenant_run
            .insert(project_key.tenant, self.runs_begun);
        self.last_project_run.insert(project_key, self.runs_begun);
        let id = self.runs.spawn(run).id();
        self.running.insert(
            id,
            ActiveRun {
                project_key,
                yields,
            },
        );
    }

    /// Stops waiting for a folder; it is read again after this read ends.
    pub(super) fn stuck<T: Send + 'static>(
        &mut self,
        project_key: ProjectKey,
        read: JoinHandle<T>,
    ) {
        tracing::warn!(project = %project_key.project, "a project's folder does not respond");
        let read = tokio::spawn(async move { drop(read.await) });
        self.stuck.insert(project_key, read);
        self.unreadable.insert(project_key);
    }

    /// Records that a project cannot be read; logged once until it can.
    pub(super) fn mark_unreadable(&mut self, project_key: ProjectKey, error: &RepoError) {
        if self.unreadable.insert(project_key) {
            tracing::warn!(
                project = %project_key.project, error = %Chain(error),
                "a project can't be read; its index stays as it is"
            );
        }
    }

    /// Records that a project was read.
    pub(super) fn mark_read(&mut self, project_key: ProjectKey) {
        self.unreadable.remove(&project_key);
    }

    /// Number of projects that cannot be read.
    pub(super) fn unreadable(&self) -> usize {
        self.unreadable.len()
    }

    /// Whether chunks of this project are known to be lost.
    pub(super) fn is_lost(&self, project_key: ProjectKey) -> bool {
        self.lost.contains(&project_key)
    }

    /// Records the result of a count.
    pub(super) fn count_ended(&mut self, counted: Result<(ProjectKey, bool), JoinError>) {
        match counted {
            Ok((project_key, true)) => _ = self.lost.insert(project_key),
            Ok((_, false)) => {}
            Err(panicked) => tracing::error!(error = %panicked, "counting chunks panicked"),
        }
    }

    /// Records the end of a run.
    pub(super) fn run_ended(&mut self, ended: Result<(Id, Result<(), RunError>), JoinError>) {
        let id = match &ended {
            Ok((id, _)) => *id,
            Err(panicked) => panicked.id(),
        };
        let Some(ActiveRun { project_key, .. }) = self.running.remove(&id) else {
            return;
        };
        match ended {
            Ok((_, Ok(()))) => {
                self.backoffs.remove(&project_key);
                self.vector_backoffs.remove(&project_key);
            }
            Ok((_, Err(RunError::LeaseHeld))) => self.back_off(project_key, BACKOFF.0, 0),
            Ok((_, Err(error @ (RunError::NoVectors(_) | RunError::TextUnreadable)))) => {
                self.vectors_failed(project_key, &error);
            }
            Ok((_, Err(error))) => self.run_failed(project_key, &Chain(&error)),
            Err(panicked) => self.run_failed(project_key, &panicked),
        }
    }

    /// Backs off, longer with each consecutive failure; the first is logged.
    fn run_failed(&mut self, project_key: ProjectKey, error: &dyn std::fmt::Display) {
        let failures = self
            .backoffs
            .get(&project_key)
            .map_or(0, |rest| rest.failures);
        if failures == 0 {
            tracing::warn!(project = %project_key.project, %error, "could not complete the index of a project");
        }
        self.back_off(project_key, backoff(failures), failures.saturating_add(1));
    }

    /// Backs off from making vectors, longer with each consecutive failure; the first is logged. New
    /// documents are indexed meanwhile.
    fn vectors_failed(&mut self, project_key: ProjectKey, error: &RunError) {
        self.backoffs.remove(&project_key);
        let requested_wait = match error {
            RunError::NoVectors(error) => error.retry_after(),
            _ => None,
        };
        let failures = self.vector_backoffs.get(&project_key);
        let failures = failures.map_or(0, |rest| rest.failures);
        // A rate limit or an open circuit is logged once elsewhere, not for each project.
        if failures == 0 && requested_wait.is_none() {
            tracing::warn!(project = %project_key.project, error = %Chain(error), "a project has no vectors yet");
        }
        let rest = backoff(failures).max(requested_wait.unwrap_or_default());
        let rest = Backoff {
            until: Instant::now() + rest.min(BACKOFF.1),
            failures: failures.saturating_add(1),
        };
        self.vector_backoffs.insert(project_key, rest);
    }

    fn back_off(&mut self, project_key: ProjectKey, rest: Duration, failures: u32) {
        let until = Instant::now() + rest;
        self.backoffs
            .insert(project_key, Backoff { until, failures });
    }
}

/// The back-off after this many earlier failures in a row.
fn backoff(failures: u32) -> Duration {
    let (first, most) = BACKOFF;
    first.saturating_mul(1 << failures.min(5)).min(most)
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::super::super::embed::EmbedError;
    use super::*;

    fn mounted(tenant: u128, project: u128) -> MountedProject {
        MountedProject {
            project_key: ProjectKey {
                tenant: Uuid::from_u128(tenant),
                project: Uuid::from_u128(project),
            },
            tenant: String::new(),
            project: String::new(),
            rules: None,
            indexed: None,
            rules_fingerprint: None,
            store_id: Uuid::nil(),
            is_requested: false,
            lacks_vectors: false,
        }
    }

    fn begin(
        state: &mut IndexerState,
        project_key: ProjectKey,
        run: impl Future<Output = Result<(), RunError>> + Send + 'static,
    ) -> CancellationToken {
        let yields = CancellationToken::new();
        state.start_run(project_key, yields.clone(), run);
        yields
    }

    /// Whether a run of this project could start now.
    fn may_run(state: &IndexerState, project_key: ProjectKey) -> bool {
        state.is_ready(project_key) && state.has_tenant_slot(project_key.tenant)
    }

    /// Starts the runs that a scan starts, which never end; returns their projects.
    fn scan(state: &mut IndexerState, projects: &[(u128, u128)]) -> Vec<(u128, u128)> {
        let mut projects: Vec<MountedProject> =
            projects.iter().map(|&(t, p)| mounted(t, p)).collect();
        state.begin_scan(&mut projects);
        let mut begun = Vec::new();
        for MountedProject { project_key, .. } in projects {
            if state.is_ready(project_key) && state.has_tenant_slot(project_key.tenant) {
                begin(state, project_key, pending());
                begun.push((project_key.tenant.as_u128(), project_key.project.as_u128()));
            }
        }
        begun
    }

    #[tokio::test]
    async fn a_tenant_with_many_projects_leaves_slots_for_others() {
        let projects: Vec<_> = (0..9).map(|project| (1, project)).chain([(2, 1)]).collect();
        let mut state = IndexerState::default();
        assert_eq!(scan(&mut state, &projects), [(1, 0), (1, 1), (2, 1)]);
        assert_eq!(scan(&mut state, &projects), []);
    }

    #[tokio::test(start_paused = true)]
    async fn unindexed_documents_displace_a_run_that_makes_vectors() {
        let lacking = |project| MountedProject {
            indexed: Some(None),
            lacks_vectors: true,
            ..mounted(1, project)
        };
        let mut projects = [lacking(1), lacking(2), mounted(1, 3), mounted(2, 1)];
        let [first, second, third, other] = projects.each_ref().map(|project| project.project_key);
        let mut state = IndexerState::default();
        let (end, ends) = tokio::sync::oneshot::channel::<()>();
        let ends = async move {
            ends.await.ok();
            Ok(())
        };
        let yields = [
            begin(&mut state, first, ends),
            begin(&mut state, second, pending()),
            begin(&mut state, other, pending()),
        ];
        state.begin_scan(&mut projects);
        assert!(!state.has_tenant_slot(third.tenant));
        state.queue_tenant(third.tenant);
        let yields = yields.map(|run| run.is_cancelled());
        assert_eq!(
            yields,
            [true, true, false],
            "another tenant's run continues"
        );
        end.send(()).unwrap();
        let ended = state.runs.join_next_with_id().await.unwrap();
        state.run_ended(ended);
        state.begin_scan(&mut projects);
        let free = projects.iter().map(|project| project.project_key);
        let free: Vec<ProjectKey> = free
            .filter(|project_key| may_run(&state, *project_key))
            .collect();
        assert_eq!(free, [third, first]);
    }

    #[tokio::test(start_paused = true)]
    async fn projects_of_a_tenant_take_turns() {
        let projects = [(1, 1), (1, 2), (1, 3)];
        let mut state = IndexerState::default();
        let mut begun = Vec::new();
        for _ in 0..3 {
            begun.extend(scan(&mut state, &projects));
            state.runs = JoinSet::new();
            state.running.clear();
        }
        assert_eq!(begun, [(1, 1), (1, 2), (1, 3), (1, 1), (1, 2), (1, 3)]);
    }

    #[tokio::test]
    async fn with_all_slots_taken_every_run_that_makes_vectors_yields() {
        let mut state = IndexerState::default();
        let yields: Vec<_> = (0..8)
            .map(|tenant| begin(&mut state, mounted(tenant, 1).project_key, pending()))
            .collect();
        state.queue_tenant(Uuid::from_u128(9));
        assert!(yields.iter().all(CancellationToken::is_cancelled));
    }

    #[tokio::test]
    async fn the_tenant_that_has_waited_longest_comes_first() {
        let mut state = IndexerState::default();
        let tenants: Vec<_> = (1..=6)
            .flat_map(|tenant| [(tenant, 1), (tenant, 2)])
            .collect();
        let begun = scan(&mut state, &tenants);
        assert_eq!(begun.len(), MAX_RUNS);
        assert_eq!(begun.last(), Some(&(4, 2)));
        state.runs = JoinSet::new();
        state.running.clear();
        let begun = scan(&mut state, &tenants);
        assert_eq!(begun.first(), Some(&(5, 1)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_panic_backs_off_its_own_project_only() {
        let (project_key, other) = (mounted(1, 1).project_key, mounted(1, 2).project_key);
        let mut state = IndexerState::default();
        begin(&mut state, project_key, async { std::panic::panic_any(()) });
        begin(&mut state, other, pending());
        let ended = state.runs.join_next_with_id().await.unwrap();
        state.run_ended(ended);
        assert!(!may_run(&state, project_key));
        assert!(state.is_running(other));
        tokio::time::advance(BACKOFF.0).await;
        assert!(may_run(&state, project_key));
    }

    #[tokio::test(start_paused = true)]
    async fn back_offs_grow_with_failures_in_a_row_up_to_a_minute() {
        let project_key = mounted(1, 1).project_key;
        let mut state = IndexerState::default();
        let mut backoffs = Vec::new();
        for _ in 0..8 {
            begin(&mut state, project_key, ready(Err(RunError::LeaseLost)));
            let ended = state.runs.join_next_with_id().await.unwrap();
            state.run_ended(ended);
            backoffs.push((state.backoffs[&project_key].until - Instant::now()).as_secs());
        }
        assert_eq!(backoffs, [2, 4, 8, 16, 32, 60, 60, 60]);
        begin(&mut state, project_key, ready(Ok(())));
        let ended = state.runs.join_next_with_id().await.unwrap();
        state.run_ended(ended);
        assert!(may_run(&state, project_key));
    }

    #[tokio::test(start_paused = true)]
    async fn missing_vectors_delay_no_words_and_are_retried_ever_later() {
        let project_key = mounted(1, 1).project_key;
        let mut state = IndexerState::default();
        let busy = |seconds| {
            let retry_after = Duration::from_secs(seconds);
            RunError::NoVectors(EmbedError::Paused { retry_after })
        };
        let errors = [
            busy(1),
            busy(20),
            busy(1),
            RunError::TextUnreadable,
            busy(1),
            busy(300),
        ];
        let mut backoffs = Vec::new();
        for error in errors {
            begin(&mut state, project_key, ready(Err(error)));
            let ended = state.runs.join_next_with_id().await.unwrap();
            state.run_ended(ended);
            assert!(may_run(&state, project_key), "new documents are indexed");
            assert!(!state.may_make_vectors(project_key));
            backoffs.push((state.vector_backoffs[&project_key].until - Instant::now()).as_secs());
        }
        assert_eq!(backoffs, [2, 20, 8, 16, 32, 60]);
        tokio::time::advance(BACKOFF.1).await;
        assert!(state.may_make_vectors(project_key));
    }

    #[tokio::test]
    async fn a_stuck_folder_is_read_again_after_it_responds() {
        let project_key = mounted(1, 1).project_key;
        let mut state = IndexerState::default();
        let (answer, hangs) = tokio::sync::oneshot::channel::<()>();
        state.stuck(project_key, tokio::spawn(hangs));
        state.begin_scan(&mut [mounted(1, 1)]);
        assert!(!may_run(&state, project_key));
        assert_eq!(state.unreadable(), 1, "until it is read or removed");
        answer.send(()).unwrap();
        while state.stuck.values().any(|read| !read.is_finished()) {
            tokio::task::yield_now().await;
        }
        state.begin_scan(&mut [mounted(1, 1)]);
        assert!(may_run(&state, project_key));
    }
}
