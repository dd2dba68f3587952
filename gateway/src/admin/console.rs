//! `/console`: the contents of `/status` and the last calls, as a web page. Read-only, without
//! scripts, and available with `--console` only.
//!
//! The admin port requires no credential, and a page whose own DNS name resolves to this port could
//! make a browser read it (DNS rebinding). The console is therefore served only to requests that
//! name this gateway by an IP address or by one of its host names. Postgres is queried for all
//! readers together, at most every two seconds.

use std::{net::IpAddr, sync::Arc, time::Duration};

use archway_proto::{chain::Chain as CauseChain, misleading::escape};
use axum::{
    extract::{Request, State},
    response::{IntoResponse, Response},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{StatusCode, header, request::Parts, uri::Authority};
use tokio::{sync::Mutex, time::Instant};

use super::Admin;
use crate::{
    metrics::Metrics,
    server::guard::{Guard, GuardConfig},
    store::{IndexOverview, LimitsOverview, StoreError, Stores},
};

mod calls;
mod page;
mod tables;

/// How long Postgres' answer is reused.
const REUSE: Duration = Duration::from_secs(2);
/// How long the page waits for Postgres. Without an answer it shows the rest.
const QUERY_TIMEOUT: Duration = Duration::from_secs(2);
/// The style sheet.
const STYLE: &str = include_str!("console/page.css");
/// The query that turns off the refresh.
const NO_REFRESH: &str = "still";

/// Configuration of the operator's page.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct ConsoleConfig {
    /// Serve a read-only page of the gateway's state and last calls at /console on the admin port.
    /// It names tenants, and whoever reaches that port can read it.
    #[arg(
        long,
        env = "ARCHWAY_CONSOLE",
        value_parser = clap::builder::FalseyValueParser::new()
    )]
    pub console: bool,
}

/// State of the page beyond that of the admin port.
pub(crate) struct Console {
    began: Instant,
    hosts: Guard,
    policy: String,
    overview: Mutex<Option<(Instant, Overview)>>,
}

/// What Postgres reports; `None` where it gave no answer.
#[derive(Clone)]
struct Overview {
    indexes: Option<IndexOverview>,
    limits: Option<LimitsOverview>,
}

impl Console {
    /// A page for requests to these host names. Starts recording the last calls.
    pub(crate) fn new(hosts: &GuardConfig, metrics: &Metrics) -> Self {
        metrics.recent_calls().keep();
        let style = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, STYLE.as_bytes());
        let style = STANDARD.encode(style.as_ref());
        Console {
            began: Instant::now(),
            hosts: Guard::new(hosts),
            policy: format!(
                "default-src 'none'; style-src 'sha256-{style}'; frame-ancestors 'none'; \
                 base-uri 'none'; form-action 'none'"
            ),
            overview: Mutex::default(),
        }
    }

    /// Whether a request names this gateway by an IP address, which DNS cannot rebind, or by one of
    /// its host names.
    fn is_addressed_here(&self, request: &Request) -> bool {
        let host = request.headers().get(header::HOST);
        let host = host.and_then(|host| host.to_str().ok()?.parse::<Authority>().ok());
        let address = host
            .as_ref()
            .map(|host| host.host().trim_matches(['[', ']']));
        address.is_some_and(|it| it.parse::<IpAddr>().is_ok())
            || self.hosts.names_this_gateway(request)
    }

    /// Postgres' answers, at most two seconds old.
    async fn overview(&self, stores: &Stores) -> Overview {
        let mut cached = self.overview.lock().await;
        if let Some((read, overview)) = &*cached
            && read.elapsed() < REUSE
        {
            return overview.clone();
        }
        let (indexes, limits) = tokio::join!(
            answered(stores.index_overview()),
            answered(stores.limits_overview())
        );
        let overview = Overview { indexes, limits };
        *cached = Some((Instant::now(), overview.clone()));
        overview
    }
}

/// The answer, if it arrives in time.
async fn answered<T>(query: impl Future<Output = Result<T, StoreError>>) -> Option<T> {
    match tokio::time::timeout(QUERY_TIMEOUT, query).await {
        Ok(Ok(answer)) => Some(answer),
        Ok(Err(error)) => {
            tracing::warn!(error = %CauseChain(&error), "a query for the operator's page failed");
            None
        }
        Err(_elapsed) => None,
    }
}

/// Serves the page, or 403 for a foreign host name.
pub(super) async fn answer(State(admin): State<Arc<Admin>>, request: Request) -> Response {
    let Some(console) = &admin.console else {
        return StatusCode::NOT_FOUND.into_response();
    };
    if !console.is_addressed_here(&request) {
        let why = "this name is not served here: use the address, or a name of --allowed-host\n";
        return (StatusCode::FORBIDDEN, why).into_response();
    }
    let (Parts { uri, .. }, _body) = request.into_parts();
    let overview = console.overview(&admin.stores).await;
    let page = page::Page {
        name: &admin.name,
        up: console.began.elapsed(),
        is_static: uri.query() == Some(NO_REFRESH),
        overview: &overview,
        admin: &admin,
    };
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        (header::CONTENT_SECURITY_POLICY, &console.policy),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    // Parts of it were written by callers and workers.
    let html = page.html().into_string();
    let html = escape(&html).0.into_owned();
    (headers, html).into_response()
}
