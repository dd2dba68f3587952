//! What an agent is told when a call fails on its way to a worker or back.
//!
//! The reasons go to the log and nowhere else: they may name hosts and paths.

use std::time::Duration;

use archway_proto::{chain::Chain, context::TraceContext, failure::Failure, fault::Fault, meta};
use serde::Deserialize;
use serde_json::Value;
use tonic::Status;

/// What an agent is told to wait when no worker can be reached.
const RETRY_AFTER_SECONDS: u64 = 2;
/// What it is told to wait while too many answers are not read: those that nobody reads are ended
/// by then.
const READ_AFTER_SECONDS: u64 = 5;

/// The detail by which failures that are the call's own doing are told from the workers'.
const REASON: &str = "reason";
const DEADLY: &str = "deadly_call";
const TOO_LARGE: &str = "pass_too_large";
const UNREAD: &str = "answers_not_read";
/// What tonic says of a worker's HTTP/2 that turned a request's headers away (RFC 6585, 5).
const HEADERS_TOO_LARGE: &str = "HTTP status code 431";
/// The detail that says whether a write may have been done.
const OUTCOME: &str = "outcome";

/// A failure that is nobody's but ours: logged in full, told with the trace id.
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
pub(super) fn deadline() -> Failure {
    Failure::new(
        Fault::DeadlineExceeded,
        "the call took longer than its deadline",
        "narrow the call: a smaller folder, a more selective pattern, fewer results",
    )
}

/// The gateway ends before the worker has answered. Whether the call took effect is unknown.
pub(super) fn draining() -> Failure {
    Failure::new(
        Fault::Unavailable,
        "the call was ended: this gateway is shutting down",
        format!("wait {RETRY_AFTER_SECONDS} seconds and try again; another gateway will answer"),
    )
    .detail("retry_after_seconds", RETRY_AFTER_SECONDS)
}

/// No worker answered.
pub(crate) fn unavailable() -> Failure {
    Failure::new(
        Fault::Unavailable,
        "no worker can be reached at the moment",
        format!("wait {RETRY_AFTER_SECONDS} seconds and try again"),
    )
    .detail("retry_after_seconds", RETRY_AFTER_SECONDS)
}

/// The call's worker was lost while it ran, and it was not tried again.
pub(super) fn interrupted() -> Failure {
    Failure::new(
        Fault::Unavailable,
        "the worker that ran the call was lost before it answered",
        format!("wait {RETRY_AFTER_SECONDS} seconds and try again; another worker will answer"),
    )
    .detail("retry_after_seconds", RETRY_AFTER_SECONDS)
}

/// This very call ended two workers: it gets no third one for so long.
pub(super) fn deadly(trace: TraceContext, left: Duration) -> Failure {
    Failure::new(
        Fault::InternalError,
        "this very call, with these arguments, ended two workers: it is refused for a while",
        "change the arguments; report the trace id to the operator",
    )
    .detail("retry_after_seconds", left.as_secs().max(1))
    .detail("trace_id", trace.trace_id())
    .detail(REASON, DEADLY)
}

/// There is no room for the answer: its clients have not read others.
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

/// Whether a failure is the caller's own doing, and says nothing about the workers that are there: its
/// call ended two of them, now or before, its pass is larger than they read, or its answers are not
/// read.
pub(crate) fn is_refusal(failure: &Failure) -> bool {
    let why = failure.details.get(REASON);
    why.is_some_and(|why| why == DEADLY || why == TOO_LARGE || why == UNREAD)
}

/// What is known of a write that was not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// No worker took it up.
    NotWritten,
    /// One may have carried it out.
    Unknown,
}

/// The failure of a call that must not be done twice: says whether it may have been done.
pub(super) fn of_write(mut failure: Failure, outcome: Outcome) -> Failure {
    let (word, advice) = match outcome {
        Outcome::NotWritten => ("not_written", "nothing was written: call again".to_owned()),
        Outcome::Unknown => (
            "unknown",
            format!(
                "whether it was written is not known: read before you write again, or repeat the \
                 call with the idempotency key it had (`_meta` {}), under which it is done once",
                meta::IDEMPOTENCY_KEY
            ),
        ),
    };
    failure.suggestion = if outcome == Outcome::NotWritten {
        format!("{}; {advice}", failure.suggestion)
    } else {
        advice
    };
    failure.detail(OUTCOME, word)
}

/// The failure by which a worker says that it did not carry a call to its end, if its result is one
/// and does not tell what became of it; `repeated`: whatever it tells, it knows nothing of the try
/// before.
pub(super) fn given_up_by_worker(result: &[u8], repeated: bool) -> Option<Failure> {
    let result: Value = serde_json::from_slice(result).ok()?;
    let error = result.get("_meta")?.get(meta::ERROR)?.get("error")?;
    let failure = Failure::deserialize(error).ok()?;
    let unanswered = matches!(failure.code, Fault::Unavailable | Fault::DeadlineExceeded);
    (unanswered && (repeated || !failure.details.contains_key(OUTCOME))).then_some(failure)
}

/// What an agent is told about a worker's own status. The status' own text stays in the log.
pub(super) fn of_status(trace: TraceContext, status: &Status) -> Failure {
    let fault = Fault::from_grpc(status.code());
    tracing::warn!(
        trace.id = %trace.trace_id(), %fault, rpc.grpc.status_code = ?status.code(),
        error = %Chain(status), "worker call failed"
    );
    if status.message().contains(HEADERS_TOO_LARGE) {
        // The key's own doing: no worker saw the call.
        return internal_failure(trace).detail(REASON, TOO_LARGE);
    }
    match fault {
        Fault::Unavailable => unavailable(),
        Fault::DeadlineExceeded => deadline(),
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
    async fn a_pass_that_a_worker_has_no_room_for_speaks_against_no_worker() {
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
        let judged = |status: &Status| is_refusal(&of_status(TraceContext::start(), status));
        let answer = answer.unwrap_err();
        assert!(judged(&answer), "{answer:?}");
        assert!(!judged(&Status::internal("x")));
    }
}
