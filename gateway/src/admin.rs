//! The admin port: `/healthz`, `/readyz`, `/metrics`, `/status`, and with `--console` a page. For
//! probes, Prometheus and the operator, not for clients.
//!
//! It has no credential, and but for the page no `Host` check: bind it where only the operator's
//! network reaches. `/status` and the page name tenants; nothing else here does. Its connections have few places, and are closed
//! soon after their last request.

use std::{sync::Arc, time::Duration};

use archway_proto::misleading::visible_json;
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

use crate::{
    audit::Audit, breaker::Breaker, catalog::Catalog, limits::Limits, metrics::Metrics,
    server::Port, store::Stores, upstream::Upstream,
};
pub(crate) use console::Console;
pub use console::ConsoleConfig;
pub use place::AdminPlace;
use status::GatewayStatus;

mod console;
mod place;
mod status;

/// Connections at most: a few probes and scrapers, and room for those that hang.
const PLACES: u32 = 64;
/// Probes and scrapers come back on a new connection; those that hang must not hold a place.
const IDLE: Duration = Duration::from_secs(5);
/// What Prometheus' text format is called.
const METRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What the admin port tells of.
pub(crate) struct Admin {
    /// What this gateway is called.
    pub(crate) name: String,
    pub(crate) audit: Arc<Audit>,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) limits: Arc<Limits>,
    pub(crate) breaker: Arc<Breaker>,
    pub(crate) upstream: Arc<Upstream>,
    pub(crate) stores: Stores,
    pub(crate) metrics: Arc<Metrics>,
    /// How long the gateway is of use without Postgres.
    pub(crate) grace: Duration,
    /// The operator's page, if there is to be one.
    pub(crate) console: Option<Console>,
    /// Cancelled once the gateway is about to end.
    pub(crate) draining: CancellationToken,
}

/// The admin port behind `listener`.
pub(crate) fn port(listener: TcpListener, admin: Arc<Admin>) -> Port {
    let open = admin.metrics.admin_connections().clone();
    let ended = admin.metrics.unread().ended.clone();
    let console = admin.console.is_some();
    let mut router = Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .route("/status", get(status));
    if console {
        router = router.route("/console", get(console::answer));
    }
    Port {
        listener,
        stack: BoxCloneSyncService::new(router.with_state(admin)),
        places: PLACES,
        idle: IDLE,
        open,
        ended,
    }
}

impl Admin {
    /// Why clients should not be sent here, if they should not. Ready is: not about to end, a worker
    /// was seen (if not now then before, by a gateway that kept its tools), ended sessions are known,
    /// Postgres answers or did so within the grace, and limits can be counted where nothing may pass
    /// uncounted. Answered from what is known: a probe waits for nobody.
    fn refusal(&self) -> Option<&'static str> {
        if self.draining.is_cancelled() {
            Some("draining")
        } else if self.catalog.snapshot().is_none() {
            Some("no worker was seen yet")
        } else if let Some(refusal) = self.stores.health().refusal(self.grace) {
            Some(refusal)
        } else {
            self.limits.refusal()
        }
    }
}

async fn ready(State(admin): State<Arc<Admin>>) -> Response {
    let Some(refusal) = admin.refusal() else {
        return "ready\n".into_response();
    };
    (
        StatusCode::SERVICE_UNAVAILABLE,
        [(header::RETRY_AFTER, "2")],
        format!("{refusal}\n"),
    )
        .into_response()
}

/// Always 200: a gateway that is not ready has a status, too.
async fn status(State(admin): State<Arc<Admin>>) -> Response {
    match serde_json::to_string(&GatewayStatus::of(&admin)) {
        Ok(text) => {
            let text = visible_json(&text).into_owned();
            ([(header::CONTENT_TYPE, "application/json")], text).into_response()
        }
        Err(error) => {
            tracing::error!(%error, "the status could not be written");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

async fn metrics(State(admin): State<Arc<Admin>>) -> Response {
    admin.breaker.observe();
    admin.audit.observe();
    admin.metrics.ready(admin.refusal().is_none());
    match admin.metrics.text() {
        Ok(text) => ([(header::CONTENT_TYPE, METRICS_TYPE)], text).into_response(),
        Err(error) => {
            tracing::error!(%error, "metrics could not be written");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
