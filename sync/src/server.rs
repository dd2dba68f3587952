//! The ports of `archway sync`, and what its admin port answers: `/healthz`, `/readyz`, `/metrics`, and `/status` for
//! `archway status`.
//!
//! The admin port requires no credential: bind it where only the operator's network reaches it. Each port has a
//! bound on its connections. A connection has 10 s for the next request's headers and 60 s in all.

use std::io;
use std::pin::pin;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Duration, timeout};
use tokio_util::sync::CancellationToken;

use crate::metrics::SyncMetrics;
use crate::overview::CaughtUp;
use crate::store::SyncStore;

/// Maximum number of connections: enough for a few probes and scrapers, and some that hang.
const MAX_CONNECTIONS: usize = 64;
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum age of a connection. It then ends after its current answer.
const MAX_CONNECTION_AGE: Duration = Duration::from_secs(60);
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// How long the database may take to answer before the process counts as not ready.
const DATABASE_TIMEOUT: Duration = Duration::from_secs(1);
/// The content type of the exposition format.
const METRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What the admin port shows.
#[derive(Clone)]
pub(crate) struct Admin {
    pub(crate) metrics: Arc<SyncMetrics>,
    pub(crate) store: SyncStore,
    pub(crate) caught_up: CaughtUp,
    /// Cancelled once the process is about to end.
    pub(crate) ending: CancellationToken,
}

impl Admin {
    /// Answers probes until the future is dropped.
    ///
    /// # Errors
    /// If the listener cannot be registered with this runtime.
    pub(crate) async fn serve(self, listener: std::net::TcpListener) -> io::Result<()> {
        let router = Router::new()
            .route("/healthz", get(async || "ok\n"))
            .route("/readyz", get(ready))
            .route("/metrics", get(metrics))
            .route("/status", get(status))
            .with_state(self);
        serve(listener, router, MAX_CONNECTIONS).await
    }
}

/// Serves a port until the future is dropped.
///
/// # Errors
/// If the listener cannot be registered with this runtime.
pub(crate) async fn serve(
    listener: std::net::TcpListener,
    router: Router,
    max_connections: usize,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    let permits = Arc::new(Semaphore::new(max_connections));
    // The semaphore is never closed, so `acquire_owned` cannot fail.
    while let Ok(permit) = Arc::clone(&permits).acquire_owned().await {
        match listener.accept().await {
            Ok((socket, _address)) => {
                tokio::spawn(serve_connection(socket, router.clone(), permit));
            }
            Err(error) => {
                // Usually out of file descriptors: some will be free in a moment.
                tracing::warn!(%error, "connection not accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    Ok(())
}

async fn serve_connection(socket: TcpStream, router: Router, permit: OwnedSemaphorePermit) {
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .serve_connection(TokioIo::new(socket), TowerToHyperService::new(router));
    let mut connection = pin!(connection);
    let served = match timeout(MAX_CONNECTION_AGE, connection.as_mut()).await {
        Ok(served) => Ok(served),
        Err(_old) => {
            connection.as_mut().graceful_shutdown();
            timeout(HEADER_TIMEOUT, connection).await
        }
    };
    if !matches!(served, Ok(Ok(()))) {
        tracing::debug!(?served, "connection ended early");
    }
    drop(permit);
}

async fn ready(State(admin): State<Admin>) -> Response {
    let checked = match admin.ending.is_cancelled() {
        true => Err("draining\n"),
        false => match timeout(DATABASE_TIMEOUT, admin.store.check()).await {
            Ok(Ok(())) if admin.caught_up.is_reached() => Ok(()),
            Ok(Ok(())) => Err("some repositories were not cloned yet\n"),
            Ok(Err(_)) | Err(_) => Err("the database does not answer\n"),
        },
    };
    match checked {
        Ok(()) => "ready\n".into_response(),
        Err(reason) => {
            let retry = [(header::RETRY_AFTER, "2")];
            (StatusCode::SERVICE_UNAVAILABLE, retry, reason).into_response()
        }
    }
}

async fn status(State(admin): State<Admin>) -> Response {
    let status = serde_json::json!({
        "version": env!("CARGO_PKG_VERSION"),
        "running": admin.metrics.running(),
    });
    let json = [(header::CONTENT_TYPE, "application/json")];
    (json, status.to_string()).into_response()
}

async fn metrics(State(admin): State<Admin>) -> Response {
    match admin.metrics.text() {
        Ok(text) => ([(header::CONTENT_TYPE, METRICS_TYPE)], text).into_response(),
        Err(error) => {
            tracing::error!(%error, "metrics could not be written");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
