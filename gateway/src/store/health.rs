//! What was last known of Postgres: for probes, which must be answered at once, whether or not
//! Postgres does.
//!
//! The connection that listens for changes is the witness. It reads with the gateway's own role
//! and schema, and gives a sign of life every few seconds.

use std::time::Duration;

use tokio::{sync::watch, time::Instant};
use tokio_rustls::rustls;

use super::StoreError;

/// Signs of life are at most seven seconds apart.
const LEAST_GRACE: Duration = Duration::from_secs(10);

/// The state of Postgres.
#[derive(Debug, Default)]
pub(crate) struct Health(watch::Sender<State>);

#[derive(Debug, Default)]
struct State {
    heard: Option<Instant>,
    /// What was wrong last.
    wrong: Option<&'static str>,
}

impl Health {
    /// Notes a sign of life.
    pub(crate) fn heard(&self) {
        self.0
            .send_modify(|state| state.heard = Some(Instant::now()));
    }

    /// Waits for the first sign of life.
    pub(crate) async fn first_heard(&self) {
        // An error would mean that the sender is gone, and `self` holds it.
        let mut states = self.0.subscribe();
        let _heard = states.wait_for(|state| state.heard.is_some()).await;
    }

    /// Notes what was wrong.
    pub(crate) fn failed(&self, error: &StoreError) {
        self.0
            .send_modify(|state| state.wrong = Some(diagnosis(error)));
    }

    /// Why credentials can't be checked; `None` while they can, or could within `grace`.
    pub(crate) fn refusal(&self, grace: Duration) -> Option<&'static str> {
        let state = self.0.borrow();
        let grace = grace.max(LEAST_GRACE);
        let heard = state.heard.is_some_and(|at| at.elapsed() < grace);
        (!heard).then(|| state.wrong.unwrap_or(AWAY))
    }
}

const AWAY: &str = "postgres does not answer";

/// What an operator should do, by Postgres' code (its manual, appendix A).
fn diagnosis(error: &StoreError) -> &'static str {
    let StoreError::Query { source, .. } = error else {
        return AWAY;
    };
    if is_unbelieved(source) {
        return "postgres' certificate is not believed: in the database URL, sslrootcert=FILE names its \
                authority, and the host has to be one that the certificate is for";
    }
    let code = source.as_database_error().and_then(|error| error.code());
    match code.as_deref() {
        Some("42883" | "42P01" | "42703") => {
            "the database has not this build's schema: run `archway migrate`"
        }
        Some("42501") => {
            "the database role may not do a gateway's work: connect as archway_gateway"
        }
        Some("28P01" | "28000") => "postgres refuses the role or its password",
        Some("3D000") => "postgres has no database of this name",
        _ => AWAY,
    }
}

fn is_unbelieved(error: &sqlx::Error) -> bool {
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
    async fn a_sign_of_life_is_good_for_the_grace() {
        let (health, grace) = (Health::default(), Duration::from_secs(60));
        assert_eq!(health.refusal(grace), Some(AWAY));
        health.heard();
        tokio::time::advance(grace - Duration::from_millis(1)).await;
        assert_eq!(health.refusal(grace), None);
        assert_eq!(health.refusal(Duration::ZERO), Some(AWAY));
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(health.refusal(grace), Some(AWAY));
    }

    #[tokio::test]
    async fn without_a_grace_signs_of_life_may_still_be_seconds_apart() {
        let health = Health::default();
        health.heard();
        assert_eq!(health.refusal(Duration::ZERO), None);
    }
}
