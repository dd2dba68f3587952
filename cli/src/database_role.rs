//! Checks a gateway's or worker's database role, concurrently with serving, because Postgres may become
//! available later.

use std::time::Duration;

use archway_proto::chain::Chain;

/// Pause after Postgres did not answer.
const RETRY: Duration = Duration::from_secs(2);

/// Returns the error if `check` finds that row-level security does not bind the role; `is_unbound`
/// recognises that error. Other errors are retried. Never returns once the role is found to be right.
pub(crate) async fn unbound_role<E: std::error::Error + 'static>(
    check: impl AsyncFn() -> Result<(), E>,
    is_unbound: impl Fn(&E) -> bool,
) -> E {
    let mut logged = String::new();
    loop {
        match check().await {
            Ok(()) => return std::future::pending().await,
            Err(error) if is_unbound(&error) => return error,
            Err(away) => {
                let reason = Chain(&away).to_string();
                if reason != logged {
                    tracing::warn!(
                        error = reason,
                        "postgres does not answer which role this is; retrying"
                    );
                    logged = reason;
                }
                tokio::time::sleep(RETRY).await;
            }
        }
    }
}
