//! `/console`: pages about the whole installation, for its operator. Read-only, without scripts, and available with
//! `--console` only.
//!
//! With `--console-token-file` they require that token. Without it the admin port requires no credential, and a page whose own DNS name resolves to this port could
//! make a browser read it (DNS rebinding). The console is therefore served only to requests that
//! name this gateway by an IP address or by one of its host names. Every query has a deadline: a page shows what is
//! known by then and says what is not. At most two queries run at a time, so that key lookups keep their connections,
//! and those of the overview run for all readers together, at most every two seconds.

use std::{net::IpAddr, path::PathBuf, sync::Arc, time::Duration};

use archway_proto::{chain::Chain as CauseChain, misleading::escape};
use axum::{
    extract::{Request, State},
    response::{IntoResponse, Response},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderValue, StatusCode, header, request::Parts, uri::Authority};
use maud::{Markup, html};
use tokio::{
    sync::{Mutex, Semaphore},
    time::Instant,
};

use super::Admin;
use crate::{
    metrics::Metrics,
    server::guard::{Guard, GuardConfig},
    store::{
        IndexOverview, LimitsOverview, StoreError, Stores,
        console::{HourCalls, ProcessRow, QuotaRow, SyncOverview},
    },
};
pub use access::ConsoleTokenError;

use access::Access;
use address::{Place, Query};

mod access;
mod address;
mod calls;
mod charts;
mod filter;
mod keys;
mod outcome;
mod overview;
mod page;
mod processes;
mod projects;
mod recent;
mod state;
mod table;
mod tenants;
mod usage;

/// How long Postgres' answers for the overview are reused.
const REUSE: Duration = Duration::from_secs(2);
/// How long a page waits for Postgres. Without an answer it shows the rest.
const QUERY_TIMEOUT: Duration = Duration::from_secs(2);
/// Queries of all pages that run at a time.
const MOST_QUERIES: usize = 2;
/// The style sheet.
const STYLE: &str = include_str!("console/page.css");
/// The query that turns off the refresh.
const NO_REFRESH: &str = "still";
/// The share of its limit by the month from which on a tenant is on the overview.
const NEAR_QUOTA: f64 = 0.8;

/// Configuration of the operator's page.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ConsoleConfig {
    /// Serve read-only pages about the installation at /console on the admin port: calls, tenants, keys, projects. They
    /// name tenants, and whoever reaches that port can read them.
    #[arg(
        long,
        env = "ARCHWAY_CONSOLE",
        value_parser = clap::builder::FalseyValueParser::new()
    )]
    pub console: bool,
    /// File with a token, at least 32 characters on one line, that the pages require: a browser asks for it as a
    /// password (any user name will do), programs send it as a bearer token. Read at the start.
    #[arg(
        long,
        env = "ARCHWAY_CONSOLE_TOKEN_FILE",
        value_name = "FILE",
        requires = "console"
    )]
    pub console_token_file: Option<PathBuf>,
}

/// State of the pages beyond that of the admin port.
pub(crate) struct Console {
    began: Instant,
    hosts: Guard,
    access: Access,
    policy: String,
    queries: Semaphore,
    overview: Mutex<Option<(Instant, Arc<Answers>)>>,
}

/// What Postgres reports for the overview; `None` where it gave no answer.
struct Answers {
    indexes: Option<IndexOverview>,
    limits: Option<LimitsOverview>,
    hours: Option<Vec<HourCalls>>,
    processes: Option<Vec<ProcessRow>>,
    syncs: Option<SyncOverview>,
    quotas: Option<Vec<QuotaRow>>,
}

impl Console {
    /// Pages for requests to these host names, if they are enabled. Starts recording the last calls.
    ///
    /// # Errors
    /// If the token cannot be read, or is too short.
    pub(crate) fn new(
        config: &ConsoleConfig,
        hosts: &GuardConfig,
        metrics: &Metrics,
    ) -> Result<Option<Self>, ConsoleTokenError> {
        if !config.console {
            return Ok(None);
        }
        let access = Access::new(config.console_token_file.as_deref())?;
        metrics.recent_calls().keep();
        let style = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, STYLE.as_bytes());
        let style = STANDARD.encode(style.as_ref());
        Ok(Some(Console {
            began: Instant::now(),
            hosts: Guard::new(hosts),
            access,
            policy: format!(
                "default-src 'none'; style-src 'sha256-{style}'; frame-ancestors 'none'; \
                 base-uri 'none'; form-action 'self'"
            ),
            queries: Semaphore::new(MOST_QUERIES),
            overview: Mutex::default(),
        }))
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

    /// Postgres' answers for the overview, at most two seconds old.
    async fn answers(&self, stores: &Stores) -> Arc<Answers> {
        let mut cached = self.overview.lock().await;
        if let Some((read, answers)) = &*cached
            && read.elapsed() < REUSE
        {
            return answers.clone();
        }
        let (indexes, limits, hours, processes, syncs, quotas) = tokio::join!(
            self.answered(stores.index_overview()),
            self.answered(stores.limits_overview()),
            self.answered(stores.console_hours()),
            self.answered(stores.console_processes()),
            self.answered(stores.console_syncs()),
            self.answered(stores.console_quotas(NEAR_QUOTA)),
        );
        let answers = Arc::new(Answers {
            indexes,
            limits,
            hours,
            processes,
            syncs,
            quotas,
        });
        *cached = Some((Instant::now(), answers.clone()));
        answers
    }

    /// The answer, if its turn comes and it arrives in time.
    async fn answered<T>(&self, query: impl Future<Output = Result<T, StoreError>>) -> Option<T> {
        let answer = async {
            // Never closed.
            let _turn = self.queries.acquire().await.ok()?;
            Some(query.await)
        };
        match tokio::time::timeout(QUERY_TIMEOUT, answer).await {
            Ok(Some(Ok(answer))) => Some(answer),
            Ok(Some(Err(error))) => {
                tracing::warn!(error = %CauseChain(&error), "a query for the operator's page failed");
                None
            }
            Ok(None) => None,
            Err(_elapsed) => {
                tracing::warn!("a query for the operator's page was not answered in time");
                None
            }
        }
    }

    /// The content of a page and its title; `None` if what it is about does not exist.
    async fn content(
        &self,
        admin: &Admin,
        place: &Place,
        query: &Query,
    ) -> Option<(String, Markup)> {
        let stores = &admin.stores;
        let found = match place {
            Place::Overview => {
                let answers = self.answers(stores).await;
                let refresh = html! {
                    p class="pages" {
                        @if query.has(NO_REFRESH) { a href="?" { "refresh every " (page::REFRESH) " s" } }
                        @else { a href={ "?" (NO_REFRESH) } { "stop refreshing" } }
                    }
                };
                let content = overview::content(self, admin, &answers);
                ("Overview".to_owned(), html! { (refresh) (content) })
            }
            Place::Tenants => (
                "Tenants".to_owned(),
                tenants::list(self, stores, query).await,
            ),
            Place::Calls => ("Calls".to_owned(), calls::page(self, stores, query).await),
            Place::Tenant(tenant) => {
                let content = tenants::one(self, stores, tenant, query).await?;
                (format!("Tenant {tenant}"), content)
            }
            Place::Key(tenant, key) => {
                let content = keys::one(self, stores, (tenant, key), query).await?;
                (format!("Key {key} of {tenant}"), content)
            }
            Place::Project(tenant, project) => {
                let content = projects::one(self, stores, (tenant, project), query).await?;
                (format!("Project {project} of {tenant}"), content)
            }
        };
        Some(found)
    }
}

/// Serves a page, 403 for a foreign host name, 401 without the token, or 404.
pub(super) async fn answer(State(admin): State<Arc<Admin>>, request: Request) -> Response {
    let Some(console) = &admin.console else {
        return StatusCode::NOT_FOUND.into_response();
    };
    if !console.is_addressed_here(&request) {
        let why = "this name is not served here: use the address, or a name of --allowed-host\n";
        return (StatusCode::FORBIDDEN, why).into_response();
    }
    if let Some(refusal) = console.access.refusal(request.headers()) {
        return refusal;
    }
    let began = Instant::now();
    let (Parts { uri, .. }, _body) = request.into_parts();
    let query = Query::parse(uri.query());
    let place = Place::parse(uri.path());
    let found = match &place {
        Some(place) => Box::pin(console.content(&admin, place, &query)).await,
        None => None,
    };
    let status = if found.is_some() {
        StatusCode::OK
    } else {
        StatusCode::NOT_FOUND
    };
    let (title, content) = found.unwrap_or_else(|| {
        let nothing = html! { p { "Nothing of this name is here." } };
        ("Not found".to_owned(), nothing)
    });
    let place = place.unwrap_or(Place::Overview);
    let page = page::Page {
        gateway: &admin.name,
        title: &title,
        place: &place,
        refreshes: place == Place::Overview && status == StatusCode::OK && !query.has(NO_REFRESH),
        content,
    };
    // Parts of it were written by callers and workers.
    let html = page.html().into_string();
    let html = escape(&html).0.into_owned();
    let mut response = (status, headers(console), html).into_response();
    let took = format!("page;dur={:.1}", began.elapsed().as_secs_f64() * 1_000.0);
    if let Ok(took) = HeaderValue::try_from(took) {
        response.headers_mut().insert("server-timing", took);
    }
    response
}

fn headers(console: &Console) -> [(http::HeaderName, &str); 5] {
    [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        (header::CONTENT_SECURITY_POLICY, &console.policy),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ]
}
