//! The gRPC service: verifies the pass, bounds the call, runs the method, and streams events and
//! result.
//!
//! A failure that the agent can act on is a tool result with `isError`. A gRPC status is for
//! failures that the gateway must act on: an invalid pass, an unknown method.

mod request;
mod span;
mod stream;

use std::{sync::Arc, time::Duration};

use archway_proto::{
    context::{CallContext, NOT_BEGUN},
    failure::Failure,
    fault::{Blame, Fault},
    method::Method,
    pass::{PassToken, PassVerifier, VerifiedPass},
    v1,
};
use archway_repo::Cancel;
use archway_store::memory::IdempotencyKey;
use tokio::{sync::mpsc, time::Instant};
use tokio_util::sync::CancellationToken;
use tonic::{
    Code, Request, Response, Status,
    metadata::{AsciiMetadataValue, MetadataMap},
};
use tracing::Instrument;

use crate::{
    context::{SharedState, ToolContext},
    metrics::Metrics,
    tools::Registry,
};
use request::MethodRequest;
use span::{CallEnd, call_span};
use stream::CallResult;
pub(crate) use stream::CallStream;

/// Maximum duration of a call, whatever deadline its caller sets.
const MAX_DEADLINE: Duration = Duration::from_secs(30);
/// The part of the deadline that is reserved for writing down partial results.
const RESULT_RESERVE: Duration = Duration::from_millis(200);
/// Capacity of the queue of progress and log events for a slow reader.
const EVENT_QUEUE: usize = 16;
/// The `retry_after_seconds` of a call that was ended by the worker's shutdown.
const RETRY_AFTER_SECONDS: u64 = 2;
/// Maximum number of cached verified passes.
const MAX_CACHED_PASSES: u64 = 10_000;

/// The `Worker` service.
pub(crate) struct WorkerService {
    registry: Arc<Registry>,
    shared: Arc<SharedState>,
    verifier: PassVerifier,
    passes: moka::sync::Cache<PassToken, Arc<VerifiedPass>>,
    metrics: Arc<Metrics>,
    /// Cancelled when the worker shuts down and the remaining calls must be answered.
    end: CancellationToken,
}

impl WorkerService {
    pub(crate) fn new(
        registry: Registry,
        shared: SharedState,
        verifier: PassVerifier,
        metrics: Arc<Metrics>,
        end: CancellationToken,
    ) -> Self {
        WorkerService {
            registry: Arc::new(registry),
            shared: Arc::new(shared),
            verifier,
            passes: moka::sync::Cache::builder()
                .max_capacity(MAX_CACHED_PASSES)
                .time_to_live(archway_proto::pass::LIFETIME)
                .build(),
            metrics,
            end,
        }
    }

    /// Verifies a pass. The result is cached until the pass expires.
    fn verified_pass(&self, token: &PassToken) -> Result<Arc<VerifiedPass>, Status> {
        if let Some(cached) = self.passes.get(token).filter(|cached| cached.is_live()) {
            return Ok(cached);
        }
        let verified = self
            .verifier
            .verify(token)
            .map_err(|error| invalid_pass(&error))?;
        let verified = Arc::new(verified);
        self.passes.insert(token.clone(), Arc::clone(&verified));
        Ok(verified)
    }

    fn list(&self, token: &PassToken) -> Result<CallStream, Status> {
        self.verifier
            .verify_catalog(token)
            .map_err(|error| invalid_pass(&error))?;
        let list = serde_json::to_value(self.registry.list()).map_err(|error| {
            Status::internal(format!("the catalogue is not valid JSON: {error}"))
        })?;
        Ok(CallStream::ready(list))
    }

    fn call(
        &self,
        context: CallContext,
        method: Method,
        params: &[u8],
    ) -> Result<CallStream, Status> {
        let verified = self.verified_pass(&context.pass)?;
        let request = MethodRequest::parse(method, params)?;
        let pass = Arc::clone(verified.pass());
        let span_of_call = call_span(&context, method, pass.tenant_id);
        let trace = span_of_call.trace().unwrap_or(context.trace);
        let span = tracing::info_span!(
            "call",
            call.id = %context.call_id,
            trace.id = %trace.trace_id(),
            span.id = %trace.span_id(),
            tenant.id = %pass.tenant_id,
        );
        let token = CancellationToken::new();
        let cancel_on_drop = token.clone().drop_guard();
        let (deadline, latest) = deadlines(context.timeout);
        let call_end = CallEnd::new(&span_of_call, deadline);
        let cancel = Cancel::new(deadline, token);
        let (sender, events) = mpsc::channel(EVENT_QUEUE);
        let key = IdempotencyKey::new(request.idempotency_key(), context.call_id);
        let cx = ToolContext::new(Arc::clone(&self.shared), pass, key, cancel, sender)
            .with_session(context.session);
        let result = self.run(request, cx, latest, call_end).instrument(span);
        Ok(CallStream {
            events,
            call: Some(Box::pin(span_of_call.run(Box::pin(result)))),
            result: None,
            _cancel_on_drop: Some(cancel_on_drop),
        })
    }

    /// Runs the request until it is answered, `latest` passes, or the worker shuts down.
    fn run(
        &self,
        request: MethodRequest,
        cx: ToolContext,
        latest: Instant,
        mut call_end: CallEnd,
    ) -> impl Future<Output = CallResult> + Send + use<> {
        let registry = Arc::clone(&self.registry);
        let running = self.metrics.start(request.label(&registry));
        let end = self.end.clone();
        async move {
            let recorder = request.workflow_recorder(&cx);
            let recorder = tokio::time::timeout_at(latest, recorder)
                .await
                .ok()
                .flatten();
            let (code, outcome) = tokio::select! {
                biased;
                outcome = request.answer(cx, registry) => (Code::Ok, outcome),
                () = end.cancelled() => (Code::Unavailable, Err(ended_by_shutdown())),
                () = tokio::time::sleep_until(latest) => (Code::DeadlineExceeded, Err(deadline_passed())),
            };
            if let (Some((recorder, tool)), Ok(result)) = (recorder, &outcome) {
                // Only later prompts need the record: the call is answered without it if need be.
                let recording = recorder.record(&tool, result);
                tokio::time::timeout_at(latest, recording).await.ok();
            }
            running.settle(
                outcome
                    .as_ref()
                    .map_or_else(|failure| failure.code.code(), |_| "ok"),
            );
            call_end.set(code);
            match outcome {
                Ok(json) => CallResult {
                    json,
                    refused_by: None,
                },
                Err(failure) => failure_result(failure),
            }
        }
    }
}

/// The answer to a call that still runs when the drain limit is over.
fn ended_by_shutdown() -> Failure {
    Failure::new(
        Fault::Unavailable,
        "the call was ended: its worker is shutting down",
        format!("wait {RETRY_AFTER_SECONDS} seconds and try again; another worker will answer"),
    )
    .detail("retry_after_seconds", RETRY_AFTER_SECONDS)
}

/// The status of a call that arrives after the drain limit: another worker may run it.
fn shutting_down() -> Status {
    not_begun(Code::Unavailable, "the worker is shutting down")
}

fn not_begun(code: Code, message: &str) -> Status {
    let mut metadata = MetadataMap::new();
    metadata.insert(NOT_BEGUN, AsciiMetadataValue::from_static("1"));
    Status::with_metadata(code, message, metadata)
}

/// The answer to a call whose tool did not check its deadline, for example on files that hang.
fn deadline_passed() -> Failure {
    Failure::new(
        Fault::DeadlineExceeded,
        "the tool did not answer before the deadline",
        "ask for less at a time, or try again in a few seconds",
    )
}

/// Logs a failure that operators should know of, and returns the result that carries it.
fn failure_result(failure: Failure) -> CallResult {
    if failure.code.blame() != Blame::Caller {
        tracing::warn!(fault = %failure.code, message = failure.message, "tool call failed");
    }
    CallResult {
        json: failure.to_result(),
        refused_by: failure.refused_by,
    }
}

#[tonic::async_trait]
impl v1::worker_server::Worker for WorkerService {
    type CallStream = CallStream;

    async fn call(
        &self,
        request: Request<v1::CallRequest>,
    ) -> Result<Response<CallStream>, Status> {
        let context = CallContext::extract(request.metadata())
            .map_err(|error| Status::invalid_argument(error.to_string()))?;
        let request = request.into_inner();
        let stream = match Method::parse(&request.method) {
            Some(Method::ToolsList) => self.list(&context.pass)?,
            Some(_) if self.end.is_cancelled() => return Err(shutting_down()),
            Some(method) => WorkerService::call(self, context, method, &request.params)?,
            None => {
                return Err(Status::unimplemented(
                    "the worker does not know this method",
                ));
            }
        };
        Ok(Response::new(stream))
    }
}

/// The status of a call whose pass is invalid: a worker with other keys may run it.
fn invalid_pass(error: &archway_proto::pass::PassError) -> Status {
    tracing::warn!(%error, "pass refused");
    not_begun(Code::Unauthenticated, "the pass is not valid here")
}

/// Returns when a tool must have its answer ready, and when the caller stops waiting, which is a
/// little later.
fn deadlines(timeout: Option<Duration>) -> (Instant, Instant) {
    let whole = timeout.unwrap_or(MAX_DEADLINE).min(MAX_DEADLINE);
    let latest = Instant::now() + whole;
    (latest - RESULT_RESERVE.min(whole / 10), latest)
}
