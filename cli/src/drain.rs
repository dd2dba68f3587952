//! Graceful shutdown of a role: announce it, stop accepting, wait for calls in flight.
//!
//! 1. On a signal, `/readyz` answers 503. Everything else continues for `--drain-delay`, so that load
//!    balancers notice before the listener closes. A worker also notifies its gateways, and gives them
//!    at least 1 s: if the delay is shorter, the rest of that second is part of the next step.
//! 2. No new connections are accepted. Calls in flight finish, and connections close after their
//!    answers.
//! 3. After `--drain-timeout`, calls that still run are answered `unavailable`.
//!
//! A second signal ends the process immediately, at any time.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::signals::Signals;

/// How long aborted calls and half-sent requests may take to end.
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(2);

/// How a gateway or worker shuts down after SIGTERM or Ctrl-C.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Shutdown")]
pub struct DrainArgs {
    /// Seconds for which it continues to serve after the signal, while /readyz answers 503 already:
    /// the time its load balancer takes to notice.
    #[arg(
        long,
        env = "ARCHWAY_DRAIN_DELAY",
        value_name = "SECONDS",
        default_value = "0",
        value_parser = clap::value_parser!(u64).range(0..=60)
    )]
    pub drain_delay: u64,
    /// Seconds that calls in flight then have to finish, 1 to 25; the others are answered
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
    /// The time that calls in flight have.
    pub(crate) fn limit(&self) -> Duration {
        Duration::from_secs(self.drain_timeout)
    }

    /// Runs `serving` until it ends, or until a signal and the drain after it. `announce` is called
    /// on the signal; `stop` is cancelled after the delay. Returns the output of `serving`; `None`
    /// if it did not end in time and was cut off.
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
        tracing::info!("shutting down: waiting for calls in flight");
        announce();
        signals.exit_on_next();
        tokio::select! {
            ended = &mut serving => return Some(ended),
            () = tokio::time::sleep(Duration::from_secs(self.drain_delay)) => {}
        }
        stop.cancel();
        let ended = tokio::time::timeout(self.limit() + CLEANUP_TIMEOUT, serving).await;
        if ended.is_err() {
            tracing::warn!("connections were still open when the drain timeout ended");
        }
        ended.ok()
    }
}
