//! Change notifications: a revoked key or principal, a disabled tenant or an ended session takes
//! effect here within a second, through whichever gateway or command it was changed.
//!
//! Runs in the background. Postgres notifies every gateway. A notification only says what to read
//! again and is never trusted by itself, because any role that may connect may notify. After the
//! connection was lost, everything is read again. While it is lost, records of keys are cached for
//! seconds only, and ended sessions are polled.

use std::{sync::Arc, time::Duration};

use archway_proto::chain::Chain;
use archway_resilience::Outage;
use serde::Deserialize;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::{
    auth::Auth,
    metrics::Metrics,
    session::Sessions,
    store::{ListenEvent, Listener, MOST_READ, StoreError, Stores},
};

const FIRST_RETRY: Duration = Duration::from_millis(100);
const LONGEST_RETRY: Duration = Duration::from_secs(2);
/// How far back changed sessions are read again, in microseconds. A transaction may commit later
/// than it wrote, by up to the statement timeout.
const REREAD: i64 = 10_000_000;
/// Least time between reads of changed sessions. Many sessions may end at once, and one read serves
/// them all.
const READ_INTERVAL: Duration = Duration::from_millis(50);
/// Interval at which expired sessions and old revocations are deleted, in Postgres and in memory.
const SWEEP: Duration = Duration::from_secs(3600);

/// A notification, as the triggers write it.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Change {
    Key { id: String },
    Principal { id: String },
    Tenant { id: Uuid },
    Sessions,
}

/// Keeps a gateway's caches up to date with changes in Postgres.
pub(crate) struct ChangeListener {
    stores: Stores,
    pub(crate) auth: Arc<Auth>,
    sessions: Arc<Sessions>,
    metrics: Arc<Metrics>,
    outage: Outage,
}

impl ChangeListener {
    pub(crate) fn new(
        stores: &Stores,
        auth: &Arc<Auth>,
        sessions: &Arc<Sessions>,
        metrics: &Arc<Metrics>,
    ) -> Self {
        ChangeListener {
            stores: stores.clone(),
            auth: auth.clone(),
            sessions: sessions.clone(),
            metrics: metrics.clone(),
            outage: Outage::default(),
        }
    }

    /// Listens until `shutdown`, reconnecting whenever the connection is lost. Also refreshes
    /// issuers' keys, which change without a notification.
    pub(crate) async fn run(&self, shutdown: &CancellationToken) {
        let keeping = async { tokio::join!(self.listen(), self.auth.run()) };
        shutdown.run_until_cancelled(keeping).await;
    }

    async fn listen(&self) {
        let mut wait = FIRST_RETRY;
        let mut polled = SessionCursor::from_start();
        loop {
            let connected = async {
                let listener = self.stores.listen().await?;
                let mut cursor = SessionCursor::from_start();
                cursor.read(self).await?;
                Ok((listener, cursor))
            };
            match connected.await {
                Ok((listener, cursor)) => {
                    self.outage.ended();
                    tracing::info!("receiving change notifications from postgres");
                    wait = FIRST_RETRY;
                    self.stores.health().heard();
                    self.listening(Some(cursor.until));
                    self.follow(listener, cursor).await;
                    self.listening(None);
                    tracing::warn!("the connection for change notifications was lost");
                }
                Err(error) => {
                    let error: StoreError = error;
                    self.stores.health().failed(&error);
                    if self.outage.failed() {
                        tracing::warn!(error = %Chain(&error), "no change notifications are received");
                    }
                    wait = (wait * 2).min(LONGEST_RETRY);
                    self.poll_sessions(&mut polled).await;
                }
            }
            tokio::time::sleep(wait).await;
        }
    }

    /// Reads ended sessions while no notifications arrive. Queries may still work, and a session
    /// that was ended must not stay valid here.
    async fn poll_sessions(&self, polled: &mut SessionCursor) {
        if let Err(error) = polled.read(self).await {
            tracing::debug!(error = %Chain(&error), "changed sessions could not be polled either");
        }
        self.sessions.set_read_up_to(None);
    }

    /// Tells the caches whether notifications arrive, and until when sessions were read.
    fn listening(&self, until: Option<i64>) {
        self.auth.listening(until.is_some());
        self.sessions.set_read_up_to(until);
        self.metrics.listening(until.is_some());
    }

    /// Handles notifications until the connection is lost or changed sessions cannot be read.
    async fn follow(&self, mut listener: Listener, mut cursor: SessionCursor) {
        let mut swept = Instant::now();
        let (mut last, mut due) = (Instant::now(), None);
        loop {
            let event = match due {
                None => listener.next().await,
                // `next` is dropped while still idle, before it would send its test query, so
                // nothing is lost.
                Some(due) => tokio::select! {
                    event = listener.next() => event,
                    () = tokio::time::sleep_until(due) => ListenEvent::Idle,
                },
            };
            match event {
                ListenEvent::Lost => return,
                ListenEvent::Idle => self.stores.health().heard(),
                ListenEvent::Notification(payload) if self.handle(&payload).await => {
                    due.get_or_insert_with(|| Instant::now().max(last + READ_INTERVAL));
                }
                ListenEvent::Notification(_) => {}
            }
            if due.is_some_and(|due| due <= Instant::now()) {
                (last, due) = (Instant::now(), None);
                if let Err(error) = cursor.read(self).await {
                    tracing::warn!(error = %Chain(&error), "changed sessions could not be read");
                    return;
                }
            }
            if swept.elapsed() >= SWEEP {
                swept = Instant::now();
                self.sweep().await;
            }
        }
    }

    /// Handles a notification. True if changed sessions have to be read.
    async fn handle(&self, payload: &str) -> bool {
        match serde_json::from_str(payload) {
            Ok(Change::Key { id }) => self.auth.key_changed(&id).await,
            Ok(Change::Principal { id }) => self.auth.principal_changed(&id),
            Ok(Change::Tenant { id }) => self.auth.tenant_changed(id),
            Ok(Change::Sessions) => return true,
            // From a newer build, or from another program.
            Err(_unknown) => tracing::debug!("a notification was not understood"),
        }
        false
    }

    async fn sweep(&self) {
        self.sessions.sweep();
        if let Err(error) = self.stores.forget_expired_sessions().await {
            tracing::warn!(error = %Chain(&error), "expired sessions could not be deleted");
        }
        if let Err(error) = self.stores.forget_old_revocations().await {
            tracing::warn!(error = %Chain(&error), "old revocations could not be deleted");
        }
    }
}

/// How far changed sessions were read: microseconds since 1970 by Postgres' clock.
struct SessionCursor {
    until: i64,
}

impl SessionCursor {
    fn from_start() -> Self {
        SessionCursor { until: 0 }
    }

    /// Reads all changes since the last read.
    async fn read(&mut self, changes: &ChangeListener) -> Result<(), StoreError> {
        let mut since = self.until.saturating_sub(REREAD);
        loop {
            let changed = changes.stores.session_changes(since).await?;
            let (count, latest) = (changed.len(), changed.last().map(|last| last.written));
            self.until = self.until.max(latest.unwrap_or(0));
            changes.sessions.apply(changed);
            changes.metrics.sessions_kept(changes.sessions.len());
            match latest {
                // A full page: there may be more.
                Some(latest) if count >= MOST_READ && since < latest => since = latest,
                _ => return Ok(()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notifications_parse_as_the_triggers_write_them() {
        let read = |payload: &str| serde_json::from_str::<Change>(payload).ok();
        let id = "a1b2c3d4e5f6".to_owned();
        assert_eq!(
            read(r#"{"kind" : "key", "id" : "a1b2c3d4e5f6"}"#),
            Some(Change::Key { id })
        );
        let principal = r#"{"kind" : "principal", "id" : "x"}"#;
        let id = "x".to_owned();
        assert_eq!(read(principal), Some(Change::Principal { id }));
        let tenant = r#"{"kind" : "tenant", "id" : "00000000-0000-0000-0000-000000000001"}"#;
        let id = Uuid::from_u128(1);
        assert_eq!(read(tenant), Some(Change::Tenant { id }));
        assert_eq!(read(r#"{"kind" : "sessions"}"#), Some(Change::Sessions));
        for other in [
            "",
            "{}",
            r#"{"kind":"else"}"#,
            r#"{"kind":"tenant","id":"x"}"#,
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
