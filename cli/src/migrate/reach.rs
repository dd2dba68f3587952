//! A first connection, for the reason why there is none.

use std::time::Duration;

use archway_workers::store::{UNBELIEVED, is_unbelieved};
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, Connection};

/// How long a server may take to let us in.
const REACH: Duration = Duration::from_secs(5);

/// Why a server is not spoken to.
#[derive(Debug, thiserror::Error)]
pub enum ReachError {
    /// Another server, or another authority.
    #[error("{UNBELIEVED}")]
    Unbelieved(#[source] sqlx::Error),
    /// It does not answer, or lets us not in.
    #[error(transparent)]
    Refused(sqlx::Error),
}

impl From<sqlx::Error> for ReachError {
    fn from(error: sqlx::Error) -> Self {
        match is_unbelieved(&error) {
            true => ReachError::Unbelieved(error),
            false => ReachError::Refused(error),
        }
    }
}

/// Connects once, for the reason why not: a pool tries again and again, and then only says that
/// it waited.
pub(crate) async fn reach(options: &PgConnectOptions) -> Result<(), ReachError> {
    match tokio::time::timeout(REACH, options.connect()).await {
        Ok(connected) => Ok(connected?.close().await?),
        Err(_elapsed) => Err(sqlx::Error::PoolTimedOut.into()),
    }
}
