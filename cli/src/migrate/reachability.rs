//! A single first connection, which yields the actual reason of a failure.

use std::time::Duration;

use archway_store::{UNTRUSTED_CERTIFICATE, is_untrusted_certificate};
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, Connection};

/// How long connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The SQLSTATE of a server that starts, recovers or stops.
const CANNOT_CONNECT_NOW: &str = "57P03";

/// Why a server cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum UnreachableError {
    /// Its certificate is not trusted: another server, or another authority.
    #[error("{UNTRUSTED_CERTIFICATE}")]
    Unbelieved(#[source] sqlx::Error),
    /// It starts, recovers or stops.
    #[error(
        "PostgreSQL takes no connections at the moment ({0}): it starts, recovers or stops; try \
         again in a few seconds"
    )]
    NotYet(String),
    /// It does not answer, or refuses the connection.
    #[error(transparent)]
    Refused(sqlx::Error),
}

impl From<sqlx::Error> for UnreachableError {
    fn from(error: sqlx::Error) -> Self {
        let answer = error.as_database_error();
        match answer.filter(|answer| answer.code().as_deref() == Some(CANNOT_CONNECT_NOW)) {
            Some(answer) => UnreachableError::NotYet(answer.message().to_owned()),
            None if is_untrusted_certificate(&error) => UnreachableError::Unbelieved(error),
            None => UnreachableError::Refused(error),
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
