//! Removes mirrors of projects that have been out of use for long, and of projects that were erased.

use std::collections::HashSet;
use std::io;

use archway_proto::chain::Chain;
use tokio::time::Duration;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::gone;
use crate::mirror::{FoundMirror, Mirrors};
use crate::store::{SyncStore, SyncStoreError};

const INTERVAL: Duration = Duration::from_secs(10 * 60);

/// Removes mirrors that nobody uses.
pub(crate) struct Cleanup {
    pub(crate) store: SyncStore,
    pub(crate) mirrors: Mirrors,
    /// How long a mirror stays after its project went out of use.
    pub(crate) keep: Duration,
}

/// Why mirrors were not removed.
#[derive(Debug, thiserror::Error)]
enum CleanupError {
    #[error(transparent)]
    Store(#[from] SyncStoreError),
    #[error("removing a mirror")]
    Disk(#[from] io::Error),
    #[error("the task that removes a mirror ended")]
    Task(#[from] tokio::task::JoinError),
}

impl Cleanup {
    /// Removes at times, until `stop`.
    pub(crate) async fn run(&self, stop: CancellationToken) {
        let mut unknown = HashSet::new();
        while !stop.is_cancelled() {
            match self.remove(unknown, &stop).await {
                Ok(found) => unknown = found,
                Err(error) => {
                    tracing::warn!(error = %Chain(&error), "mirrors out of use could not be removed");
                    unknown = HashSet::new();
                }
            }
            tokio::select! {
                () = stop.cancelled() => {}
                () = tokio::time::sleep(INTERVAL) => {}
            }
        }
    }

    /// Removes what is out of use, and those of `unknown` that the database still does not know. Returns what it
    /// does not know now: another process may have made it a moment ago.
    async fn remove(
        &self,
        unknown: HashSet<FoundMirror>,
        stop: &CancellationToken,
    ) -> Result<HashSet<FoundMirror>, CleanupError> {
        self.remove_expired(stop).await?;
        // Read before the folder: what is made meanwhile is in the folder, too.
        let known = self.store.mirrors_here().await?;
        let mirrors = self.mirrors.clone();
        let made = tokio::task::spawn_blocking(move || mirrors.list()).await??;
        gone::clone_again(&self.store, &self.mirrors, &known).await?;
        let ids: HashSet<Uuid> = known.iter().map(|mirror| mirror.project_id).collect();
        let mut now_unknown = HashSet::new();
        for mirror in made.into_iter().filter(|it| !ids.contains(&it.id)) {
            // An empty database may be a new one: it says nothing about mirrors that took hours to make.
            let is_sure = !ids.is_empty() || self.mirrors.quiet(&mirror) >= self.keep;
            if is_sure && unknown.contains(&mirror) {
                tracing::info!("the mirror of an erased project is removed");
                self.remove_one(mirror.tenant, mirror.project, mirror.id)
                    .await?;
            } else {
                now_unknown.insert(mirror);
            }
        }
        Ok(now_unknown)
    }

    /// Removes what is out of use, each by a lease of its own: its project may come into use again at any time. One that
    /// cannot be removed stays leased, so that this ends.
    async fn remove_expired(&self, stop: &CancellationToken) -> Result<(), CleanupError> {
        while !stop.is_cancelled()
            && let Some(expired) = self.store.lease_expired_mirror(self.keep).await?
        {
            let (tenant, project) = (expired.tenant.clone(), expired.project.clone());
            tracing::info!(tenant, project, "a mirror out of use is removed");
            match self.remove_one(tenant, project, expired.project_id).await {
                Ok(()) => self.store.forget_mirror(&expired).await?,
                Err(error) => {
                    tracing::warn!(error = %Chain(&error), "a mirror out of use could not be removed");
                }
            }
        }
        Ok(())
    }

    async fn remove_one(
        &self,
        tenant: String,
        project: String,
        id: Uuid,
    ) -> Result<(), CleanupError> {
        let mirrors = self.mirrors.clone();
        let removed = move || mirrors.remove(&tenant, &project, id);
        Ok(tokio::task::spawn_blocking(removed).await??)
    }
}
