//! Whether a gateway or worker may be who it is to Postgres: asked beside its work, since Postgres may
//! come later.

use std::time::Duration;

use archway_proto::chain::Chain;

/// How long Postgres is left alone after it did not answer who we are to it.
const RETRY: Duration = Duration::from_secs(2);

/// Returns if `check` says that row-level security does not bind the role, which `is_unbound` tells
/// from a Postgres that is away: when it first answers. Once the role is found to be right, never.
pub(crate) async fn wrong<E: std::error::Error + 'static>(
    check: impl AsyncFn() -> Result<(), E>,
    is_unbound: impl Fn(&E) -> bool,
) -> E {
    let mut told = String::new();
    loop {
        match check().await {
            Ok(()) => return std::future::pending().await,
            Err(error) if is_unbound(&error) => return error,
            Err(away) => {
                let reason = Chain(&away).to_string();
                if reason != told {
                    tracing::warn!(
                        error = reason,
                        "postgres does not say which role this is yet"
                    );
                    told = reason;
                }
                tokio::time::sleep(RETRY).await;
            }
        }
    }
}
