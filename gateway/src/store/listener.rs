//! The connection on which Postgres sends change notifications.
//!
//! What a reader would get wrong: a dead connection can look idle. After five seconds without a
//! notification it is queried; without an answer within two more seconds it counts as lost.

use std::time::Duration;

use sqlx::{
    Executor,
    postgres::{PgListener, PgPoolOptions},
};
use tokio::time::timeout;

use super::{ACQUIRE_TIMEOUT, StoreError, Stores};

/// The channel that the schema's triggers notify.
const CHANNEL: &str = "archway_changes";
/// Idle time after which the connection is tested.
const IDLE_LIMIT: Duration = Duration::from_secs(5);
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// The result of listening.
pub(crate) enum ListenEvent {
    /// A notification's payload.
    Notification(String),
    /// No notification, and the connection is alive.
    Idle,
    /// The connection is lost, and with it any notification sent meanwhile.
    Lost,
}

/// A dedicated connection that listens.
pub(crate) struct Listener(PgListener);

impl Stores {
    /// Starts to listen. Notifications sent after this returns are delivered.
    pub(crate) async fn listen(&self) -> Result<Listener, StoreError> {
        // A pool of its own: a lost connection must not occupy one of the pool used by lookups.
        let pool = PgPoolOptions::new()
            .max_connections(1)
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .connect_lazy_with(self.options.clone());
        let listening = async {
            let mut listener = PgListener::connect_with(&pool).await?;
            listener.eager_reconnect(false);
            listener.listen(CHANNEL).await?;
            Ok(Listener(listener))
        };
        let listening = timeout(ACQUIRE_TIMEOUT + ANSWER_TIMEOUT, listening).await;
        listening
            .unwrap_or(Err(sqlx::Error::PoolTimedOut))
            .map_err(StoreError::query("notifications"))
    }
}

impl Listener {
    /// Waits for the next event, for at most seven seconds.
    pub(crate) async fn next(&mut self) -> ListenEvent {
        match timeout(IDLE_LIMIT, self.0.try_recv()).await {
            Ok(Ok(Some(notification))) => {
                ListenEvent::Notification(notification.payload().to_owned())
            }
            Ok(Ok(None) | Err(_)) => ListenEvent::Lost,
            Err(_elapsed) => match timeout(ANSWER_TIMEOUT, self.0.execute("select 1")).await {
                Ok(Ok(_)) => ListenEvent::Idle,
                Ok(Err(_)) | Err(_) => ListenEvent::Lost,
            },
        }
    }
}
