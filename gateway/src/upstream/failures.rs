//! What agents read when a call fails on its way to a worker or back.
//!
//! Causes go to the log only: they may name hosts and paths.

use std::time::Duration;

use archway_proto::{chain::Chain, context::TraceContext, failure::Failure, fault::Fault, meta};
use serde::Deserialize;
use serde_json::Value;
use tonic::Status;

/// The wait stated when no worker is reachable.
const RETRY_AFTER_SECONDS: u64 = 2;
/// The wait stated while too many answers are unread: unread answers are closed within that time.
const READ_AFTER_SECONDS: u64 = 5;

/// The detail that marks failures caused by the call itself rather than by workers.
const REASON: &str = "reason";
const CRASHING_CALL: &str = "deadly_call";
const TOO_LARGE: &str = "pass_too_large";
const UNREAD: &str = "answers_not_read";
/// tonic's text for a worker's HTTP/2 that rejected a request's headers (RFC 6585, 5).
const HEADERS_TOO_LARGE: &str = "HTTP status code 431";
/// The detail that says whether a write may have happened.
const OUTCOME: &str = "outcome";

/// A failure of Archway itself: the log gets the causes, the agent the trace id.
pub(crate) fn internal(trace: TraceContext, error: &(dyn std::error::Error + 'static)) -> Failure {
    tracing::error!(trace.id = %trace.trace_id(), error = %Chain(error), "call failed");
    internal_failure(trace)
}

fn internal_failure(trace: TraceContext) -> Failure {
    Failure::new(
        Fault::InternalError,
        "the call failed for a reason that is not in its arguments",
        "try once more; if it fails again, report the trace id to the operator",
    )
    .detail("trace_id", trace.trace_id())
}

/// The deadline passed.
pub(super) fn deadline_exceeded() -> Failure {
    Failure::new(
        Fault::DeadlineExceeded,
        "the call took longer than its deadline",
        "narrow the call: a smaller folder, a more selective pattern, fewer results",
    )
}

/// The gateway shuts down before the worker answered. Whether the call took effect is unknown.
pub(super) fn draining() -> Failure {
    Failure::new(
        Fault::Unavailable,
        "the call was ended: this gateway is shutting down",
        format!("wait {RETRY_AFTER_SECONDS} seconds and try again; another gateway will answer"),
    )
    .detail("retry_after_seconds", RETRY_AFTER_SECONDS)
}

/// No worker is reachable.
pub(crate) fn unavailable() -> Failure {
    Failure::new(
        Fault::Unavailable,
        "no worker can be reached at the moment",
        format!("wait {RETRY_AFTER_SECONDS} seconds and try again"),
    )
    .detail("retry_after_seconds", RETRY_AFTER_SECONDS)
}

/// The call's worker was lost while the call ran, and the call was not repeated.
pub(super) fn interrupted() -> Failure {
    Failure::new(
        Fault::Unavailable,
        "the worker that ran the call was lost before it answered",
        format!("wait {RETRY_AFTER_SECONDS} seconds and try again; another worker will answer"),
    )
    .detail("retry_after_seconds", RETRY_AFTER_SECONDS)
}

/// This call crashed two workers and is refused for `left`.
pub(super) fn crashing_call(trace: TraceContext, left: Duration) -> Failure {
    Failure::new(
        Fault::InternalError,
        "this very call, with these arguments, ended two workers: it is refused for a while",
        "change the arguments; report the trace id to the operator",
    )
    .detail("retry_after_seconds", left.as_secs().max(1))
    .detail("trace_id", trace.trace_id())
    .detail(REASON, CRASHING_CALL)
}

/// No memory is left for the answer: clients have not read earlier ones.
pub(crate) fn unread() -> Failure {
    Failure::new(
        Fault::Unavailable,
        "there is no room for the answer: too many answers wait for their clients to read them",
        format!(
            "read the answers that are there, wait {READ_AFTER_SECONDS} seconds and try again; \
             ask for less at a time"
        ),
    )
    .detail("retry_after_seconds", READ_AFTER_SECONDS)
    .detail(REASON, UNREAD)
}

/// Whether the caller caused the failure, so that it says nothing about the workers: the call
/// crashed two of them, its pass exceeds their header limit, or its answers are unread.
pub(crate) fn is_refusal(failure: &Failure) -> bool {
    let why = failure.details.get(REASON);
    why.is_some_and(|why| why == CRASHING_CALL || why == TOO_LARGE || why == UNREAD)
}

/// What is known of a write that got no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteOutcome {
    /// No worker started it.
    NotWritten,
    /// A worker may have carried it out.
    Unknown,
}

/// Extends the failure of a call that is not idempotent: says whether the write may have happened.
pub(super) fn with_write_outcome(mut failure: Failure, outcome: WriteOutcome) -> Failure {
    let (word, advice) = match outcome {
        WriteOutcome::NotWritten => ("not_written", "nothing was written: call again".to_owned()),
        WriteOutcome::Unknown => (
            "unknown",
            format!(
                "whether it was written is not known: read before you write again, or repeat the \
                 call with the idempotency key it had (`_meta` {}), under which it is done once",
                meta::IDEMPOTENCY_KEY
            ),
        ),
    };
    failure.suggestion = if outcome == WriteOutcome::NotWritten {
        format!("{}; {advice}", failure.suggestion)
    } else {
        advice
    };
    failure.detail(OUTCOME, word)
}

/// The failure by which a worker says that it gave up a call. `None` for any other result, or if
/// the result says what became of the write. With `repeated` that last exception does not apply:
/// the worker knows nothing of the attempt before.
pub(super) fn given_up_by_worker(result: &[u8], repeated: bool) -> Option<Failure> {
    let result: Value = serde_json::from_slice(result).ok()?;
    let error = result.get("_meta")?.get(meta::ERROR)?.get("error")?;
    let failure = Failure::deserialize(error).ok()?;
    let unanswered = matches!(failure.code, Fault::Unavailable | Fault::DeadlineExceeded);
    (unanswered && (repeated || !failure.details.contains_key(OUTCOME))).then_some(failure)
}

/// The failure for a worker's own status. The status message stays in the log.
pub(super) fn from_status(trace: TraceContext, status: &Status) -> Failure {
    let fault = Fault::from_grpc(status.code());
    tracing::warn!(
        trace.id = %trace.trace_id(), %fault, rpc.grpc.status_code = ?status.code(),
        error = %Chain(status), "worker call failed"
    );
    if status.message().contains(HEADERS_TOO_LARGE) {
        // The key's own record makes the pass too large: no worker saw the call.
        return internal_failure(trace).detail(REASON, TOO_LARGE);
    }
    match fault {
        Fault::Unavailable => unavailable(),
        Fault::DeadlineExceeded => deadline_exceeded(),
        Fault::AccessDenied => Failure::new(
            fault,
            "the worker did not accept the gateway's pass",
            "report this to the operator: gateway and workers hold different pass keys, or the \
             worker serves another pool (its --pool) than its gateways list it under (--worker \
             NAME=URL)",
        ),
        Fault::InvalidArguments => Failure::new(
            fault,
            "the worker did not accept the call",
            "check the arguments against the tool's schema",
        ),
        _ => internal_failure(trace),
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;
    use tonic::transport::{Channel, Server, server::TcpIncoming};
    use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};

    use super::*;

    #[tokio::test]
    async fn a_pass_too_large_for_the_headers_blames_no_worker() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (_reporter, service) = tonic_health::server::health_reporter();
        let worker = Server::builder()
            .http2_max_header_list_size(16 * 1_024)
            .add_service(service)
            .serve_with_incoming(TcpIncoming::from(listener));
        tokio::spawn(worker);
        let channel = Channel::from_shared(address).unwrap().connect().await;
        let mut request = tonic::Request::new(HealthCheckRequest::default());
        let pass = "x".repeat(20 * 1_024).parse().unwrap();
        request.metadata_mut().insert("archway-pass", pass);
        let answer = HealthClient::new(channel.unwrap()).check(request).await;
        let judged = |status: &Status| is_refusal(&from_status(TraceContext::start(), status));
        let answer = answer.unwrap_err();
        assert!(judged(&answer), "{answer:?}");
        assert!(!judged(&Status::internal("x")));
    }
}
