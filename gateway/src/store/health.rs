//! The last known state of Postgres, for probes, which must be answered at once even if Postgres
//! does not respond.
//!
//! The connection that listens for changes provides it: it uses the gateway's own role and schema,
//! and shows every few seconds that it is alive.

use std::time::Duration;

use tokio::{sync::watch, time::Instant};
use tokio_rustls::rustls;

use super::StoreError;

/// Proofs of life are at most seven seconds apart.
const MIN_GRACE: Duration = Duration::from_secs(10);

/// The state of Postgres.
#[derive(Debug, Default)]
pub(crate) struct Health(watch::Sender<PostgresState>);

#[derive(Debug, Default)]
struct PostgresState {
    heard: Option<Instant>,
    /// The last problem.
    problem: Option<&'static str>,
}

impl Health {
    /// Records that Postgres responded.
    pub(crate) fn heard(&self) {
        self.0
            .send_modify(|state| state.heard = Some(Instant::now()));
    }

    /// Waits for the first response.
    pub(crate) async fn first_heard(&self) {
        // An error would mean that the sender was dropped, but `self` holds it.
        let mut states = self.0.subscribe();
        let _heard = states.wait_for(|state| state.heard.is_some()).await;
    }

    /// Records a problem.
    pub(crate) fn failed(&self, error: &StoreError) {
        self.0
            .send_modify(|state| state.problem = Some(diagnosis(error)));
    }

    /// Why credentials cannot be checked. `None` while Postgres responds, or did so within `grace`.
    pub(crate) fn refusal(&self, grace: Duration) -> Option<&'static str> {
        let state = self.0.borrow();
        let grace = grace.max(MIN_GRACE);
        let heard = state.heard.is_some_and(|at| at.elapsed() < grace);
        (!heard).then(|| state.problem.unwrap_or(DOWN))
    }
}

const DOWN: &str = "postgres does not answer";

/// What an operator should do, by SQLSTATE (PostgreSQL manual, appendix A).
fn diagnosis(error: &StoreError) -> &'static str {
    let StoreError::Query { source, .. } = error else {
        return DOWN;
    };
    if is_untrusted_certificate(source) {
        return "postgres' certificate is not trusted: in the database URL, sslrootcert=FILE names its \
                authority, and the host has to be one that the certificate is for";
    }
    let code = source.as_database_error().and_then(|error| error.code());
    match code.as_deref() {
        Some("42883" | "42P01" | "42703") => {
            "the database lacks this build's schema: run `archway migrate`"
        }
        Some("42501") => {
            "the database role lacks a gateway's privileges: connect as archway_gateway"
        }
        Some("28P01" | "28000") => "postgres refuses the role or its password",
        Some("3D000") => "postgres has no database of this name",
        _ => DOWN,
    }
}

fn is_untrusted_certificate(error: &sqlx::Error) -> bool {
    let sqlx::Error::Io(error) = error else {
        return false;
    };
    let tls = error.get_ref().and_then(|it| it.downcast_ref());
    matches!(tls, Some(rustls::Error::InvalidCertificate(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_response_counts_for_the_grace() {
        let (health, grace) = (Health::default(), Duration::from_secs(60));
        assert_eq!(health.refusal(grace), Some(DOWN));
        health.heard();
        tokio::time::advance(grace - Duration::from_millis(1)).await;
        assert_eq!(health.refusal(grace), None);
        assert_eq!(health.refusal(Duration::ZERO), Some(DOWN));
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(health.refusal(grace), Some(DOWN));
    }

    #[tokio::test]
    async fn without_a_grace_responses_may_still_be_seconds_apart() {
        let health = Health::default();
        health.heard();
        assert_eq!(health.refusal(Duration::ZERO), None);
    }
}
