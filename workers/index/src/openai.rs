//! Services that speak OpenAI's API, as many others do: where one is, and how it is asked.
//!
//! What all of them have in common: their place ([`Place`]), a client that follows nothing and keeps
//! nothing of what it carries, and a [`Line`] to each, by which a request passes the pause that the
//! service asked for, the circuit, and then the wire. What is asked is for those who ask.

// In the order a request meets them.
mod place;
mod pace;
mod circuit;
mod client;
mod transport;
mod failure;
mod metrics;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

use std::time::Duration;

use archway_proto::trace::Span;
use tokio::time::{Instant, timeout_at};

use circuit::Breaker;
use pace::Pace;

pub use client::{Client, asked, client, recorded};
pub use failure::{Failure, Unreadable, is_about_texts};
pub use metrics::{Asked, ServiceMetrics};
pub use pace::FIRST_WAIT;
pub use place::{Place, PlaceError, Told, Which, given};

/// An attempt that the caller's deadline cut off before this says nothing about the service.
const FAIR_CHANCE: Duration = Duration::from_secs(1);

/// Why a service is not asked now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unasked {
    /// It failed so often that it rests.
    Resting {
        /// When to try again.
        retry_after: Duration,
    },
    /// It takes no more requests.
    Busy {
        /// When to try again.
        retry_after: Duration,
    },
}

/// The way to one service, for all who ask it.
pub struct Line {
    timeout: Duration,
    pace: Pace,
    breaker: Breaker,
    metrics: ServiceMetrics,
}

impl Line {
    /// To a service that has so long for one request. `meanwhile` is what the log says where it
    /// fails: which service, and what is done without it.
    pub fn new(timeout: Duration, metrics: ServiceMetrics, meanwhile: &'static str) -> Self {
        Line {
            timeout,
            pace: Pace::default(),
            breaker: Breaker::new(metrics.clone(), meanwhile),
            metrics,
        }
    }

    /// Waits for the end of the pause that the service asked for.
    ///
    /// # Errors
    /// At once, if it ends too late.
    pub async fn free(&self, deadline: Instant) -> Result<(), Unasked> {
        self.pace.wait(deadline).await
    }

    /// Whether a request would be refused now: who has time need not try.
    pub fn is_resting(&self) -> bool {
        self.pace.is_paused() || self.breaker.is_resting()
    }

    /// Asks once, unless the circuit is open, and records it in a span.
    ///
    /// # Errors
    /// If the service is not asked.
    pub async fn attempt<T, E>(
        &self,
        asking: impl Future<Output = Result<T, Failure<E>>>,
        deadline: Instant,
        recorded: impl FnOnce() -> Span,
    ) -> Result<Result<T, Failure<E>>, Unasked> {
        let permit = self.breaker.admit()?;
        let (started, span) = (Instant::now(), recorded());
        let until = deadline.min(started + self.timeout);
        let answer = timeout_at(until, asking).await;
        let took = started.elapsed();
        let answer = answer.unwrap_or(Err(Failure::Late));
        let ended = answer
            .as_ref()
            .err()
            .map_or(Asked::Answered, Failure::asked);
        self.metrics.asked(ended, took);
        if answer.is_err() {
            span.fail(ended.name());
        }
        match &answer {
            Ok(_) => permit.passed(),
            Err(Failure::Late) if took < FAIR_CHANCE.min(self.timeout) => drop(permit),
            Err(failure) if failure.is_the_services() => permit.failed(),
            Err(_) => permit.passed(),
        }
        if let Err(failure) = &answer {
            self.pace.note(failure);
        }
        Ok(answer)
    }

    /// How long to wait after so many attempts; `None` if another would not help.
    pub fn again<E>(&self, failure: &Failure<E>, attempts: u32) -> Option<Duration> {
        pace::again(failure, attempts)
    }
}
