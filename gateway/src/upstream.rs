//! The way to the workers: one gRPC channel per address, a deadline on every call.
//!
//! The last stop of a call. The deadline travels as `grpc-timeout`, so the worker gives up by
//! itself; a local timeout, a little longer, covers a worker that doesn't. Dropping the stream of
//! a call cancels it at the worker. Whatever goes wrong here comes back as a
//! [`Failure`] that an agent can act on; the reason goes to the log, since it may name hosts.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use archway_proto::{
    MAX_MESSAGE_BYTES,
    context::{CallContext, TraceContext},
    failure::Failure,
    fault::Fault,
    method::Method,
    pass::{self, PassError, PassMinter, PassToken},
    v1::{CallRequest, worker_client::WorkerClient},
};
use bytes::Bytes;
use tokio::{sync::Notify, time::Instant};
use tokio_util::sync::CancellationToken;
use tonic::transport::{Channel, Endpoint};
use uuid::Uuid;

use crate::auth::Principal;
use failures::{never_left, of_status};
use patience::Patience;

pub use config::{UpstreamConfig, UpstreamError};
pub(crate) use failures::{internal, unavailable};
pub(crate) use stream::{CallStream, Said, Step};

mod config;
mod failures;
mod patience;
mod stream;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
const KEEP_ALIVE: Duration = Duration::from_secs(10);
/// How much longer than the worker the gateway waits, so that the worker's own answer wins.
const PATIENCE: Duration = Duration::from_millis(250);
const LONGEST_DEADLINE: Duration = Duration::from_secs(30);
/// A result of 64 KiB arrives without waiting for a window update.
const STREAM_WINDOW: u32 = 1024 * 1024;
const CONNECTION_WINDOW: u32 = 8 * 1024 * 1024;
/// Passes kept; each is good for seconds.
const MOST_PASSES: u64 = 20_000;

/// A caller's call, on its way to a worker.
pub(crate) struct Outgoing<'a> {
    pub(crate) who: &'a Principal,
    pub(crate) method: Method,
    /// One JSON object.
    pub(crate) params: Bytes,
    /// The project it is about, as far as it says so.
    pub(crate) project: Option<&'a str>,
    /// Whether doing it twice is the same as doing it once.
    pub(crate) idempotent: bool,
    pub(crate) trace: TraceContext,
    /// When its caller gets an answer, whatever it is.
    pub(crate) until: Instant,
}

/// The workers of one pool.
pub(crate) struct Upstream {
    clients: Vec<WorkerClient<Channel>>,
    next: AtomicUsize,
    pool: String,
    deadline: Duration,
    minter: PassMinter,
    passes: moka::sync::Cache<u64, PassToken>,
    lost: Notify,
    end: CancellationToken,
}

impl Upstream {
    /// Connects when first called: workers may start later.
    pub(crate) fn new(config: &UpstreamConfig, minter: PassMinter) -> Result<Self, UpstreamError> {
        let clients: Vec<_> = config
            .workers
            .iter()
            .map(|address| connect(address))
            .collect::<Result<_, _>>()?;
        if clients.is_empty() {
            return Err(UpstreamError::NoWorker);
        }
        Ok(Upstream {
            clients,
            next: AtomicUsize::new(0),
            pool: config.pool.clone(),
            deadline: Duration::from_secs(config.call_deadline).min(LONGEST_DEADLINE),
            minter,
            passes: moka::sync::Cache::builder()
                .max_capacity(MOST_PASSES)
                .time_to_live(pass::REUSE)
                .build(),
            lost: Notify::new(),
            end: CancellationToken::new(),
        })
    }

    /// By when a call that was received at this moment is answered.
    pub(crate) fn until(&self, received: Instant) -> Instant {
        received + self.deadline
    }

    /// Starts a caller's call of a worker's method.
    pub(crate) async fn call(&self, call: Outgoing<'_>) -> Result<CallStream, Failure> {
        let trace = call.trace;
        let pass = self
            .pass(call.who)
            .map_err(|error| internal(trace, &error))?;
        let until = call.until;
        self.start(pass, call.method, call.params, trace, until)
            .await
    }

    /// The catalogue as one of the workers gives it: a `ToolList` in JSON.
    pub(crate) async fn catalog(&self) -> Result<Bytes, Failure> {
        let trace = TraceContext::start();
        let pass = self
            .minter
            .mint_catalog()
            .map_err(|error| internal(trace, &error))?;
        let params = Bytes::from_static(b"{}");
        let until = self.until(Instant::now());
        self.start(pass, Method::ToolsList, params, trace, until)
            .await?
            .result()
            .await
    }

    /// Answers the calls that still run, and all to come, with `unavailable`: the gateway ends.
    pub(crate) fn end_calls(&self) {
        self.end.cancel();
    }

    /// Waits until a call finds its worker gone.
    pub(crate) async fn lost(&self) {
        self.lost.notified().await;
    }

    /// A pass for the caller: minted once per reading of its record, used for 10 s.
    fn pass(&self, who: &Principal) -> Result<PassToken, Arc<PassError>> {
        self.passes
            .try_get_with(who.edition(), || self.minter.mint(&who.pass(&self.pool)))
    }

    async fn start(
        &self,
        pass: PassToken,
        method: Method,
        params: Bytes,
        trace: TraceContext,
        until: Instant,
    ) -> Result<CallStream, Failure> {
        let context = CallContext {
            call_id: Uuid::new_v4(),
            trace,
            pass,
            timeout: Some(until.saturating_duration_since(Instant::now())),
        };
        let patience = Patience {
            until: until + PATIENCE,
            end: self.end.clone(),
        };
        let mut workers = self.workers();
        loop {
            let mut request = tonic::Request::new(CallRequest {
                method: method.name().to_owned(),
                params: params.clone(),
            });
            context
                .attach(&mut request)
                .map_err(|error| internal(trace, &error))?;
            let mut worker = workers.next().ok_or_else(unavailable)?;
            let status = match patience.wait(worker.call(request)).await? {
                Ok(response) => return Ok(CallStream::new(response.into_inner(), patience, trace)),
                Err(status) => status,
            };
            let failure = of_status(trace, &status);
            if failure.code == Fault::Unavailable {
                self.lost.notify_waiters();
            }
            // A call that never left may go to another worker, whatever it would do.
            if !never_left(&status) || workers.len() == 0 {
                return Err(failure);
            }
        }
    }

    /// Every worker once, beginning with another each time. Affinity, breakers and retries will
    /// find their place here.
    fn workers(&self) -> impl ExactSizeIterator<Item = WorkerClient<Channel>> {
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        let count = self.clients.len();
        (0..count).map(move |more| self.clients[turn.wrapping_add(more) % count].clone())
    }
}

fn connect(address: &str) -> Result<WorkerClient<Channel>, UpstreamError> {
    let wrong = |source| UpstreamError::Address {
        address: address.to_owned(),
        source,
    };
    // What tonic would take for a path on nobody's host.
    let known = address.starts_with("http://") || address.starts_with("unix:/");
    known.then_some(()).ok_or_else(|| wrong(None))?;
    let endpoint = Endpoint::from_shared(address.to_owned())
        .map_err(|source| wrong(Some(source)))?
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_nodelay(true)
        .http2_keep_alive_interval(KEEP_ALIVE)
        .keep_alive_while_idle(true)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW);
    Ok(WorkerClient::new(endpoint.connect_lazy())
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES))
}
