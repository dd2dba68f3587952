//! Looks at projects on a blocking thread, and continues with the others when a folder hangs.
//!
//! A folder on a network file system may not respond. The thread that waits for it is left behind.
//! Until it returns, projects of the same tenant and on the same device are not looked at, since
//! each could take another thread.

use std::collections::VecDeque;
use std::sync::Arc;

use archway_repo::{Look, RepoError, Repos};
use archway_store::ProjectKey;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Duration, Instant, timeout};
use uuid::Uuid;

use super::project_table::{DueLook, is_indexed};

/// How long a folder may take.
const FOLDER_TIMEOUT: Duration = Duration::from_secs(1);
/// How long one scan looks, at most: a fifth of the time.
const SCAN_TIME: Duration = Duration::from_millis(400);
/// Threads that may wait for hanging folders.
const MAX_STUCK: usize = 8;

/// Looks at projects.
#[derive(Default)]
pub(super) struct Looks {
    stuck: Vec<StuckThread>,
}

/// A thread that waits for a folder.
struct StuckThread {
    thread: JoinHandle<()>,
    tenant: Uuid,
    device: Option<u64>,
}

/// The outcome of one look.
pub(super) enum LookOutcome {
    /// What it saw; `None` if nothing has changed.
    Seen(Option<Look>),
    /// The project can't be read.
    Failed(RepoError),
    /// The folder does not respond.
    Stuck,
}

/// Looks at one project.
pub(super) type LookFunction = Arc<dyn Fn(&DueLook) -> LookOutcome + Send + Sync>;

/// The looks that a thread still has to make. Emptied when the thread is left behind.
type Remaining = Arc<Mutex<VecDeque<DueLook>>>;

impl Looks {
    /// Looks at these projects by `look`, in order, for at most [`SCAN_TIME`] or the timeout of a
    /// hanging folder. Projects that are missing in the result were not looked at.
    pub(super) async fn look(
        &mut self,
        look: &LookFunction,
        due: Vec<DueLook>,
    ) -> Vec<(ProjectKey, LookOutcome)> {
        self.stuck.retain(|stuck| !stuck.thread.is_finished());
        let until = Instant::now() + SCAN_TIME;
        let mut outcomes = Vec::with_capacity(due.len());
        let mut due: VecDeque<DueLook> = due.into();
        self.retain_responding(&mut due);
        while !due.is_empty() && Instant::now() < until && self.stuck.len() < MAX_STUCK {
            due = self.look_until_stuck(look, due, &mut outcomes, until).await;
            self.retain_responding(&mut due);
        }
        outcomes
    }

    /// Looks on one thread until all are seen, the time is over, or a folder hangs. Returns the
    /// remaining ones.
    async fn look_until_stuck(
        &mut self,
        look: &LookFunction,
        due: VecDeque<DueLook>,
        outcomes: &mut Vec<(ProjectKey, LookOutcome)>,
        until: Instant,
    ) -> VecDeque<DueLook> {
        let in_order: Vec<(ProjectKey, Option<u64>)> = due.iter().map(identity).collect();
        let remaining: Remaining = Arc::new(Mutex::new(due));
        let (seen, mut results) = mpsc::channel(64);
        let (look, left) = (Arc::clone(look), Arc::clone(&remaining));
        let thread = tokio::task::spawn_blocking(move || look_all(&*look, &left, &seen));
        for (project_key, device) in in_order {
            match timeout(FOLDER_TIMEOUT, results.recv()).await {
                Ok(Some(outcome)) => outcomes.push((project_key, outcome)),
                // The thread panicked: the project is due again, after the others.
                Ok(None) => break,
                Err(_elapsed) => {
                    tracing::warn!(project = %project_key.project, "a project's folder does not respond");
                    outcomes.push((project_key, LookOutcome::Stuck));
                    self.stuck.push(StuckThread {
                        thread,
                        tenant: project_key.tenant,
                        device,
                    });
                    break;
                }
            }
            if Instant::now() >= until {
                break;
            }
        }
        std::mem::take(&mut *remaining.lock())
    }

    fn retain_responding(&self, due: &mut VecDeque<DueLook>) {
        due.retain(|look| {
            let (project_key, device) = identity(look);
            !self.would_hang(project_key, device)
        });
    }

    /// Whether a folder of the project's tenant, or on its device, does not respond.
    pub(super) fn would_hang(&self, project_key: ProjectKey, device: Option<u64>) -> bool {
        let is_near = |stuck: &StuckThread| {
            stuck.tenant == project_key.tenant || (device.is_some() && stuck.device == device)
        };
        self.stuck.iter().any(is_near)
    }
}

/// The project, and its device if it is known.
fn identity(look: &DueLook) -> (ProjectKey, Option<u64>) {
    let device = look.last.as_ref().map(|last| last.device);
    (look.project.project_key, device)
}

/// Looks at one project after the other while there are any, and while somebody receives.
fn look_all(
    look: &(dyn Fn(&DueLook) -> LookOutcome + Send + Sync),
    remaining: &Remaining,
    seen: &mpsc::Sender<LookOutcome>,
) {
    loop {
        let next = remaining.lock().pop_front();
        let Some(due) = next else {
            return;
        };
        if seen.blocking_send(look(&due)).is_err() {
            return;
        }
    }
}

/// Looks at projects in these repositories.
pub(super) fn looking_at(repos: Arc<Repos>) -> LookFunction {
    Arc::new(move |DueLook { project, last }| {
        let (tenant, name) = (&project.tenant, &project.project);
        let Some(rules) = project.rules.as_ref().filter(|_| is_indexed(project)) else {
            repos.reach(tenant, name);
            return LookOutcome::Seen(None);
        };
        let id = project.project_key.project;
        match repos.look(tenant, (name, id), rules, last.as_ref()) {
            Ok(look) => LookOutcome::Seen(look),
            Err(error) => LookOutcome::Failed(error),
        }
    })
}

#[cfg(test)]
mod tests {
    use archway_store::MountedProject;

    use super::*;

    fn due(tenant: u128, project: u128, device: Option<u64>) -> DueLook {
        let last = device.map(|device| Look::found(None, "", device));
        let project = MountedProject::found(tenant, project);
        DueLook {
            project: Arc::new(project),
            last,
        }
    }

    /// Looks that hang at project 13 until the sender is dropped.
    fn hanging() -> (LookFunction, std::sync::mpsc::Sender<()>) {
        let (release, released) = std::sync::mpsc::channel();
        let released = Mutex::new(released);
        let look = Arc::new(move |due: &DueLook| {
            if due.project.project_key.project == Uuid::from_u128(13) {
                released.lock().recv().ok();
            }
            LookOutcome::Seen(None)
        });
        (look, release)
    }

    fn projects(outcomes: &[(ProjectKey, LookOutcome)]) -> Vec<(u128, bool)> {
        let outcomes = outcomes.iter().map(|(key, outcome)| {
            let is_seen = matches!(outcome, LookOutcome::Seen(_));
            (key.project.as_u128(), is_seen)
        });
        outcomes.collect()
    }

    #[tokio::test]
    async fn a_hanging_folder_delays_its_tenant_and_its_device_only() {
        let (look, release) = hanging();
        let mut looks = Looks::default();
        let all = || {
            vec![
                due(1, 1, Some(7)),
                due(2, 13, Some(8)),
                due(2, 2, None),
                due(3, 3, Some(8)),
                due(4, 4, Some(7)),
                due(5, 5, None),
            ]
        };
        let first = looks.look(&look, all()).await;
        assert_eq!(
            projects(&first),
            [(1, true), (13, false)],
            "the time is over"
        );
        let second = looks.look(&look, all()).await;
        assert_eq!(projects(&second), [(1, true), (4, true), (5, true)]);
        drop(release);
        while !looks.stuck[0].thread.is_finished() {
            tokio::task::yield_now().await;
        }
        let third = looks.look(&look, all()).await;
        assert_eq!(third.len(), 6, "after the folder responded");
    }

    #[tokio::test]
    async fn threads_that_wait_for_folders_are_bounded() {
        let (look, release) = hanging();
        let mut looks = Looks::default();
        for tenant in 0..MAX_STUCK as u128 {
            let outcomes = looks.look(&look, vec![due(tenant, 13, None)]).await;
            assert_eq!(projects(&outcomes), [(13, false)]);
        }
        let more = looks.look(&look, vec![due(100, 1, None)]).await;
        assert_eq!(more.len(), 0);
        drop(release);
    }
}
