//! The listeners, and the middleware stack that every client request passes through.
//!
//! What a reader would get wrong: this is hyper, not `axum::serve`, because the limits (headers,
//! timeouts, connections) belong to the connection. An idle or slow connection holds one of its
//! port's connection permits (10,000 for clients by default) and nothing else. The admin port runs
//! the same code.

use std::{
    convert::Infallible,
    sync::Arc,
    time::{Duration, SystemTime},
};

use axum::{
    body::Body,
    extract::{Request, State},
    middleware::{Next, from_fn, from_fn_with_state},
    response::Response,
};
use hyper::body::Incoming;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::conn::auto::Builder,
};
use prometheus_client::metrics::{counter::Counter, gauge::Gauge};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
    sync::{OwnedSemaphorePermit, Semaphore},
};
use tokio_util::sync::CancellationToken;
use tower::{ServiceBuilder, ServiceExt, service_fn, util::BoxCloneSyncService};

use crate::{
    auth::{self, Auth, Peer},
    caller::ArrivedAt,
    error::RefusalReason,
    mcp::Mcp,
    metrics::{GaugeGuard, Metrics},
    unread::{ConnectionSpace, Reservation},
};
use acceptor::Acceptor;
use answer::AnswerGuard;
use connection::Activity;
use guard::Guard;
use request_body::RequestBody;
use streams::Streams;
use tracked_socket::TrackedSocket;

// First the connection, then the layers that a request on it passes.
mod acceptor;
mod connection;
mod tracked_socket;
mod answer;
mod read_progress;
mod request_body;
mod streams;
mod connection_close;
mod cors;
mod well_known;
pub(crate) mod guard;

/// Maximum and default number of client connections per gateway.
pub const MOST_CLIENTS: u32 = 10_000;
const LARGEST_HEADERS: u32 = 32 * 1024;
/// Idle timeout of client connections: long, because clients reuse them for the next call.
pub(crate) const CLIENTS_IDLE: Duration = Duration::from_secs(75);
/// Concurrent requests of one HTTP/2 connection. Each may have a small body, up to 64 KiB, read.
const MOST_STREAMS: u32 = 32;
/// Bytes of one request that a client may send before the gateway reads them.
const STREAM_WINDOW: u32 = 32 * 1024;
/// The same for all streams of one connection. It is the sum of their windows, so unread streams
/// never block the others.
const CONNECTION_WINDOW: u32 = MOST_STREAMS * STREAM_WINDOW;
/// Longer than the time that calls get (`DRAIN_LIMIT`), so a drain ends calls before it cuts
/// connections.
const DRAIN: Duration = Duration::from_secs(27);

/// What the stack is built from.
pub(crate) struct StackParts {
    pub(crate) guard: Arc<Guard>,
    pub(crate) auth: Arc<Auth>,
    pub(crate) mcp: Arc<Mcp>,
    pub(crate) metrics: Arc<Metrics>,
}

/// A listener, and how its connections are served.
pub(crate) struct Port {
    pub(crate) listener: TcpListener,
    pub(crate) stack: Stack,
    /// Maximum number of connections; further ones wait in the listener's backlog.
    pub(crate) max_connections: u32,
    /// How long a connection may stay open without a request.
    pub(crate) idle: Duration,
    /// Gauge of open connections.
    pub(crate) open: Gauge,
    /// Counts answers that were ended because their client did not read them.
    pub(crate) ended: Counter,
}

/// The whole path of a request, as one service.
pub(crate) type Stack = BoxCloneSyncService<Request, Response, Infallible>;

/// Builds the stack. Layers run from the top line down; a refused request never reaches the next
/// line.
pub(crate) fn stack(stops: StackParts) -> Stack {
    let StackParts {
        guard,
        auth,
        mcp,
        metrics,
    } = stops;
    let stack = ServiceBuilder::new()
        .layer(from_fn(connection_close::close_if_unread))
        .layer(from_fn_with_state(metrics, count))
        .layer(from_fn_with_state(
            guard.clone(),
            guard::check_host_and_origin,
        ))
        .layer(from_fn_with_state(auth.clone(), cors::admit_preflight))
        .layer(cors::layer(guard))
        .layer(from_fn_with_state(auth.clone(), well_known::answer))
        .layer(from_fn(guard::route))
        .layer(from_fn(guard::check_size))
        .layer(from_fn_with_state(auth, auth::authenticate))
        .service(service_fn(move |request| {
            let mcp = mcp.clone();
            async move { Ok(mcp.answer(request).await) }
        }));
    BoxCloneSyncService::new(stack)
}

async fn count(State(metrics): State<Arc<Metrics>>, mut request: Request, next: Next) -> Response {
    request
        .extensions_mut()
        .insert(ArrivedAt(SystemTime::now()));
    let response = next.run(request).await;
    metrics.request(response.status());
    if let Some(RefusalReason(reason)) = response.extensions().get() {
        metrics.refusals().count(reason, None);
    }
    response
}

/// Accepts connections until `shutdown`, then waits at most 27 s for calls in flight.
pub(crate) async fn serve(port: Port, shutdown: CancellationToken) {
    let Port {
        listener,
        stack,
        max_connections,
        idle,
        open,
        ended,
    } = port;
    let permits = Arc::new(Semaphore::new(max_connections as usize));
    let builder = Arc::new(builder(ended.clone()));
    let mut acceptor = Acceptor::new(listener);
    let accepting = async {
        loop {
            // The semaphore is never closed, so `acquire_owned` cannot fail.
            let Ok(permit) = permits.clone().acquire_owned().await else {
                return;
            };
            let (socket, peer) = acceptor.next().await;
            let client = ClientConnection {
                peer: Peer(peer),
                stack: stack.clone(),

                permit,
                idle,
                open: open.clone(),
                ended: ended.clone(),
                shutdown: shutdown.clone(),
            };
            tokio::spawn(serve_connection(builder.clone(), socket, client));
        }
    };
    tokio::select! {
        () = shutdown.cancelled() => {}
        () = accepting => {}
    }
    drop(acceptor);
    if tokio::time::timeout(DRAIN, permits.acquire_many(max_connections))
        .await
        .is_err()
    {
        tracing::warn!("connections still open at the end of the drain");
    }
}

/// HTTP/1 and HTTP/2 with their bounds; `connection` enforces the timeouts. `ended` counts answers
/// that were ended because their client did not read them.
pub(crate) fn builder(ended: Counter) -> Builder<Streams> {
    let mut builder = Builder::new(Streams::new(ended));
    // The buffer bounds the headers: larger ones are answered 431.
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(None);
    builder.http1().max_buf_size(LARGEST_HEADERS as usize);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(MOST_STREAMS)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW);
    builder.http2().max_header_list_size(LARGEST_HEADERS);
    builder
}

/// What one connection is served with.
pub(crate) struct ClientConnection {
    pub(crate) peer: Peer,
    pub(crate) stack: Stack,
    /// Released when the connection ends.
    pub(crate) permit: OwnedSemaphorePermit,
    pub(crate) idle: Duration,
    pub(crate) open: Gauge,
    pub(crate) ended: Counter,
    pub(crate) shutdown: CancellationToken,
}

/// Serves one connection to its end.
pub(crate) async fn serve_connection<S>(
    builder: Arc<Builder<Streams>>,
    socket: S,
    client: ClientConnection,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let ClientConnection {
        peer,
        stack,
        permit: _permit,
        idle,
        open,
        ended,
        shutdown,
    } = client;
    let _open = GaugeGuard::one_of(&open);
    let (activity, space) = (Activity::new(idle), ConnectionSpace::default());
    let io = TokioIo::new(TrackedSocket::new(socket, activity.clone()));
    let answered = activity.clone();
    let service = hyper::service::service_fn(move |request: hyper::Request<Incoming>| {
        let answering = AnswerGuard::begin(&answered);
        let (version, activity) = (request.version(), answered.clone());
        let mut request = request.map(|body| Body::new(RequestBody::new(body, answered.clone())));
        request.extensions_mut().insert(peer);
        request.extensions_mut().insert(space.clone());
        let answer = stack.clone().oneshot(request);
        async move {
            let mut response = answer.await?;
            if version <= http::Version::HTTP_11 && activity.is_draining() {
                connection_close::close(&mut response);
            }
            let reservation = response.extensions_mut().remove::<Arc<Reservation>>();
            Ok::<_, Infallible>(
                response.map(|body| answering.with_body(body, version, reservation)),
            )
        }
    });
    let mut connection = std::pin::pin!(builder.serve_connection(io, service));
    let end = tokio::select! {
        end = connection::run(connection.as_mut(), &activity) => end,
        () = shutdown.cancelled() => {
            activity.drain();
            // hyper ends a quiet HTTP/1 connection at once, and with it a request that is on its
            // way. This one lingers instead, and its next answer says that it is the last.
            if !activity.may_receive_request() {
                connection.as_mut().graceful_shutdown();
            }
            connection::run(connection.as_mut(), &activity).await
        }
    };
    match end {
        Some(Ok(())) => {}
        Some(Err(error)) => tracing::debug!(%error, "connection ended early"),
        None => timed_out(&activity, &ended),
    }
}

/// Records that a connection hit one of its timeouts.
fn timed_out(activity: &Activity, ended: &Counter) {
    if activity.is_unread() {
        ended.inc();
    }
    tracing::debug!("connection closed: timed out");
}
