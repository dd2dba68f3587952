//! The listeners, and the stack that every client's request runs through.
//!
//! What a reader would get wrong: this is hyper, not `axum::serve`, because the limits (headers,
//! times, connections) belong to the connection. A connection that is idle or slow holds its
//! place among those of its port (at most 10,000 for clients) and nothing else. The admin port is served
//! by the same code.

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
    unread::{ConnectionRoom, Room},
};
use acceptor::Acceptor;
use answer::AnswerGuard;
use connection::Activity;
use guard::Guard;
use streams::Streams;
use tracked_socket::TrackedSocket;

// A connection, then what a request on it meets.
mod acceptor;
mod connection;
mod tracked_socket;
mod answer;
mod taking;
mod streams;
mod connection_close;
mod cors;
mod well_known;
pub(crate) mod guard;

/// Connections that a gateway takes from clients, at most and by default.
pub const MOST_CLIENTS: u32 = 10_000;
const LARGEST_HEADERS: u32 = 32 * 1024;
/// Clients keep connections for the next call.
pub(crate) const CLIENTS_IDLE: Duration = Duration::from_secs(75);
/// Concurrent requests of one HTTP/2 connection. Each may have a small body read, of 64 KiB.
const MOST_STREAMS: u32 = 32;
/// What a client may send of one request before it is read, in bytes.
const STREAM_WINDOW: u32 = 32 * 1024;
/// The same of all on one connection: those that are not read never keep the others from being.
const CONNECTION_WINDOW: u32 = MOST_STREAMS * STREAM_WINDOW;
/// A little longer than calls have (see `DRAIN_LIMIT`): a drain ends calls, it does not cut
/// them off.
const DRAIN: Duration = Duration::from_secs(27);

/// What the stack needs of each stop.
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
    /// Connections at most; more wait in the listener's queue.
    pub(crate) places: u32,
    /// How long a connection may be without a request.
    pub(crate) idle: Duration,
    /// How many connections are open.
    pub(crate) open: Gauge,
    /// Counts answers that were ended because nobody took them.
    pub(crate) ended: Counter,
}

/// The whole path of a request, as one service.
pub(crate) type Stack = BoxCloneSyncService<Request, Response, Infallible>;

/// Builds the stack. Runs from the top line down; a refusal never reaches the line below.
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
        .layer(from_fn_with_state(guard.clone(), guard::check_names))
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

/// Accepts connections until `shutdown`, then lets the calls in flight end, for at most 27 s.
pub(crate) async fn serve(port: Port, shutdown: CancellationToken) {
    let Port {
        listener,
        stack,
        places: most,
        idle,
        open,
        ended,
    } = port;
    let places = Arc::new(Semaphore::new(most as usize));
    let builder = Arc::new(builder(ended.clone()));
    let mut accepting = Acceptor::new(listener);
    let taking = async {
        loop {
            // The semaphore is never closed: without a place this waits, it does not end.
            let Ok(place) = places.clone().acquire_owned().await else {
                return;
            };
            let (socket, peer) = accepting.next().await;
            let client = ClientConnection {
                peer: Peer(peer),
                stack: stack.clone(),
                place,
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
        () = taking => {}
    }
    drop(accepting);
    if tokio::time::timeout(DRAIN, places.acquire_many(most))
        .await
        .is_err()
    {
        tracing::warn!("connections were still open at the end of the drain");
    }
}

/// HTTP/1 and HTTP/2 with their bounds. Times are kept by `connection`.
/// Answers that nobody takes are counted by `ended`.
pub(crate) fn builder(ended: Counter) -> Builder<Streams> {
    let mut builder = Builder::new(Streams::new(ended));
    // The buffer bounds the headers: what does not fit is answered 431.
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
    /// Given back when the connection ends.
    pub(crate) place: OwnedSemaphorePermit,
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
        place: _place,
        idle,
        open,
        ended,
        shutdown,
    } = client;
    let _open = GaugeGuard::one_of(&open);
    let (activity, room) = (Activity::new(idle), ConnectionRoom::default());
    let io = TokioIo::new(TrackedSocket::new(socket, activity.clone()));
    let answered = activity.clone();
    let service = hyper::service::service_fn(move |request: hyper::Request<Incoming>| {
        let answering = AnswerGuard::begin(&answered);
        let (version, activity) = (request.version(), answered.clone());
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(peer);
        request.extensions_mut().insert(room.clone());
        let answer = stack.clone().oneshot(request);
        async move {
            let mut response = answer.await?;
            if version <= http::Version::HTTP_11 && activity.is_draining() {
                connection_close::close(&mut response);
            }
            let room = response.extensions_mut().remove::<Arc<Room>>();
            Ok::<_, Infallible>(response.map(|body| answering.with_body(body, version, room)))
        }
    });
    let mut connection = std::pin::pin!(builder.serve_connection(io, service));
    let end = tokio::select! {
        end = connection::run(connection.as_mut(), &activity) => end,
        () = shutdown.cancelled() => {
            activity.drain();
            // hyper ends a quiet connection of HTTP/1 at once, and with it the request that is on
            // its way. Ours lingers: its next answer says that it was the last.
            if !activity.may_receive_request() {
                connection.as_mut().graceful_shutdown();
            }
            connection::run(connection.as_mut(), &activity).await
        }
    };
    match end {
        Some(Ok(())) => {}
        Some(Err(error)) => tracing::debug!(%error, "connection ended early"),
        None => closed(&activity, &ended),
    }
}

/// The time of a connection was up.
fn closed(activity: &Activity, ended: &Counter) {
    if activity.is_unread() {
        ended.inc();
    }
    tracing::debug!("connection closed: idle or slow");
}
