//! A single first connection, which yields the actual reason of a failure.

use std::time::Duration;

use archway_workers::store::{UNBELIEVED, is_unbelieved};
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, Connection};

/// How long connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a server cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum UnreachableError {
    /// Its certificate is not trusted: another server, or another authority.
    #[error("{UNBELIEVED}")]
    Unbelieved(#[source] sqlx::Error),
    /// It does not answer, or refuses the connection.
    #[error(transparent)]
    Refused(sqlx::Error),
}

impl From<sqlx::Error> for UnreachableError {
    fn from(error: sqlx::Error) -> Self {
        match is_unbelieved(&error) {
            true => UnreachableError::Unbelieved(error),
            false => UnreachableError::Refused(error),
        }
    }
}

/// Connects once. A pool would retry, and then report only that it timed out.
pub(crate) async fn check_reachable(options: &PgConnectOptions) -> Result<(), UnreachableError> {
    match tokio::time::timeout(CONNECT_TIMEOUT, options.connect()).await {
        Ok(connected) => Ok(connected?.close().await?),
        Err(_elapsed) => Err(sqlx::Error::PoolTimedOut.into()),
    }
}
