//! The worker's admin port: `/healthz`, `/readyz`, `/metrics`, for probes and Prometheus.
//!
//! It has no credential: bind it where only the operator's network reaches. A worker is ready if
//! it can read its mounts and is not about to end; Postgres is not asked, since the tools that
//! read repositories need none. Few connections, each with 10 s for the next request's headers and
//! a minute for all of them.

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

/// Connections at most: a few probes and scrapers, and room for those that hang.
const PLACES: usize = 64;
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// How old a connection gets. It ends after the answer it is at, which then has
/// [`HEADER_TIMEOUT`] to be read.
const OLDEST: Duration = Duration::from_secs(60);
/// How long the mounts may take to be read before the worker is not ready.
const MOUNTS_TIMEOUT: Duration = Duration::from_secs(1);
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// What Prometheus' text format is called.
const METRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What the admin port tells of. Clones share everything.
#[derive(Clone)]
pub struct Admin(Arc<Parts>);

struct Parts {
    metrics: Arc<Metrics>,
    folders: Vec<PathBuf>,
    /// One look at the mounts at a time: one that hangs must not take a thread a probe.
    looking: Arc<Semaphore>,
    draining: CancellationToken,
}

impl Admin {
    pub(crate) fn new(metrics: Arc<Metrics>, mounts: &Mounts) -> Self {
        Admin(Arc::new(Parts {
            metrics,
            folders: mounts.folders(),
            looking: Arc::new(Semaphore::new(1)),
            draining: CancellationToken::new(),
        }))
    }

    /// Tells probes that the worker is about to end, while it goes on serving.
    pub fn announce_end(&self) {
        self.0.draining.cancel();
    }

    /// What Prometheus scrapes, for who has a port of its own in the same process.
    ///
    /// # Errors
    /// If a metric can't be written.
    pub fn exposition(&self) -> Result<String, std::fmt::Error> {
        self.0.metrics.text()
    }

    /// Cancelled once the end is announced.
    pub(crate) fn end(&self) -> CancellationToken {
        self.0.draining.clone()
    }

    /// Answers probes on `listener` until it is dropped.
    ///
    /// # Errors
    /// If the listener can't be used in this runtime.
    pub async fn serve(self, listener: std::net::TcpListener) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let router = self.router();
        let places = Arc::new(Semaphore::new(PLACES));
        // The semaphore is never closed: without a place this waits, it does not end.
        while let Ok(place) = Arc::clone(&places).acquire_owned().await {
            match listener.accept().await {
                Ok((socket, _address)) => {
                    tokio::spawn(converse(socket, router.clone(), place));
                }
                Err(error) => {
                    // Out of file descriptors, mostly: some will be free in a moment.
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

    async fn refusal(&self) -> Option<&'static str> {
        if self.0.draining.is_cancelled() {
            return Some("draining\n");
        }
        let looked = timeout(MOUNTS_TIMEOUT, self.read_mounts()).await;
        match looked {
            Ok(true) => None,
            Ok(false) => Some("the repositories can't be read\n"),
            Err(_elapsed) => Some("the repositories' file system does not answer\n"),
        }
    }

    async fn read_mounts(&self) -> bool {
        let Ok(permit) = Arc::clone(&self.0.looking).acquire_owned().await else {
            return false;
        };
        let folders = self.0.folders.clone();
        let looked = tokio::task::spawn_blocking(move || {
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
        match looked.await {
            Ok(Ok(())) => true,
            Ok(Err(error)) => {
                tracing::warn!(%error, "the repositories can't be read");
                false
            }
            Err(_panicked) => false,
        }
    }
}

async fn converse(socket: TcpStream, router: Router, place: OwnedSemaphorePermit) {
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .serve_connection(TokioIo::new(socket), TowerToHyperService::new(router));
    let mut connection = pin!(connection);
    let served = match timeout(OLDEST, connection.as_mut()).await {
        Ok(served) => Ok(served),
        Err(_old) => {
            connection.as_mut().graceful_shutdown();
            timeout(HEADER_TIMEOUT, connection).await
        }
    };
    if !matches!(served, Ok(Ok(()))) {
        tracing::debug!(?served, "admin connection ended early");
    }
    drop(place);
}

async fn ready(State(admin): State<Admin>) -> Response {
    match admin.refusal().await {
        None => "ready\n".into_response(),
        Some(refusal) => (
            StatusCode::SERVICE_UNAVAILABLE,
            [(header::RETRY_AFTER, "2")],
            refusal,
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
    async fn it_is_ready_while_the_mounts_are_there_and_it_is_not_about_to_end() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().join("repos");
        let mounts = Mounts::beneath(root.clone());
        let admin = Admin::new(Arc::new(Metrics::new()), &mounts);
        let missing = admin.refusal().await;
        assert_eq!(missing, Some("the repositories can't be read\n"));
        std::fs::create_dir(&root).unwrap();
        assert_eq!(admin.refusal().await, None);
        admin.announce_end();
        assert_eq!(admin.refusal().await, Some("draining\n"));
    }

    #[tokio::test]
    async fn a_file_system_that_hangs_costs_one_thread_however_often_it_is_probed() {
        let temp = tempfile::tempdir().unwrap();
        let mounts = Mounts::beneath(temp.path().to_owned());
        let admin = Admin::new(Arc::new(Metrics::new()), &mounts);
        let hangs = Arc::clone(&admin.0.looking).acquire_owned().await.unwrap();
        tokio::time::pause();
        let refusal = admin.refusal().await.unwrap();
        assert!(refusal.contains("does not answer"), "{refusal}");
        tokio::time::resume();
        drop(hangs);
        assert_eq!(admin.refusal().await, None);
    }
}
