//! How a role ends: first it says so, then it takes no more, then it waits for what it has.
//!
//! 1. A signal: `/readyz` answers 503 from now on, everything else goes on for `--drain-delay`, so
//!    that load balancers notice before the listener is gone.
//!    A worker tells its gateways, too, and gives them a second for it: if the delay is shorter, the
//!    rest of that second comes out of the next step.
//! 2. No new connections; calls in flight finish, connections are closed after their answers.
//! 3. After `--drain-timeout` the calls that still run are answered `unavailable`.
//!
//! A second signal ends the process at once, at any time.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::signals::Signals;

/// What calls that were ended, and half-sent requests, may take to be gone.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// How a gateway or worker ends after SIGTERM or Ctrl-C.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Shutdown")]
pub struct DrainArgs {
    /// Seconds for which it goes on serving after the signal, while /readyz already answers 503:
    /// what its load balancer takes to notice.
    #[arg(
        long,
        env = "ARCHWAY_DRAIN_DELAY",
        value_name = "SECONDS",
        default_value = "0",
        value_parser = clap::value_parser!(u64).range(0..=60)
    )]
    pub drain_delay: u64,
    /// Seconds that calls in flight then have to finish, 1 to 25; the rest is answered
    /// `unavailable`.
    #[arg(
        long,
        env = "ARCHWAY_DRAIN_TIMEOUT",
        value_name = "SECONDS",
        default_value = "25",
        value_parser = clap::value_parser!(u64).range(1..=25)
    )]
    pub drain_timeout: u64,
}

impl DrainArgs {
    /// How long calls in flight have.
    pub(crate) fn limit(&self) -> Duration {
        Duration::from_secs(self.drain_timeout)
    }

    /// Runs `serving` until it ends, or until a signal and the drain after it. `announce` is
    /// called at the signal, `stop` cancelled after the delay. What `serving` gave; `None` if it
    /// was cut off because it did not end in time.
    pub(crate) async fn run<T>(
        &self,
        mut signals: Signals,
        serving: impl Future<Output = T>,
        announce: impl FnOnce(),
        stop: CancellationToken,
    ) -> Option<T> {
        let mut serving = std::pin::pin!(serving);
        tokio::select! {
            ended = &mut serving => return Some(ended),
            () = signals.stop() => {}
        }
        tracing::info!("asked to stop: calls in flight finish first");
        announce();
        signals.end_at_the_next_one();
        tokio::select! {
            ended = &mut serving => return Some(ended),
            () = tokio::time::sleep(Duration::from_secs(self.drain_delay)) => {}
        }
        stop.cancel();
        let ended = tokio::time::timeout(self.limit() + LAST_WORDS, serving).await;
        if ended.is_err() {
            tracing::warn!("connections were still open at the end of the drain");
        }
        ended.ok()
    }
}
