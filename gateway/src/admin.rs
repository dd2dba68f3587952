//! The admin port: `/healthz`, `/readyz`, `/metrics`. For probes and Prometheus, not for clients.
//!
//! It has no credential and no `Host` check: bind it where only the operator's network reaches.
//! Its connections have few places, and are closed soon after their last request.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    extract::State,
    response::{IntoResponse, Response},
    routing::get,
};
use http::{StatusCode, header};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tower::util::BoxCloneSyncService;

use crate::{catalog::Catalog, limits::Limits, metrics::Metrics, server::Port, store::Stores};

/// Connections at most: a few probes and scrapers, and room for those that hang.
const PLACES: u32 = 64;
/// Probes and scrapers come back on a new connection; those that hang must not hold a place.
const IDLE: Duration = Duration::from_secs(5);
/// What Prometheus' text format is called.
const METRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What the admin port tells of.
pub(crate) struct Admin {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) limits: Arc<Limits>,
    pub(crate) stores: Stores,
    pub(crate) metrics: Arc<Metrics>,
    /// How long the gateway is of use without Postgres.
    pub(crate) grace: Duration,
    /// Cancelled once the gateway is about to end.
    pub(crate) draining: CancellationToken,
}

/// The admin port behind `listener`.
pub(crate) fn port(listener: TcpListener, admin: Arc<Admin>) -> Port {
    let open = admin.metrics.admin_connections().clone();
    let router = Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .with_state(admin);
    Port {
        listener,
        stack: BoxCloneSyncService::new(router),
        places: PLACES,
        idle: IDLE,
        open,
    }
}

/// Ready: not about to end, a worker was seen, ended sessions are known, Postgres answers or did so
/// within the grace, and limits can be counted where nothing may pass uncounted. Answered from what is known: a probe waits for nobody.
async fn ready(State(admin): State<Arc<Admin>>) -> Response {
    let refusal = if admin.draining.is_cancelled() {
        "draining"
    } else if admin.catalog.snapshot().is_none() {
        "no worker was seen yet"
    } else if let Some(refusal) = admin.stores.health().refusal(admin.grace) {
        refusal
    } else if let Some(refusal) = admin.limits.refusal() {
        refusal
    } else {
        return "ready\n".into_response();
    };
    (
        StatusCode::SERVICE_UNAVAILABLE,
        [(header::RETRY_AFTER, "2")],
        format!("{refusal}\n"),
    )
        .into_response()
}

async fn metrics(State(admin): State<Arc<Admin>>) -> Response {
    match admin.metrics.text() {
        Ok(text) => ([(header::CONTENT_TYPE, METRICS_TYPE)], text).into_response(),
        Err(error) => {
            tracing::error!(%error, "metrics could not be written");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
