//! The worker's admin port: `/healthz`, `/readyz`, `/metrics`, for probes and Prometheus.
//!
//! It requires no credential: bind it where only the operator's network reaches it. A worker is
//! ready if it can read its mounts and shutdown was not announced. Postgres is not checked, since
//! tools that read repositories do not need it. Few connections are allowed, each with 10 s for the
//! next request's headers and 60 s in all.

use std::{io, path::PathBuf, pin::pin, sync::Arc, time::Duration};

use archway_repo::Mounts;
use axum::{
    Router,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use crate::metrics::Metrics;

/// Maximum number of connections: enough for a few probes and scrapers, and some that hang.
const MAX_CONNECTIONS: usize = 64;
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum age of a connection. It then ends after its current answer, which has [`HEADER_TIMEOUT`]
/// to be read.
const MAX_CONNECTION_AGE: Duration = Duration::from_secs(60);
/// Maximum time to read the mounts before the worker counts as not ready.
const MOUNTS_TIMEOUT: Duration = Duration::from_secs(1);
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// The content type of the exposition format.
const METRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The state that the admin port serves. Clones share it.
#[derive(Clone)]
pub struct Admin(Arc<AdminState>);

struct AdminState {
    metrics: Arc<Metrics>,
    folders: Vec<PathBuf>,
    /// One check of the mounts at a time: a check that hangs must not take a thread per probe.
    mount_check: Arc<Semaphore>,
    draining: CancellationToken,
}

impl Admin {
    pub(crate) fn new(metrics: Arc<Metrics>, mounts: &Mounts) -> Self {
        Admin(Arc::new(AdminState {
            metrics,
            folders: mounts.folders(),
            mount_check: Arc::new(Semaphore::new(1)),
            draining: CancellationToken::new(),
        }))
    }

    /// Makes probes report that shutdown is near, while the worker continues to serve.
    pub fn announce_end(&self) {
        self.0.draining.cancel();
    }

    /// The exposition that Prometheus scrapes, for a process that has its own admin port.
    ///
    /// # Errors
    /// If a metric can't be encoded.
    pub fn exposition(&self) -> Result<String, std::fmt::Error> {
        self.0.metrics.text()
    }

    /// Cancelled once shutdown is announced.
    pub(crate) fn end(&self) -> CancellationToken {
        self.0.draining.clone()
    }

    /// Answers probes on `listener` until the future is dropped.
    ///
    /// # Errors
    /// If the listener can't be registered with this runtime.
    pub async fn serve(self, listener: std::net::TcpListener) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let router = self.router();
        let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        // The semaphore is never closed, so `acquire_owned` cannot fail.
        while let Ok(permit) = Arc::clone(&permits).acquire_owned().await {
            match listener.accept().await {
                Ok((socket, _address)) => {
                    tokio::spawn(serve_connection(socket, router.clone(), permit));
                }
                Err(error) => {
                    // Usually out of file descriptors: some will be free in a moment.
                    tracing::warn!(%error, "admin connection not accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
        Ok(())
    }

    fn router(self) -> Router {
        Router::new()
            .route("/healthz", get(async || "ok\n"))
            .route("/readyz", get(ready))
            .route("/metrics", get(metrics))
            .with_state(self)
    }

    async fn not_ready_reason(&self) -> Option<&'static str> {
        if self.0.draining.is_cancelled() {
            return Some("draining\n");
        }
        let checked = timeout(MOUNTS_TIMEOUT, self.read_mounts()).await;
        match checked {
            Ok(true) => None,
            Ok(false) => Some("the repositories can't be read\n"),
            Err(_elapsed) => Some("the repositories' file system does not answer\n"),
        }
    }

    async fn read_mounts(&self) -> bool {
        let Ok(permit) = Arc::clone(&self.0.mount_check).acquire_owned().await else {
            return false;
        };
        let folders = self.0.folders.clone();
        let checked = tokio::task::spawn_blocking(move || {
            let readable = |folder: &PathBuf| {
                let mut entries = std::fs::read_dir(folder)?;
                entries.next().transpose()
            };
            let read = folders.iter().try_for_each(|folder| {
                let first = readable(folder);
                first.map(|_entry| ())
            });
            drop(permit);
            read
        });
        match checked.await {
            Ok(Ok(())) => true,
            Ok(Err(error)) => {
                tracing::warn!(%error, "the repositories can't be read");
                false
            }
            Err(_panicked) => false,
        }
    }
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
        tracing::debug!(?served, "admin connection ended early");
    }
    drop(permit);
}

async fn ready(State(admin): State<Admin>) -> Response {
    match admin.not_ready_reason().await {
        None => "ready\n".into_response(),
        Some(not_ready_reason) => (
            StatusCode::SERVICE_UNAVAILABLE,
            [(header::RETRY_AFTER, "2")],
            not_ready_reason,
        )
            .into_response(),
    }
}

async fn metrics(State(admin): State<Admin>) -> Response {
    match admin.exposition() {
        Ok(text) => ([(header::CONTENT_TYPE, METRICS_TYPE)], text).into_response(),
        Err(error) => {
            tracing::error!(%error, "metrics could not be written");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn ready_while_the_mounts_are_readable_and_shutdown_is_not_announced() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().join("repos");
        let mounts = Mounts::beneath(root.clone());
        let admin = Admin::new(Arc::new(Metrics::new()), &mounts);
        let missing = admin.not_ready_reason().await;
        assert_eq!(missing, Some("the repositories can't be read\n"));
        std::fs::create_dir(&root).unwrap();
        assert_eq!(admin.not_ready_reason().await, None);
        admin.announce_end();
        assert_eq!(admin.not_ready_reason().await, Some("draining\n"));
    }

    #[tokio::test]
    async fn probes_of_a_file_system_that_hangs_take_only_one_thread() {
        let temp = tempfile::tempdir().unwrap();
        let mounts = Mounts::beneath(temp.path().to_owned());
        let admin = Admin::new(Arc::new(Metrics::new()), &mounts);
        let hangs = Arc::clone(&admin.0.mount_check)
            .acquire_owned()
            .await
            .unwrap();
        tokio::time::pause();
        let not_ready_reason = admin.not_ready_reason().await.unwrap();
        assert!(
            not_ready_reason.contains("does not answer"),
            "{not_ready_reason}"
        );
        tokio::time::resume();
        drop(hangs);
        assert_eq!(admin.not_ready_reason().await, None);
    }
}
