//! `/console`: pages about the whole installation, for its operator. Read-only, and available with `--console` only.
//!
//! With `--console-token-file` or `--console-oidc` they require that token or somebody whom the provider lets in. Without
//! either the admin port requires no credential, and a page whose own DNS name resolves to this port could make a browser
//! read it (DNS rebinding). The console is therefore served only to requests that name this gateway by an IP address, by
//! one of its host names, or by the page's own. Every query has a deadline: a page shows what is known by then and says
//! what is not. At most two queries run at a time, so that key lookups keep their connections, and those of the overview
//! run for all readers together, at most every two seconds.

use std::{net::IpAddr, sync::Arc};

use archway_proto::misleading::escape;
use axum::{
    extract::{Request, State},
    response::{IntoResponse, Response},
};
use http::{HeaderValue, StatusCode, header, request::Parts, uri::Authority};
use maud::{Markup, html};
use tokio::{
    sync::{Mutex, Semaphore},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::Admin;
use crate::{
    metrics::Metrics,
    secrets::RootSecret,
    server::guard::{Guard, GuardConfig},
};
pub use access::ConsoleTokenError;
pub use config::{ConsoleConfig, ConsoleError};

use access::{Access, Visitor};
use address::{Place, Query};
use answers::{Answers, MOST_QUERIES};
use live::Feeds;

mod access;
mod address;
mod answers;
mod calls;
mod charts;
mod config;
mod cookies;
mod sign_in_page;
mod filter;
mod keys;
mod live;
mod outcome;
mod overview;
mod page;
mod processes;
mod projects;
mod recent;
mod sign_in;
mod state;
mod table;
mod tenants;
mod usage;

/// The query that turns off the refresh.
const NO_REFRESH: &str = "still";

/// State of the pages beyond that of the admin port.
pub(crate) struct Console {
    began: Instant,
    hosts: Guard,
    access: Access,
    queries: Semaphore,
    overview: Mutex<Option<(Instant, Arc<Answers>)>>,
    feeds: Feeds,
}

/// What a page is about.
struct Content {
    title: String,
    /// What stands above the rest and stays as it is.
    lead: Markup,
    /// What may change by itself.
    live: Markup,
}

impl Console {
    /// Pages for requests to the gateway's host names, if they are enabled. Starts recording the last calls.
    ///
    /// # Errors
    /// [`ConsoleError`].
    pub(crate) fn new(
        config: &ConsoleConfig,
        hosts: &GuardConfig,
        secret: Arc<RootSecret>,
        metrics: &Arc<Metrics>,
    ) -> Result<Option<Self>, ConsoleError> {
        if !config.console {
            return Ok(None);
        }
        let access = Access::new(config, secret, metrics)?;
        metrics.recent_calls().keep();
        Ok(Some(Console {
            began: Instant::now(),
            hosts: Guard::new(hosts),
            access,
            queries: Semaphore::new(MOST_QUERIES),
            overview: Mutex::default(),
            feeds: Feeds::default(),
        }))
    }

    /// Refreshes the keys of the pages' provider, if they have one, until `shutdown`.
    pub(crate) async fn run(console: Option<&Self>, shutdown: &CancellationToken) {
        let Some(console) = console else {
            return;
        };
        tokio::select! {
            () = shutdown.cancelled() => {}
            () = console.access.run() => {}
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
        address.is_some_and(|it| it.parse::<IpAddr>().is_ok() || self.access.is_at(it))
            || self.hosts.names_this_gateway(request)
    }

    /// The content of a page; `None` if what it is about does not exist.
    async fn content(&self, admin: &Admin, place: &Place, query: &Query) -> Option<Content> {
        let stores = &admin.stores;
        let nothing = html! {};
        let (title, lead, live) = match place {
            Place::Overview => {
                let answers = self.answers(stores).await;
                let live = overview::content(self, admin, &answers);
                ("Overview".to_owned(), nothing, live)
            }
            Place::Tenants => {
                let list = tenants::list(self, stores, query).await;
                ("Tenants".to_owned(), nothing, list)
            }
            Place::Calls => {
                let list = calls::page(self, stores, query).await;
                ("Calls".to_owned(), filter::form(query), list)
            }
            Place::Tenant(tenant) => {
                let content = tenants::one(self, stores, tenant, query).await?;
                (format!("Tenant {tenant}"), nothing, content)
            }
            Place::Key(tenant, key) => {
                let content = keys::one(self, stores, (tenant, key), query).await?;
                (format!("Key {key} of {tenant}"), nothing, content)
            }
            Place::Project(tenant, project) => {
                let content = projects::one(self, stores, (tenant, project), query).await?;
                (format!("Project {project} of {tenant}"), nothing, content)
            }
        };
        Some(Content { title, lead, live })
    }
}

/// Serves a page, 403 for a foreign host name, 401 to somebody who is not let in, or 404.
pub(super) async fn answer(State(admin): State<Arc<Admin>>, request: Request) -> Response {
    let Some(console) = &admin.console else {
        return StatusCode::NOT_FOUND.into_response();
    };
    if !console.is_addressed_here(&request) {
        let why = "this name is not served here: use the address, or a name of --allowed-host\n";
        return (StatusCode::FORBIDDEN, why).into_response();
    }
    let (request, _body) = request.into_parts();
    if let Some(answer) = console.access.own(&request).await {
        return answer;
    }
    let began = Instant::now();
    let visitor = match console.access.visitor(&request) {
        Ok(visitor) => visitor,
        Err(refusal) => return *refusal,
    };
    let asked = (request.uri.path(), request.uri.query());
    if let Some(answer) = live::answer(&admin, &console.feeds, asked, visitor.ends()) {
        return answer;
    }
    let mut response = Box::pin(shown(console, &admin, &request, &visitor)).await;
    let took = format!("page;dur={:.1}", began.elapsed().as_secs_f64() * 1_000.0);
    if let Ok(took) = HeaderValue::try_from(took) {
        response.headers_mut().insert("server-timing", took);
    }
    response
}

/// The page that a visitor asks for.
async fn shown(console: &Console, admin: &Admin, request: &Parts, visitor: &Visitor) -> Response {
    let uri = &request.uri;
    let query = Query::parse(uri.query());
    let place = Place::parse(uri.path());
    let found = match &place {
        Some(place) => console.content(admin, place, &query).await,
        None => None,
    };
    let status = if found.is_some() {
        StatusCode::OK
    } else {
        StatusCode::NOT_FOUND
    };
    let stream = place.as_ref().filter(|_| found.is_some());
    let stream = stream.and_then(|place| live::stream_of(place, &query));
    let content = found.unwrap_or_else(|| Content {
        title: "Not found".to_owned(),
        lead: html! {},
        live: html! { p { "Nothing of this name is here." } },
    });
    let page = page::Page {
        gateway: &admin.name,
        visitor: visitor.name(),
        place: place.as_ref(),
        is_still: query.has(NO_REFRESH),
        stream,
        content,
    };
    // Parts of it were written by callers and workers.
    let html = page.html().into_string();
    let html = escape(&html).0.into_owned();
    (status, page::headers(), html).into_response()
}
