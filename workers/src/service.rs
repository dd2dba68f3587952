//! The gRPC service: believes the pass, bounds the call, runs the method, streams what it says.
//!
//! A failure the agent can act on is a tool result with `isError`; a gRPC status is for what the
//! gateway must act on (a bad pass, an unknown method).

mod asked;
mod recorded;
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
use archway_store::memory::WriteKey;
use serde_json::Value;
use tokio::{sync::mpsc, time::Instant};
use tokio_util::sync::CancellationToken;
use tonic::{
    Code, Request, Response, Status,
    metadata::{AsciiMetadataValue, MetadataMap},
};
use tracing::Instrument;

use crate::{
    context::{Doors, ToolContext},
    metrics::Metrics,
    tools::Registry,
};
use asked::Asked;
use recorded::{Ending, recorded};
pub(crate) use stream::CallStream;

/// The longest a call may take, whatever its caller asks for.
const MAX_DEADLINE: Duration = Duration::from_secs(30);
/// The part of the deadline kept back to write down what was found so far.
const RESERVE: Duration = Duration::from_millis(200);
/// How many progress and log events wait for a slow reader.
const EVENTS: usize = 16;
/// What an agent is told to wait when its call was ended by the worker's end.
const RETRY_AFTER_SECONDS: u64 = 2;
/// How many verified passes are remembered.
const PASSES: u64 = 10_000;

/// The `Worker` service.
pub(crate) struct WorkerService {
    registry: Arc<Registry>,
    doors: Arc<Doors>,
    verifier: PassVerifier,
    passes: moka::sync::Cache<PassToken, Arc<VerifiedPass>>,
    metrics: Arc<Metrics>,
    /// Cancelled when the worker ends and the calls that still run have to be answered.
    end: CancellationToken,
}

impl WorkerService {
    pub(crate) fn new(
        registry: Registry,
        doors: Doors,
        verifier: PassVerifier,
        metrics: Arc<Metrics>,
        end: CancellationToken,
    ) -> Self {
        WorkerService {
            registry: Arc::new(registry),
            doors: Arc::new(doors),
            verifier,
            passes: moka::sync::Cache::builder()
                .max_capacity(PASSES)
                .time_to_live(archway_proto::pass::LIFETIME)
                .build(),
            metrics,
            end,
        }
    }

    /// The pass behind a token: verified once, then remembered until it expires.
    fn believe(&self, token: &PassToken) -> Result<Arc<VerifiedPass>, Status> {
        if let Some(known) = self.passes.get(token).filter(|known| known.is_live()) {
            return Ok(known);
        }
        let verified = self
            .verifier
            .verify(token)
            .map_err(|error| refused(&error))?;
        let verified = Arc::new(verified);
        self.passes.insert(token.clone(), Arc::clone(&verified));
        Ok(verified)
    }

    fn list(&self, token: &PassToken) -> Result<CallStream, Status> {
        self.verifier
            .verify_catalog(token)
            .map_err(|error| refused(&error))?;
        let list = serde_json::to_value(self.registry.list())
            .map_err(|error| Status::internal(format!("the catalogue is no JSON: {error}")))?;
        Ok(CallStream::ready(list))
    }

    fn call(
        &self,
        context: CallContext,
        method: Method,
        params: &[u8],
    ) -> Result<CallStream, Status> {
        let verified = self.believe(&context.pass)?;
        let asked = Asked::read(method, params)?;
        let token = CancellationToken::new();
        let gone = token.clone().drop_guard();
        let (deadline, latest) = deadlines(context.timeout);
        let cancel = Cancel::new(deadline, token);
        let (sender, events) = mpsc::channel(EVENTS);
        let pass = Arc::clone(verified.pass());
        let key = WriteKey::new(asked.key(), context.call_id);
        let cx = ToolContext::new(Arc::clone(&self.doors), pass, key, cancel, sender)
            .of_session(context.session);
        let registry = Arc::clone(&self.registry);
        let recorded = recorded(&context, method, verified.pass().tenant_id);
        let mut ending = Ending::new(&recorded, deadline);
        let trace = recorded.trace().unwrap_or(context.trace);
        let span = tracing::info_span!(
            "call",
            call.id = %context.call_id,
            trace.id = %trace.trace_id(),
            span.id = %trace.span_id(),
            tenant.id = %verified.pass().tenant_id,
        );
        let running = self.metrics.start(asked.label(&registry));
        let end = self.end.clone();
        let result = async move {
            let keeper = asked.keeper(&cx).await;
            let (code, outcome) = tokio::select! {
                biased;
                outcome = asked.answer(cx, registry) => (Code::Ok, outcome),
                () = end.cancelled() => (Code::Unavailable, Err(draining())),
                () = tokio::time::sleep_until(latest) => (Code::DeadlineExceeded, Err(late())),
            };
            if let (Some((keeper, tool)), Ok(result)) = (keeper, &outcome) {
                // A comfort: what comes too late for it is answered all the same.
                let kept = keeper.keep(&tool, result);
                tokio::time::timeout_at(latest, kept).await.ok();
            }
            running.settle(
                outcome
                    .as_ref()
                    .map_or_else(|failure| failure.code.code(), |_| "ok"),
            );
            ending.is(code);
            outcome.unwrap_or_else(|failure| report(&failure))
        };
        Ok(CallStream {
            events,
            call: Some(Box::pin(recorded.run(Box::pin(result.instrument(span))))),
            result: None,
            _gone: Some(gone),
        })
    }
}

/// What a call is answered that still runs when the worker's time is up.
fn draining() -> Failure {
    Failure::new(
        Fault::Unavailable,
        "the call was ended: its worker is shutting down",
        format!("wait {RETRY_AFTER_SECONDS} seconds and try again; another worker will answer"),
    )
    .detail("retry_after_seconds", RETRY_AFTER_SECONDS)
}

/// What a call is answered that comes when the worker's time is up: another worker may take it.
fn turned_away() -> Status {
    not_begun(Code::Unavailable, "the worker is shutting down")
}

fn not_begun(code: Code, message: &str) -> Status {
    let mut metadata = MetadataMap::new();
    metadata.insert(NOT_BEGUN, AsciiMetadataValue::from_static("1"));
    Status::with_metadata(code, message, metadata)
}

/// What a call is answered whose tool did not look at its deadline, as on files that hang.
fn late() -> Failure {
    Failure::new(
        Fault::DeadlineExceeded,
        "the tool did not answer before the deadline",
        "ask for less at a time, or try again in a few seconds",
    )
}

/// Logs what an operator should know of a failure, and gives the result that carries it.
fn report(failure: &Failure) -> Value {
    if failure.code.blame() != Blame::Caller {
        tracing::warn!(fault = %failure.code, message = failure.message, "tool call failed");
    }
    failure.to_result()
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
        let ask = request.into_inner();
        let stream = match Method::parse(&ask.method) {
            Some(Method::ToolsList) => self.list(&context.pass)?,
            Some(_) if self.end.is_cancelled() => return Err(turned_away()),
            Some(method) => WorkerService::call(self, context, method, &ask.params)?,
            None => {
                return Err(Status::unimplemented(
                    "the worker does not know this method",
                ));
            }
        };
        Ok(Response::new(stream))
    }
}

/// What a call is answered whose pass is not believed: a worker with other keys may take it.
fn refused(error: &archway_proto::pass::PassError) -> Status {
    tracing::warn!(%error, "pass refused");
    not_begun(Code::Unauthenticated, "the pass is not valid here")
}

/// When a tool must have its answer ready, a little before the caller stops waiting; and when
/// the caller does.
fn deadlines(timeout: Option<Duration>) -> (Instant, Instant) {
    let whole = timeout.unwrap_or(MAX_DEADLINE).min(MAX_DEADLINE);
    let latest = Instant::now() + whole;
    (latest - RESERVE.min(whole / 10), latest)
}
