//! Receives Postgres' notifications about projects and signals them.
//!
//! While Postgres is away, notifications are lost. So after each connection, and after each loss,
//! any project may have changed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use archway_proto::chain::Chain;
use archway_store::{ProjectChange, ProjectChanges, Stores};
use tokio_util::sync::CancellationToken;

use crate::signals::ProjectSignals;

/// The wait between attempts to connect.
const RETRY_INTERVAL: Duration = Duration::from_secs(2);

/// Receives notifications.
pub(crate) struct ChangeListener {
    stores: Stores,
    signals: Arc<ProjectSignals>,
    is_listening: Arc<AtomicBool>,
}

impl ChangeListener {
    /// Notifications of `stores` become `signals`. The returned flag says whether they are received
    /// at the moment.
    pub(crate) fn new(stores: Stores, signals: Arc<ProjectSignals>) -> (Self, Arc<AtomicBool>) {
        let is_listening = Arc::new(AtomicBool::new(false));
        let listener = ChangeListener {
            stores,
            signals,
            is_listening: Arc::clone(&is_listening),
        };
        (listener, is_listening)
    }

    /// Listens until `stop` is cancelled.
    pub(crate) async fn run(self, stop: CancellationToken) {
        stop.run_until_cancelled(self.listen()).await;
    }

    async fn listen(&self) {
        loop {
            match self.stores.project_changes().await {
                Ok(changes) => self.forward(changes).await,
                // The scans report that Postgres is away.
                Err(error) => {
                    tracing::debug!(error = %Chain(&error), "notifications of projects are not received");
                }
            }
            tokio::time::sleep(RETRY_INTERVAL).await;
        }
    }

    /// Signals what is received until the connection is lost.
    async fn forward(&self, mut changes: ProjectChanges) {
        self.is_listening.store(true, Ordering::Relaxed);
        self.signals.all_changed();
        while let Some(change) = changes.next().await {
            match change {
                ProjectChange::Project(project_key) => self.signals.changed(project_key),
                ProjectChange::Tenant(tenant) => self.signals.tenant_changed(tenant),
                ProjectChange::Nothing => {}
            }
        }
        self.is_listening.store(false, Ordering::Relaxed);
    }
}
