//! Word of changes: a key or principal revoked, a tenant disabled, a session ended, through any
//! gateway or command, is in force here within a second.
//!
//! Beside the path. Postgres notifies every gateway; a notification says where to look again and
//! is never believed by itself, since whoever may connect may notify. After the connection was
//! lost everything is looked at again, and while it is lost records of keys are kept for seconds
//! only, and ended sessions asked for.

use std::{sync::Arc, time::Duration};

use archway_proto::chain::Chain;
use serde::Deserialize;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::{
    auth::Auth,
    metrics::Metrics,
    session::Sessions,
    store::{Heard, Listener, MOST_READ, StoreError, Stores},
};

const FIRST_RETRY: Duration = Duration::from_millis(100);
const LONGEST_RETRY: Duration = Duration::from_secs(2);
/// How far back changed sessions are read again, in microseconds: a transaction that wrote
/// earlier may commit later, by as much as a statement may take.
const OVERLAP: i64 = 10_000_000;
/// Words about sessions that come sooner after a reading are gathered: many sessions may end at
/// a time, one reading serves them all.
const GATHER: Duration = Duration::from_millis(50);
/// How often expired sessions and old revocations are swept up, in Postgres and here.
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

/// What keeps a gateway up to date.
pub(crate) struct Changes {
    stores: Stores,
    pub(crate) auth: Arc<Auth>,
    sessions: Arc<Sessions>,
    metrics: Arc<Metrics>,
}

impl Changes {
    pub(crate) fn new(
        stores: &Stores,
        auth: &Arc<Auth>,
        sessions: &Arc<Sessions>,
        metrics: &Arc<Metrics>,
    ) -> Self {
        Changes {
            stores: stores.clone(),
            auth: auth.clone(),
            sessions: sessions.clone(),
            metrics: metrics.clone(),
        }
    }

    /// Listens until `shutdown`, connecting again whenever the connection is lost, and has issuers
    /// asked for their keys, which change without a word.
    pub(crate) async fn keep(&self, shutdown: &CancellationToken) {
        let keeping = async { tokio::join!(self.listen(), self.auth.keep()) };
        shutdown.run_until_cancelled(keeping).await;
    }

    async fn listen(&self) {
        let mut wait = FIRST_RETRY;
        let mut unheard = Reading::from_the_start();
        loop {
            let heard = async {
                let listener = self.stores.listen().await?;
                let mut reading = Reading::from_the_start();
                reading.read(self).await?;
                Ok((listener, reading))
            };
            match heard.await {
                Ok((listener, reading)) => {
                    tracing::info!("postgres tells of changes");
                    wait = FIRST_RETRY;
                    self.stores.health().heard();
                    self.listening(Some(reading.until));
                    self.follow(listener, reading).await;
                    self.listening(None);
                    tracing::warn!("the connection to postgres that tells of changes was lost");
                }
                Err(error) => {
                    let error: StoreError = error;
                    self.stores.health().failed(&error);
                    tracing::warn!(error = %Chain(&error), "changes are not heard");
                    wait = (wait * 2).min(LONGEST_RETRY);
                    self.ask(&mut unheard).await;
                }
            }
            tokio::time::sleep(wait).await;
        }
    }

    /// Reads ended sessions for a gateway that is told of none. It may well be able to ask, and one that
    /// was ended must not live on here because of that.
    async fn ask(&self, unheard: &mut Reading) {
        if let Err(error) = unheard.read(self).await {
            tracing::debug!(error = %Chain(&error), "changed sessions can't be asked for either");
        }
        self.sessions.listening(None);
    }

    /// Tells those concerned whether changes are heard, and until when sessions were read.
    fn listening(&self, until: Option<i64>) {
        self.auth.listening(until.is_some());
        self.sessions.listening(until);
        self.metrics.listening(until.is_some());
    }

    /// Acts on what is said, until the connection is lost or its news can't be read.
    async fn follow(&self, mut listener: Listener, mut reading: Reading) {
        let mut swept = Instant::now();
        let (mut last, mut due) = (Instant::now(), None);
        loop {
            let heard = match due {
                None => listener.next().await,
                // Given up within the silence that a question would follow: nothing is lost by it.
                Some(due) => tokio::select! {
                    heard = listener.next() => heard,
                    () = tokio::time::sleep_until(due) => Heard::Silence,
                },
            };
            match heard {
                Heard::Lost => return,
                Heard::Silence => self.stores.health().heard(),
                Heard::Word(word) if self.act(&word).await => {
                    due.get_or_insert_with(|| Instant::now().max(last + GATHER));
                }
                Heard::Word(_) => {}
            }
            if due.is_some_and(|due| due <= Instant::now()) {
                (last, due) = (Instant::now(), None);
                if let Err(error) = reading.read(self).await {
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

    /// Acts on a word about keys, principals or tenants; true for one about sessions, which are to be read.
    async fn act(&self, word: &str) -> bool {
        match serde_json::from_str(word) {
            Ok(Change::Key { id }) => self.auth.key_changed(&id).await,
            Ok(Change::Principal { id }) => self.auth.principal_changed(&id),
            Ok(Change::Tenant { id }) => self.auth.tenant_changed(id),
            Ok(Change::Sessions) => return true,
            // From a newer build, or from nobody of ours.
            Err(_unknown) => tracing::debug!("a notification was not understood"),
        }
        false
    }

    async fn sweep(&self) {
        self.sessions.sweep();
        if let Err(error) = self.stores.forget_expired_sessions().await {
            tracing::warn!(error = %Chain(&error), "expired sessions were not swept up");
        }
        if let Err(error) = self.stores.forget_old_revocations().await {
            tracing::warn!(error = %Chain(&error), "old revocations were not swept up");
        }
    }
}

/// How far the changed sessions were read: microseconds since 1970 by Postgres' clock.
struct Reading {
    until: i64,
}

impl Reading {
    fn from_the_start() -> Self {
        Reading { until: 0 }
    }

    /// Reads on to the end of what was written.
    async fn read(&mut self, changes: &Changes) -> Result<(), StoreError> {
        let mut since = self.until.saturating_sub(OVERLAP);
        loop {
            let changed = changes.stores.session_changes(since).await?;
            let (count, latest) = (changed.len(), changed.last().map(|last| last.written));
            self.until = self.until.max(latest.unwrap_or(0));
            changes.sessions.take(changed);
            changes.metrics.sessions_kept(changes.sessions.kept());
            match latest {
                // As many as are read at a time: there may be more.
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
    fn notifications_are_read_as_the_triggers_write_them() {
        let read = |word: &str| serde_json::from_str::<Change>(word).ok();
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
