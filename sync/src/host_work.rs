//! Work that asks hosts for connections: leased from the database, a few at a time, and put off where it failed.

use std::future::Future;

use archway_proto::chain::Chain;
use jiff::Timestamp;
use tokio::task::JoinSet;
use tokio::time::Duration;
use tokio_util::sync::CancellationToken;

use crate::host_tokens::HostTokenError;
use crate::hosts::{ClientError, ListingError, StoredSettingsError};
use crate::store::SyncStoreError;

/// How often the database is asked for what is due.
const INTERVAL: Duration = Duration::from_secs(1);
/// Pause after the database did not answer.
const RETRY: Duration = Duration::from_secs(5);
/// Connections that are worked on at once.
const AT_ONCE: usize = 4;

/// Why a host was not asked to the end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HostWorkError {
    /// The host's answer.
    #[error(transparent)]
    Host(#[from] ListingError),
    /// The stored settings.
    #[error(transparent)]
    Settings(#[from] StoredSettingsError),
    /// No client could be made.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// There is no token.
    #[error(transparent)]
    Token(#[from] HostTokenError),
    /// The database.
    #[error(transparent)]
    Store(#[from] SyncStoreError),
}

impl HostWorkError {
    /// When work is due again that failed like this, and how long its host wants not to be asked. The pause is `first`,
    /// doubled by each of the `attempts` before, up to `longest`.
    pub(crate) fn pauses(
        &self,
        attempts: u32,
        (first, longest): (Duration, Duration),
    ) -> (Duration, Duration) {
        let by_host = match self {
            HostWorkError::Host(error) => Some(error),
            HostWorkError::Token(error) => error.by_host(),
            HostWorkError::Settings(_) | HostWorkError::Client(_) | HostWorkError::Store(_) => None,
        };
        if let Some(ListingError::RateLimited { retry_at }) = by_host {
            let wait = retry_at.duration_since(Timestamp::now());
            let wait = Duration::try_from(wait).unwrap_or(first);
            return (wait, wait);
        }
        let doubled = 2_u32.saturating_pow(attempts.min(16));
        (first.saturating_mul(doubled).min(longest), Duration::ZERO)
    }
}

/// Works on what `lease` gives until `stop`, then waits for what runs. `what` is in the log while the database does not
/// answer.
pub(crate) async fn run<L, N, F>(
    stop: &CancellationToken,
    what: &'static str,
    lease: impl Fn() -> N,
    work: impl Fn(L) -> F,
) where
    N: Future<Output = Result<Option<L>, SyncStoreError>>,
    F: Future<Output = ()> + Send + 'static,
{
    let mut running = JoinSet::new();
    while !stop.is_cancelled() {
        let mut pause = INTERVAL;
        while running.len() < AT_ONCE {
            match lease().await {
                Ok(Some(leased)) => _ = running.spawn(work(leased)),
                Ok(None) => break,
                Err(error) => {
                    tracing::debug!(error = %Chain(&error), what, "the database does not say what is due");
                    pause = RETRY;
                    break;
                }
            }
        }
        tokio::select! {
            () = stop.cancelled() => {}
            () = tokio::time::sleep(pause) => {}
            Some(_ended) = running.join_next() => {}
        }
    }
    while running.join_next().await.is_some() {}
}
