//! Starts the embedded PostgreSQL again when it ends by itself. All that needs none goes on
//! meanwhile: files, searches and history are read, and keys are good by their grace.
//!
//! A server that ended may do so again at once, as on a full disk or over a damaged cluster. So the
//! first attempts come ever further apart, and after them one a minute. `dev` does not end with
//! them: its user would lose the tools that still answer, and once the cause is gone everything
//! works again without a word to us. Nothing is repaired, emptied or made anew here: PostgreSQL's
//! own recovery alone touches the cluster.
//!
//! One thing ends `dev`: a data folder that is gone, or that another `dev` made anew at the same path.

use std::cmp::Ordering;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::postgres::{EmbeddedPostgres, PostgresError};

/// Before each of the first attempts.
const QUICK: [Duration; 6] = [
    Duration::ZERO,
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
    Duration::from_secs(8),
    Duration::from_secs(15),
];
/// Before each attempt after those.
const SLOW: Duration = Duration::from_secs(60);
/// A server that ran for so long has all quick attempts again.
const STEADY: Duration = Duration::from_secs(60);

/// Starts the server again each time it ends, until this is dropped. Returns once the data folder is
/// no longer claimed.
pub(super) async fn keep(server: &mut EmbeddedPostgres) -> PostgresError {
    let mut attempts = Attempts::default();
    loop {
        let began = Instant::now();
        let end = server.ended().await;
        attempts.after_a_run(began.elapsed());
        tracing::warn!(
            error = end.in_a_line(),
            "PostgreSQL ended and is started again; meanwhile files, searches and history are \
             served, and memory answers `unavailable`"
        );
        if let Err(unclaimed) = revive(server, &mut attempts).await {
            return unclaimed;
        }
    }
}

/// Tries until it runs, or must not.
async fn revive(
    server: &mut EmbeddedPostgres,
    attempts: &mut Attempts,
) -> Result<(), PostgresError> {
    let mut told = String::new();
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
                attempts.tell(&error, error == told);
                told = error;
            }
        }
    }
}

/// How often it was tried, since the server last ran for long.
#[derive(Default)]
struct Attempts {
    made: usize,
}

impl Attempts {
    /// The server ran for so long. One that ends right after each start has no more attempts for it.
    fn after_a_run(&mut self, ran: Duration) {
        if ran >= STEADY {
            self.made = 0;
        }
    }

    /// What is waited before the next one.
    fn pause(&self) -> Duration {
        QUICK.get(self.made).copied().unwrap_or(SLOW)
    }

    /// Says that the last one failed: each of the quick ones, and of those that follow each that
    /// fails in another way than the one before.
    fn tell(&self, error: &str, is_known: bool) {
        let (attempts, most) = (self.made, QUICK.len());
        let next_s = self.pause().as_secs();
        match attempts.cmp(&most) {
            Ordering::Less => tracing::warn!(
                attempts,
                most,
                next_s,
                error,
                "PostgreSQL was not started again"
            ),
            Ordering::Equal => tracing::error!(
                attempts,
                next_s,
                error,
                "PostgreSQL can't be started again: files, searches and history are still served, \
                 memory is not; mend what its log says, and it is tried again every minute"
            ),
            Ordering::Greater if is_known => {}
            Ordering::Greater => {
                tracing::warn!(attempts, next_s, error, "PostgreSQL was not started again");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pauses in seconds before so many attempts, each followed by a run of this length.
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
    fn attempts_come_ever_further_apart_and_then_one_a_minute() {
        let tried = pauses(&mut Attempts::default(), 9, Duration::ZERO);
        assert_eq!(tried, [0, 1, 2, 4, 8, 15, 60, 60, 60]);
    }

    #[test]
    fn only_a_server_that_ran_for_a_minute_has_the_quick_attempts_again() {
        let mut attempts = Attempts::default();
        let nearly = STEADY - Duration::from_secs(1);
        assert_eq!(pauses(&mut attempts, 3, nearly), [0, 1, 2]);
        assert_eq!(pauses(&mut attempts, 3, STEADY), [4, 0, 0]);
    }
}
