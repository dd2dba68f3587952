//! `/console`: what `/status` tells, and the last calls, as a page for a person. Read-only, without
//! scripts, and there only with `--console`.
//!
//! The admin port has no credential, and a browser can be made to ask it by a page whose own name
//! leads to it (DNS rebinding): so the page is given to those alone that call this gateway by an
//! address or by one of its names. What Postgres knows is read for all readers together, every two
//! seconds at most.

use std::{net::IpAddr, sync::Arc, time::Duration};

use archway_proto::{chain::Chain as Causes, misleading::escape};
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

/// How old what Postgres said may be.
const FRESH: Duration = Duration::from_secs(2);
/// How long the page waits for Postgres: without it, it tells the rest.
const PATIENCE: Duration = Duration::from_secs(2);
/// What the page looks like.
const STYLE: &str = include_str!("console/page.css");
/// In the query: the page stays as it is.
const STILL: &str = "still";

/// The operator's page, and whether there is one.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct ConsoleConfig {
    /// Show a read-only page of how things stand, with the last calls, at /console on the admin
    /// port. It names tenants, and whoever reaches that port can read it.
    #[arg(
        long,
        env = "ARCHWAY_CONSOLE",
        value_parser = clap::builder::FalseyValueParser::new()
    )]
    pub console: bool,
}

/// What the page needs beside what the admin port has.
pub(crate) struct Console {
    began: Instant,
    names: Guard,
    policy: String,
    overview: Mutex<Option<(Instant, Overview)>>,
}

/// What Postgres knows; nothing where it gave no answer.
#[derive(Clone)]
struct Overview {
    indexes: Option<IndexOverview>,
    limits: Option<LimitsOverview>,
}

impl Console {
    /// The page of a gateway that answers to these names. From now on the last calls are kept for it.
    pub(crate) fn new(names: &GuardConfig, metrics: &Metrics) -> Self {
        metrics.recent_calls().keep();
        let style = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, STYLE.as_bytes());
        let style = STANDARD.encode(style.as_ref());
        Console {
            began: Instant::now(),
            names: Guard::new(names),
            policy: format!(
                "default-src 'none'; style-src 'sha256-{style}'; frame-ancestors 'none'; \
                 base-uri 'none'; form-action 'none'"
            ),
            overview: Mutex::default(),
        }
    }

    /// Whether a request names this gateway by an address, which can't be made to lead elsewhere, or
    /// by one of its names.
    fn is_meant(&self, request: &Request) -> bool {
        let host = request.headers().get(header::HOST);
        let host = host.and_then(|host| host.to_str().ok()?.parse::<Authority>().ok());
        let address = host
            .as_ref()
            .map(|host| host.host().trim_matches(['[', ']']));
        address.is_some_and(|it| it.parse::<IpAddr>().is_ok()) || self.names.is_ours(request)
    }

    /// What Postgres knows, read at most two seconds ago.
    async fn overview(&self, stores: &Stores) -> Overview {
        let mut kept = self.overview.lock().await;
        if let Some((read, overview)) = &*kept
            && read.elapsed() < FRESH
        {
            return overview.clone();
        }
        let (indexes, limits) = tokio::join!(
            answered(stores.index_overview()),
            answered(stores.limits_overview())
        );
        let overview = Overview { indexes, limits };
        *kept = Some((Instant::now(), overview.clone()));
        overview
    }
}

/// What Postgres says, if it does so in time.
async fn answered<T>(asked: impl Future<Output = Result<T, StoreError>>) -> Option<T> {
    match tokio::time::timeout(PATIENCE, asked).await {
        Ok(Ok(answer)) => Some(answer),
        Ok(Err(error)) => {
            tracing::warn!(error = %Causes(&error), "the operator's page lacks a part");
            None
        }
        Err(_elapsed) => None,
    }
}

/// The page, to whom it may be shown.
pub(super) async fn answer(State(admin): State<Arc<Admin>>, request: Request) -> Response {
    let Some(console) = &admin.console else {
        return StatusCode::NOT_FOUND.into_response();
    };
    if !console.is_meant(&request) {
        let why = "this name is not served here: use the address, or a name of --allowed-host\n";
        return (StatusCode::FORBIDDEN, why).into_response();
    }
    let (Parts { uri, .. }, _body) = request.into_parts();
    let overview = console.overview(&admin.stores).await;
    let page = page::Page {
        name: &admin.name,
        up: console.began.elapsed(),
        stays: uri.query() == Some(STILL),
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
    // Callers and workers wrote parts of it.
    let html = page.html().into_string();
    let html = escape(&html).0.into_owned();
    (headers, html).into_response()
}
