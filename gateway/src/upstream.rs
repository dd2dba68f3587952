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
    v1::{CallEvent, CallRequest, Progress, call_event::Event, worker_client::WorkerClient},
};
use bytes::Bytes;
use tokio::{sync::Notify, time::Instant};
use tokio_util::sync::CancellationToken;
use tonic::{
    Streaming,
    transport::{Channel, Endpoint},
};
use uuid::Uuid;

use crate::auth::Principal;
use failures::of_status;
use patience::Patience;

pub(crate) use failures::{internal, unavailable};

mod failures;
mod patience;

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

/// Where the workers are.
#[derive(Clone, Debug, clap::Args)]
pub struct UpstreamConfig {
    /// Workers' addresses, comma-separated: `http://host:port` or `unix:/path`.
    #[arg(
        long = "worker",
        env = "ARCHWAY_WORKERS",
        value_name = "URL",
        value_delimiter = ',',
        required = true
    )]
    pub workers: Vec<String>,
    /// The pool these workers belong to: passes are good for it alone.
    #[arg(
        long,
        env = "ARCHWAY_POOL",
        value_name = "NAME",
        default_value = "shared"
    )]
    pub pool: String,
    /// Seconds a call may take, 1 to 30.
    #[arg(
        long,
        env = "ARCHWAY_CALL_DEADLINE",
        value_name = "SECONDS",
        default_value = "10",
        value_parser = clap::value_parser!(u64).range(1..=30)
    )]
    pub call_deadline: u64,
}

/// Why the workers' addresses are of no use.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamError {
    /// The list is empty.
    #[error("no worker address is configured")]
    NoWorker,
    /// An address does not parse.
    #[error("{address:?} is no worker address (http://host:port or unix:/path)")]
    Address {
        /// As configured.
        address: String,
        /// What tonic said.
        #[source]
        source: tonic::transport::Error,
    },
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

    /// Starts a caller's call of a worker's method. `params` is one JSON object.
    pub(crate) async fn call(
        &self,
        who: &Principal,
        method: Method,
        params: Bytes,
        trace: TraceContext,
    ) -> Result<CallStream, Failure> {
        let pass = self.pass(who).map_err(|error| internal(trace, &error))?;
        self.start(pass, method, params, trace).await
    }

    /// The catalogue as one of the workers gives it: a `ToolList` in JSON.
    pub(crate) async fn catalog(&self) -> Result<Bytes, Failure> {
        let trace = TraceContext::start();
        let pass = self
            .minter
            .mint_catalog()
            .map_err(|error| internal(trace, &error))?;
        let params = Bytes::from_static(b"{}");
        self.start(pass, Method::ToolsList, params, trace)
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
    ) -> Result<CallStream, Failure> {
        let call_id = Uuid::new_v4();
        let context = CallContext {
            call_id,
            trace,
            pass,
            timeout: Some(self.deadline),
        };
        let mut request = tonic::Request::new(CallRequest {
            method: method.name().to_owned(),
            params,
        });
        context
            .attach(&mut request)
            .map_err(|error| internal(trace, &error))?;
        let patience = Patience {
            until: Instant::now() + self.deadline + PATIENCE,
            end: self.end.clone(),
        };
        let mut client = self.client();
        match patience.wait(client.call(request)).await? {
            Ok(response) => Ok(CallStream {
                events: response.into_inner(),
                patience,
                trace,
            }),
            Err(status) => {
                let failure = of_status(trace, &status);
                if failure.code == Fault::Unavailable {
                    self.lost.notify_waiters();
                }
                Err(failure)
            }
        }
    }

    /// The workers take turns. Affinity, breakers and retries will find their place here.
    fn client(&self) -> WorkerClient<Channel> {
        let turn = self.next.fetch_add(1, Ordering::Relaxed) % self.clients.len();
        self.clients[turn].clone()
    }
}

fn connect(address: &str) -> Result<WorkerClient<Channel>, UpstreamError> {
    let endpoint = Endpoint::from_shared(address.to_owned())
        .map_err(|source| UpstreamError::Address {
            address: address.to_owned(),
            source,
        })?
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

/// What a call brings.
pub(crate) enum Step {
    /// How far it is.
    Progress(Progress),
    /// Its end: the method's result, a JSON object.
    Result(Bytes),
}

/// The events of one call. Dropped before its end, it cancels the call.
pub(crate) struct CallStream {
    events: Streaming<CallEvent>,
    patience: Patience,
    trace: TraceContext,
}

impl CallStream {
    /// Reads to the end of a stream that has given its result. Dropped before its trailers it would
    /// be reset, and HTTP/2 ends a connection on which too many streams are.
    async fn close(&mut self) {
        // The answer is here: however the stream ends, it changes nothing.
        self.patience.wait(self.events.message()).await.ok();
    }

    /// The next step; a failure once the deadline passed or the stream ended without a result.
    pub(crate) async fn next(&mut self) -> Result<Step, Failure> {
        loop {
            match self.patience.wait(self.events.message()).await? {
                Err(status) => return Err(of_status(self.trace, &status)),
                Ok(None) => return Err(internal(self.trace, &NoResult)),
                Ok(Some(CallEvent { event })) => match event {
                    Some(Event::Result(result)) => {
                        self.close().await;
                        return Ok(Step::Result(result));
                    }
                    Some(Event::Progress(progress)) => return Ok(Step::Progress(progress)),
                    // Clients of 2026-07-28 get no logs they did not ask for, older ones no
                    // capability that promises any. `None`: an event this build does not know.
                    Some(Event::Log(_)) | None => {}
                },
            }
        }
    }

    /// The result, past whatever comes before it.
    pub(crate) async fn result(mut self) -> Result<Bytes, Failure> {
        loop {
            if let Step::Result(result) = self.next().await? {
                return Ok(result);
            }
        }
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the worker ended the stream without a result")]
struct NoResult;
