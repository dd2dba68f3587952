//! The connection on which Postgres tells of changes.
//!
//! What a reader would get wrong: a connection can be dead without saying so. Nothing heard for
//! five seconds means asking; no answer within two more means that it is lost.

use std::time::Duration;

use sqlx::{
    Executor,
    postgres::{PgListener, PgPoolOptions},
};
use tokio::time::timeout;

use super::{ACQUIRE_TIMEOUT, StoreError, Stores};

/// Where the triggers of the schema notify.
const CHANNEL: &str = "archway_changes";
/// Silence that calls for a question.
const SILENCE: Duration = Duration::from_secs(5);
const ANSWER: Duration = Duration::from_secs(2);

/// What came of listening.
pub(crate) enum Heard {
    /// A notification's payload.
    Word(String),
    /// Nothing, and the connection is alive.
    Silence,
    /// The connection is lost, and with it whatever was said meanwhile.
    Lost,
}

/// A connection of its own that listens.
pub(crate) struct Listener(PgListener);

impl Stores {
    /// Begins to listen. What is said from the answer on is heard.
    pub(crate) async fn listen(&self) -> Result<Listener, StoreError> {
        // A pool of its own: a lost connection must not keep a place among the look-ups'.
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
        let listening = timeout(ACQUIRE_TIMEOUT + ANSWER, listening).await;
        listening
            .unwrap_or(Err(sqlx::Error::PoolTimedOut))
            .map_err(StoreError::query("notifications"))
    }
}

impl Listener {
    /// Waits for the next word, for at most seven seconds.
    pub(crate) async fn next(&mut self) -> Heard {
        match timeout(SILENCE, self.0.try_recv()).await {
            Ok(Ok(Some(notification))) => Heard::Word(notification.payload().to_owned()),
            Ok(Ok(None) | Err(_)) => Heard::Lost,
            Err(_silence) => match timeout(ANSWER, self.0.execute("select 1")).await {
                Ok(Ok(_)) => Heard::Silence,
                Ok(Err(_)) | Err(_) => Heard::Lost,
            },
        }
    }
}
