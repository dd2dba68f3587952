//! Restarts the embedded PostgreSQL when it ends by itself. Meanwhile everything that needs no database
//! continues: files, searches and history are read, and keys stay valid for their grace period.
//!
//! A server that ended may end again at once, for example on a full disk or a damaged cluster. So the
//! first attempts are increasingly far apart, and later ones a minute. `dev` does not end with them: its
//! user would lose the tools that still work, and once the cause is removed, everything works again by
//! itself. Nothing is repaired, emptied or recreated here: only PostgreSQL's own recovery touches the
//! cluster.
//!
//! One thing ends `dev`: its data folder was deleted, or another `dev` recreated it at the same path.

use std::cmp::Ordering;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::postgres::{EmbeddedPostgres, PostgresError};

/// Pauses before the first attempts.
const QUICK: [Duration; 6] = [
    Duration::ZERO,
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
    Duration::from_secs(8),
    Duration::from_secs(15),
];
/// Pause before each later attempt.
const SLOW: Duration = Duration::from_secs(60);
/// After a run this long, the quick attempts start over.
const STEADY: Duration = Duration::from_secs(60);

/// Restarts the server each time it ends, until this future is dropped. Returns once the data folder is
/// no longer claimed.
pub(super) async fn keep(server: &mut EmbeddedPostgres) -> PostgresError {
    let mut attempts = Attempts::default();
    loop {
        let began = Instant::now();
        let end = server.ended().await;
        attempts.after_a_run(began.elapsed());
        tracing::warn!(
            error = end.in_a_line(),
            "PostgreSQL ended and is restarted; meanwhile files, searches and history are served, \
             and memory answers `unavailable`"
        );
        if let Err(unclaimed) = revive(server, &mut attempts).await {
            return unclaimed;
        }
    }
}

/// Retries until the server runs, or must not be started.
async fn revive(
    server: &mut EmbeddedPostgres,
    attempts: &mut Attempts,
) -> Result<(), PostgresError> {
    let mut last = String::new();
    loop {
        sleep(attempts.pause()).await;
        attempts.made += 1;
        match server.start_again().await {
            Ok(()) => {
                tracing::info!(attempts = attempts.made, "PostgreSQL runs again");
                return Ok(());
            }
            Err(unclaimed @ PostgresError::Unclaimed(_)) => return Err(unclaimed),
            Err(error) => {
                let error = error.in_a_line();
                attempts.log(&error, error == last);
                last = error;
            }
        }
    }
}

/// Attempts since the server last ran for at least [`STEADY`].
#[derive(Default)]
struct Attempts {
    made: usize,
}

impl Attempts {
    /// Resets the attempts after a long run. A server that ends right after each start uses them up.
    fn after_a_run(&mut self, ran: Duration) {
        if ran >= STEADY {
            self.made = 0;
        }
    }

    /// The pause before the next attempt.
    fn pause(&self) -> Duration {
        QUICK.get(self.made).copied().unwrap_or(SLOW)
    }

    /// Logs that the last attempt failed: each quick attempt, and of later ones those that fail in
    /// another way than the one before.
    fn log(&self, error: &str, is_known: bool) {
        let (attempts, most) = (self.made, QUICK.len());
        let next_s = self.pause().as_secs();
        match attempts.cmp(&most) {
            Ordering::Less => tracing::warn!(
                attempts,
                most,
                next_s,
                error,
                "PostgreSQL could not be restarted"
            ),
            Ordering::Equal => tracing::error!(
                attempts,
                next_s,
                error,
                "PostgreSQL could not be restarted: files, searches and history are still served, \
                 memory is not; fix what its log shows; it is retried every minute"
            ),
            Ordering::Greater if is_known => {}
            Ordering::Greater => {
                tracing::warn!(attempts, next_s, error, "PostgreSQL could not be restarted");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pauses in seconds before `count` attempts, each followed by a run of this length.
    fn pauses(attempts: &mut Attempts, count: usize, ran: Duration) -> Vec<u64> {
        let mut next = || {
            let pause = attempts.pause().as_secs();
            attempts.made += 1;
            attempts.after_a_run(ran);
            pause
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn attempts_are_increasingly_far_apart_then_one_a_minute() {
        let tried = pauses(&mut Attempts::default(), 9, Duration::ZERO);
        assert_eq!(tried, [0, 1, 2, 4, 8, 15, 60, 60, 60]);
    }

    #[test]
    fn a_run_of_a_minute_restores_the_quick_attempts() {
        let mut attempts = Attempts::default();
        let nearly = STEADY - Duration::from_secs(1);
        assert_eq!(pauses(&mut attempts, 3, nearly), [0, 1, 2]);
        assert_eq!(pauses(&mut attempts, 3, STEADY), [4, 0, 0]);
    }
}
