//! The admin port: `/healthz`, `/readyz`, `/metrics`, `/status`, `/usage` and, with `--console`, a page.
//! For probes, Prometheus and operators, not for clients.
//!
//! It requires no credential and, except for the page, checks no `Host`: bind it where only the
//! operator's network can reach it. Only `/status`, `/usage` and the page name tenants. The number of
//! connections is small, and idle ones are closed soon.

use std::{sync::Arc, time::Duration};

use archway_proto::{chain::Chain, misleading::visible_json};
use axum::{
    Router,
    extract::State,
    response::{IntoResponse, Redirect, Response},
    routing::{get, post},
};
use http::{StatusCode, header};
use serde::Serialize;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tower::util::BoxCloneSyncService;

use crate::{
    audit::Audit, breaker::Breaker, catalog::Catalog, limits::Limits, metrics::Metrics,
    server::Port, store::Stores, upstream::Upstream,
};
pub(crate) use busiest::name_busiest;
pub(crate) use console::Console;
pub use console::{ConsoleConfig, ConsoleError, ConsoleTokenError};
pub use registration::AdminAddress;
use status::GatewayStatus;

mod busiest;
mod console;
mod registration;
mod report;
mod status;

/// Tenants that `/usage` lists at most.
const MOST_TENANTS: i32 = 100;
/// Connections at most: a few probes and scrapers, with room for some that hang.
const MOST_CONNECTIONS: u32 = 64;
/// Probes and scrapers open a new connection each time; one that hangs must not hold a connection.
const IDLE: Duration = Duration::from_secs(5);
/// The content type of the exposition format.
const METRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Everything that the admin port reports on.
pub(crate) struct Admin {
    /// This gateway's name.
    pub(crate) name: String,
    pub(crate) audit: Arc<Audit>,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) limits: Arc<Limits>,
    pub(crate) breaker: Arc<Breaker>,
    pub(crate) upstream: Arc<Upstream>,
    pub(crate) stores: Stores,
    pub(crate) metrics: Arc<Metrics>,
    /// How long the gateway stays useful without Postgres.
    pub(crate) grace: Duration,
    /// The operator's page, if it is enabled.
    pub(crate) console: Option<Console>,
    /// Cancelled once the gateway is about to shut down.
    pub(crate) draining: CancellationToken,
}

/// The admin port on `listener`.
pub(crate) fn port(listener: TcpListener, admin: Arc<Admin>) -> Port {
    let open = admin.metrics.admin_connections().clone();
    let ended = admin.metrics.unread().ended.clone();
    let console = admin.console.is_some();
    let mut router = Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .route("/status", get(status))
        .route("/usage", get(usage));
    if console {
        router = router
            .route("/console", get(console::answer))
            .route("/console/", get(async || Redirect::permanent("/console")))
            .route("/console/sign-out", post(console::answer))
            .route("/console/{*page}", get(console::answer));
    }
    Port {
        listener,
        stack: BoxCloneSyncService::new(router.with_state(admin)),
        max_connections: MOST_CONNECTIONS,
        idle: IDLE,
        open,
        ended,
    }
}

impl Admin {
    /// Why load balancers should send no clients here, if so. Ready means: not about to shut down;
    /// a worker was seen (if not by this process then by an earlier one, whose catalog was stored);
    /// ended sessions are known; Postgres answers or did so within the grace; and limits can be
    /// counted where nothing may pass uncounted. Computed from known state: a probe never waits.
    fn refusal(&self) -> Option<&'static str> {
        if self.draining.is_cancelled() {
            Some("draining")
        } else if self.catalog.tools().is_none() {
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
    json(&GatewayStatus::of(&admin))
}

/// The calls of the last 24 hours by tenant, of all gateways; 503 while Postgres does not answer.
async fn usage(State(admin): State<Arc<Admin>>) -> Response {
    match admin.stores.usage_overview(MOST_TENANTS).await {
        Ok(usage) => json(&usage),
        Err(error) => {
            tracing::warn!(error = %Chain(&error), "usage could not be read");
            (
                StatusCode::SERVICE_UNAVAILABLE,
                "Postgres does not answer\n",
            )
                .into_response()
        }
    }
}

fn json(answer: &impl Serialize) -> Response {
    match serde_json::to_string(answer) {
        Ok(text) => {
            let text = visible_json(&text).into_owned();
            ([(header::CONTENT_TYPE, "application/json")], text).into_response()
        }
        Err(error) => {
            tracing::error!(%error, "an answer of the admin port could not be written");
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
