//! What calls and notifications tell the indexer about projects.
//!
//! The indexer looks at each project every so often. A signal makes it look now, and a used project
//! is looked at more often for a while. All signals are bounded: if too many projects changed, all
//! are checked.

use std::collections::{HashMap, HashSet};
use std::mem;

use archway_store::ProjectKey;
use gix::ObjectId;
use parking_lot::Mutex;
use tokio::sync::Notify;
use uuid::Uuid;

/// Maximum number of projects with a signal that the indexer has not taken.
const MAX_PROJECTS: usize = 10_000;

/// Signals that the indexer has not taken yet.
#[derive(Debug, Default)]
pub struct ProjectSignals {
    pending: Mutex<PendingSignals>,
    wake: Notify,
}

/// The signals since the indexer last took them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct PendingSignals {
    /// Projects that calls read, with the HEAD that the last of them saw.
    pub(crate) used: HashMap<ProjectKey, Option<ObjectId>>,
    /// Projects whose row, memory, index or repository may have changed.
    pub(crate) changed: HashSet<ProjectKey>,
    /// Tenants whose projects may all have changed.
    pub(crate) tenants: HashSet<Uuid>,
    /// Whether any project may have changed.
    pub(crate) all: bool,
}

impl ProjectSignals {
    /// A call read the project, whose HEAD was this commit.
    pub fn used(&self, project_key: ProjectKey, head: Option<ObjectId>) {
        let mut pending = self.pending.lock();
        let is_first = pending.used.is_empty();
        // Without this signal the project is looked at later.
        if pending.used.len() < MAX_PROJECTS {
            pending.used.insert(project_key, head);
        }
        if is_first {
            self.wake.notify_one();
        }
    }

    /// The project's row, memory, index or repository has changed.
    pub fn changed(&self, project_key: ProjectKey) {
        let mut pending = self.pending.lock();
        if pending.changed.len() < MAX_PROJECTS {
            pending.changed.insert(project_key);
        } else {
            pending.all = true;
        }
        self.wake.notify_one();
    }

    /// The projects of this tenant may have changed.
    pub(crate) fn tenant_changed(&self, tenant: Uuid) {
        let mut pending = self.pending.lock();
        if pending.tenants.len() < MAX_PROJECTS {
            pending.tenants.insert(tenant);
        } else {
            pending.all = true;
        }
        self.wake.notify_one();
    }

    /// Any project may have changed.
    pub(crate) fn all_changed(&self) {
        self.pending.lock().all = true;
        self.wake.notify_one();
    }

    /// Waits until there are signals.
    pub(crate) async fn wait(&self) {
        self.wake.notified().await;
    }

    /// Takes all signals.
    pub(crate) fn take(&self) -> PendingSignals {
        mem::take(&mut *self.pending.lock())
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    fn project_key(number: usize) -> ProjectKey {
        ProjectKey {
            tenant: Uuid::from_u128(1),
            project: Uuid::from_u128(number as u128),
        }
    }

    #[test]
    fn signals_are_taken_once_and_the_last_head_counts() {
        let signals = ProjectSignals::default();
        let (key, head) = (project_key(1), ObjectId::null(gix::hash::Kind::Sha1));
        assert!(signals.wait().now_or_never().is_none());
        signals.used(key, None);
        signals.used(key, Some(head));
        signals.changed(key);
        assert!(signals.wait().now_or_never().is_some());
        let taken = signals.take();
        assert_eq!(
            (taken.used[&key], taken.changed.contains(&key)),
            (Some(head), true)
        );
        assert_eq!(signals.take(), PendingSignals::default());
    }

    #[test]
    fn beyond_the_bound_all_projects_count_as_changed() {
        let signals = ProjectSignals::default();
        for number in 0..=MAX_PROJECTS {
            signals.used(project_key(number), None);
            signals.changed(project_key(number));
        }
        let taken = signals.take();
        assert_eq!(
            (taken.used.len(), taken.changed.len()),
            (MAX_PROJECTS, MAX_PROJECTS)
        );
        assert!(taken.all);
    }
}
