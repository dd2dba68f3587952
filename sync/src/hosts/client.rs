//! Lists the repositories of a connection: the walk through a host's pages.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::{Certificate, Client, ClientBuilder, Method, Proxy, redirect::Policy};
use secrecy::SecretString;
use tokio::time::timeout;

use super::{
    connection::{Connection, Source},
    dialect::HostAddress,
    error::ListingError,
    filter::Exclusion,
    gather::{self, FoundRepositories, Gathering, Listing, ListingMark},
    repository::HostedRepository,
    wire::{self, Answer, Page, Question, SILENCE},
};
use crate::remote::RemoteUrl;

/// For one whole listing.
const DEADLINE: Duration = Duration::from_secs(120);
const CONNECT: Duration = Duration::from_secs(10);
/// The largest file of authorities, in bytes.
const LARGEST_AUTHORITIES: u64 = 4 << 20;
/// Enough for 100,000 repositories at 20 a page.
const MOST_PAGES: usize = 5000;

/// Why no client could be made for a connection.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// `ca_file` can't be read.
    #[error("`ca_file` {} can't be read", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// `ca_file` has no certificates.
    #[error("`ca_file` {} has no certificates in PEM, or is larger than 4 MiB", .0.display())]
    Authorities(PathBuf),
    /// There is no TLS client.
    #[error("no TLS client: install the system's CA certificates, or name some by `ca_file`")]
    Tls(#[source] reqwest::Error),
}

/// Lists the repositories of one connection.
///
/// It keeps connections to the host open, so it is made once for a connection.
pub struct HostClient {
    pub(super) connection: Connection,
    pub(super) http: Client,
    pub(super) deadline: Duration,
}

impl HostClient {
    /// A client for a connection. Reads `ca_file`.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn new(connection: Connection) -> Result<HostClient, ClientError> {
        let is_encrypted = match &connection.source {
            Source::Host(address) => address.is_encrypted(),
            Source::Urls(_) => false,
        };
        let builder = match is_encrypted {
            true => client_builder()
                .https_only(true)
                .tls_certs_merge(authorities(connection.ca_file.as_deref())?),
            false => client_builder().tls_certs_only([]),
        };
        let builder = match &connection.https_proxy {
            Some(proxy) => builder.proxy(Proxy::https(proxy.clone()).map_err(ClientError::Tls)?),
            None => builder,
        };
        Ok(HostClient {
            http: builder.build().map_err(ClientError::Tls)?,
            connection,
            deadline: DEADLINE,
        })
    }

    /// With another deadline for a whole listing than 120 s.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> HostClient {
        self.deadline = deadline;
        self
    }

    /// The checked connection.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Lists the repositories: all of them, or with `since` what was pushed after that listing.
    ///
    /// A listing since a mark does not see what was renamed, archived or deleted: list without a mark
    /// every few minutes. Where a host cannot sort (`HostKind::is_sorted`), the answer is whole, unless
    /// there is one page and it is unchanged. `token` is the token alone, without a user. A list of URLs asks
    /// nobody.
    ///
    /// # Errors
    /// [`ListingError`]. Nothing is listed in part.
    pub async fn list(
        &self,
        token: Option<&SecretString>,
        since: Option<&ListingMark>,
    ) -> Result<Listing, ListingError> {
        match &self.connection.source {
            Source::Urls(urls) => self.listed_urls(urls),
            Source::Host(address) => {
                let listing = Box::pin(self.listed_host(address, token, since));
                let limit = self.deadline;
                let in_time = timeout(limit, listing).await;
                in_time.unwrap_or(Err(ListingError::TimedOut { limit }))
            }
        }
    }

    async fn listed_host(
        &self,
        address: &HostAddress,
        token: Option<&SecretString>,
        since: Option<&ListingMark>,
    ) -> Result<Listing, ListingError> {
        let Some((route, first)) = self.first_page(address, token, since).await? else {
            return Ok(Listing::Unchanged);
        };
        let newer_than = since.filter(|mark| mark.route == route && address.kind.is_sorted());
        // Where nothing is sorted, the first page speaks for others only if there are none.
        let speaks_for_all = address.kind.is_sorted() || first.next.is_none();
        let mark = (route, first.etag.filter(|_| speaks_for_all));
        let mut gathering = Gathering::new(&self.connection, address, newer_than, mark);
        let mut has_news = gathering.add(&first.body)?;
        let (mut next, mut read) = (first.next, HashSet::new());
        while let Some(url) = next.take().filter(|_| has_news || newer_than.is_none()) {
            if !read.insert(url.to_string()) || read.len() >= MOST_PAGES {
                return Err(ListingError::invalid(
                    "its pages link in a circle, or are more than 5,000",
                ));
            }
            let question = Question {
                method: Method::GET,
                url,
                token,
                etag: None,
                budget: None,
            };
            match wire::ask(&self.http, address.kind, question).await? {
                Answer::Page(page) => {
                    has_news = gathering.add(&page.body)?;
                    next = page.next;
                }
                Answer::NotModified(_) | Answer::Missing => {
                    return Err(ListingError::invalid("a page that it links to is missing"));
                }
            }
        }
        gathering.finish()
    }

    /// The first page and its URL; `None` if it is as it was at the mark.
    async fn first_page(
        &self,
        address: &HostAddress,
        token: Option<&SecretString>,
        since: Option<&ListingMark>,
    ) -> Result<Option<(String, Page)>, ListingError> {
        let mut routes = address.routes();
        let is_marked = |route: &str| since.is_some_and(|mark| mark.route == route);
        // The one that answered last is tried first.
        routes.sort_by_key(|route| !is_marked(route.as_str()));
        for url in routes {
            let route = url.as_str().to_owned();
            let mark = since.filter(|_| is_marked(&route));
            let question = Question {
                method: Method::GET,
                url,
                token,
                etag: mark.and_then(|mark| mark.etag.as_deref()),
                budget: None,
            };
            match wire::ask(&self.http, address.kind, question).await? {
                Answer::Page(page) => return Ok(Some((route, page))),
                Answer::NotModified(_) => return Ok(None),
                Answer::Missing => {}
            }
        }
        Err(ListingError::NotFound {
            what: "organisation, group or user of that name",
        })
    }

    fn listed_urls(&self, urls: &[RemoteUrl]) -> Result<Listing, ListingError> {
        let mut found = FoundRepositories::default();
        for url in urls {
            let repository = HostedRepository::of_url(url);
            match self.connection.filter.takes_name(&repository.path) {
                true => found.repositories.push(repository),
                false => _ = found.excluded.insert(repository.host_id, Exclusion::Name),
            }
        }
        found.repositories.sort_by(|a, b| a.path.cmp(&b.path));
        gather::check_max(&self.connection, found.repositories.len())?;
        Ok(Listing::Whole(found))
    }
}

/// A client that follows no redirect, and to which nothing of the environment passes.
pub(crate) fn client_builder() -> ClientBuilder {
    Client::builder()
        .user_agent(concat!("archway/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT)
        .read_timeout(SILENCE)
        .redirect(Policy::none())
        .no_proxy()
}

/// The certificates of a file.
pub(crate) fn authorities(file: Option<&Path>) -> Result<Vec<Certificate>, ClientError> {
    let Some(path) = file else {
        return Ok(Vec::new());
    };
    let none = || ClientError::Authorities(path.to_owned());
    let failed = |source| ClientError::File {
        path: path.to_owned(),
        source,
    };
    let mut pem = Vec::new();
    let file = File::open(path).map_err(failed)?;
    let read = file.take(LARGEST_AUTHORITIES + 1).read_to_end(&mut pem);
    if read.map_err(failed)? as u64 > LARGEST_AUTHORITIES {
        return Err(none());
    }
    let certificates = Certificate::from_pem_bundle(&pem).ok();
    let certificates = certificates.filter(|certificates| !certificates.is_empty());
    certificates.ok_or_else(none)
}
