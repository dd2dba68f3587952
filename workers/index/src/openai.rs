//! Clients of services that speak OpenAI's API.
//!
//! Shared by the embedding service and the chat model: the [`Endpoint`] (URL, key and model), an
//! HTTP client that follows no redirects and logs no payloads, and a [`ServiceGate`], through which
//! each request passes: the pause that the service requested, the circuit breaker, then the wire.
//! Request and answer types belong to the callers.

// In the order a request meets them.
mod endpoint;
mod pacer;
mod circuit;
mod client;
mod transport;
mod failure;
mod metrics;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

use std::time::Duration;

use archway_proto::trace::Span;
use archway_resilience::Outcome;
use tokio::time::{Instant, timeout_at};

use circuit::{CircuitBreaker, circuit_breaker};
use pacer::Pacer;

pub use client::{Client, client, request_span, send};
pub use endpoint::{Endpoint, EndpointError, EndpointOptions, ServiceKind, non_blank};
pub use failure::{Failure, Unreadable, blames_input};
pub use metrics::{RequestOutcome, ServiceMetrics};
pub use pacer::FIRST_WAIT;

/// An attempt that the caller's deadline cut short before this time counts neither as a success
/// nor as a failure of the service.
const FAIR_CHANCE: Duration = Duration::from_secs(1);

/// Why a request was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unavailable {
    /// The circuit is open after repeated failures.
    CircuitOpen {
        /// Time until the circuit admits a request.
        retry_after: Duration,
    },
    /// The service requested a pause that ends after the deadline.
    Paused {
        /// Time until the pause ends.
        retry_after: Duration,
    },
}

/// Admits requests to one service; shared by all its callers.
pub struct ServiceGate {
    timeout: Duration,
    pacer: Pacer,
    breaker: CircuitBreaker,
    metrics: ServiceMetrics,
}

impl ServiceGate {
    /// A gate to a service that gets `timeout` for one request. When the circuit opens,
    /// `open_message` is logged: it names the service and what is done without it.
    pub fn new(timeout: Duration, metrics: ServiceMetrics, open_message: &'static str) -> Self {
        ServiceGate {
            timeout,
            pacer: Pacer::default(),
            breaker: circuit_breaker(metrics.clone(), open_message),
            metrics,
        }
    }

    /// Waits until the pause that the service requested ends.
    ///
    /// # Errors
    /// Immediately, if the pause ends after `deadline`.
    pub async fn wait_for_pause(&self, deadline: Instant) -> Result<(), Unavailable> {
        self.pacer.wait(deadline).await
    }

    /// Whether a request would be rejected now, so that background work can skip the attempt.
    pub fn is_unavailable(&self) -> bool {
        self.pacer.is_paused() || self.breaker.is_refusing()
    }

    /// Sends one request in a span of its own, unless the circuit is open.
    ///
    /// # Errors
    /// If the circuit is open.
    pub async fn attempt<T, E>(
        &self,
        asking: impl Future<Output = Result<T, Failure<E>>>,
        deadline: Instant,
        span: impl FnOnce() -> Span,
    ) -> Result<Result<T, Failure<E>>, Unavailable> {
        let permit = self.breaker.admit().map_err(|refused| {
            let retry_after = refused.retry_after;
            Unavailable::CircuitOpen { retry_after }
        })?;
        let (started, span) = (Instant::now(), span());
        let until = deadline.min(started + self.timeout);
        let answer = timeout_at(until, asking).await;
        let took = started.elapsed();
        let answer = answer.unwrap_or(Err(Failure::Late));
        let ended = answer
            .as_ref()
            .err()
            .map_or(RequestOutcome::Answered, Failure::outcome);
        self.metrics.record(ended, took);
        if answer.is_err() {
            span.fail(ended.name());
        }
        match &answer {
            Ok(_) => permit.settle(Outcome::Success),
            Err(Failure::Late) if took < FAIR_CHANCE.min(self.timeout) => drop(permit),
            Err(failure) if failure.blames_service() => permit.settle(Outcome::Failure),
            Err(_) => permit.settle(Outcome::Success),
        }
        if let Err(failure) = &answer {
            self.pacer.note(failure);
        }
        Ok(answer)
    }

    /// How long to wait before the next attempt; `None` if a retry is pointless.
    pub fn retry_delay<E>(&self, failure: &Failure<E>, attempts: u32) -> Option<Duration> {
        pacer::retry_delay(failure, attempts)
    }
}
