//! The first checks: is the request addressed to this gateway, and is its declared size allowed?
//!
//! A web page can make its browser post to a server on the user's own network (DNS rebinding), but
//! it cannot choose `Host` and `Origin`. So both are compared with lists before anything else. A
//! request without `Origin` does not come from a browser.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::Response,
};
use http::{
    HeaderMap, HeaderValue, Method,
    header::{CONTENT_LENGTH, HOST, ORIGIN},
    uri::Authority,
};

use crate::{error::GatewayError, mcp::LARGEST_BODY};

/// The only path that serves MCP.
pub(super) const ENDPOINT: &str = "/mcp";
/// Maximum number of header lines. hyper enforces it for HTTP/1 only.
const MOST_HEADERS: usize = 100;

/// The host names and origins that the gateway accepts.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct GuardConfig {
    /// Names the gateway answers to, comma-separated: `host` for any port, or `host:port`.
    /// Without any: the loopback names only.
    #[arg(
        long = "allowed-host",
        env = "ARCHWAY_ALLOWED_HOSTS",
        value_name = "HOST",
        value_delimiter = ',',
        value_parser = host
    )]
    pub allowed_hosts: Vec<String>,
    /// Origins of browser pages that may call, comma-separated: `https://host` or
    /// `http://host:port`. Without any: none.
    #[arg(
        long = "allowed-origin",
        env = "ARCHWAY_ALLOWED_ORIGINS",
        value_name = "ORIGIN",
        value_delimiter = ',',
        value_parser = origin
    )]
    pub allowed_origins: Vec<String>,
}

/// Checks a host name as requests carry it: no scheme, no path.
fn host(text: &str) -> Result<String, String> {
    let name = text.parse::<Authority>().ok();
    let name = name.filter(|name| !name.host().is_empty() && !text.contains('@'));
    name.map(|_name| text.to_owned())
        .ok_or_else(|| "expected host or host:port".to_owned())
}

/// Checks an origin as browsers send it: scheme and host, no path (RFC 6454, 6.2).
fn origin(text: &str) -> Result<String, String> {
    let parts = text.split_once("://");
    let fits = parts.is_some_and(|(scheme, name)| !scheme.is_empty() && host(name).is_ok());
    fits.then(|| text.to_owned())
        .ok_or_else(|| "expected scheme://host or scheme://host:port, without a path".to_owned())
}

/// The lists, normalised for comparison.
pub(crate) struct Guard {
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl Guard {
    pub(crate) fn new(config: &GuardConfig) -> Self {
        let lower = |texts: &[String]| texts.iter().map(|text| text.to_lowercase()).collect();
        let mut hosts: Vec<String> = lower(&config.allowed_hosts);
        if hosts.is_empty() {
            hosts = ["localhost", "127.0.0.1", "[::1]"]
                .map(str::to_owned)
                .into();
        }
        Guard {
            hosts,
            origins: lower(&config.allowed_origins),
        }
    }

    /// Every host name in the request must be listed: HTTP/1 has `Host`, HTTP/2 `:authority`, and
    /// an absolute request line both.
    fn check_host(&self, request: &Request) -> Result<(), GatewayError> {
        let mut names = 0;
        for host in request.headers().get_all(HOST) {
            names += 1;
            let authority = host.to_str().ok().and_then(|host| host.parse().ok());
            let listed = authority.is_some_and(|authority| self.serves(&authority));
            listed.then_some(()).ok_or(GatewayError::HostRefused)?;
        }
        if let Some(authority) = request.uri().authority() {
            names += 1;
            self.serves(authority)
                .then_some(())
                .ok_or(GatewayError::HostRefused)?;
        }
        if names == 0 {
            Err(GatewayError::HostRefused)
        } else {
            Ok(())
        }
    }

    /// Whether every host name in the request is listed.
    pub(crate) fn names_this_gateway(&self, request: &Request) -> bool {
        self.check_host(request).is_ok()
    }

    fn serves(&self, authority: &Authority) -> bool {
        let host = authority.host().to_lowercase();
        let host = host.strip_suffix('.').unwrap_or(&host);
        let with_port = authority.port_u16().map(|port| format!("{host}:{port}"));
        let matches = |known: &String| known == host || Some(known) == with_port.as_ref();
        !authority.as_str().contains('@') && self.hosts.iter().any(matches)
    }

    fn check_origin(&self, headers: &HeaderMap) -> Result<(), GatewayError> {
        let listed = headers
            .get_all(ORIGIN)
            .iter()
            .all(|origin| self.lists(origin));
        listed.then_some(()).ok_or(GatewayError::OriginRefused)
    }

    /// Whether pages of this origin may call.
    pub(super) fn lists(&self, origin: &HeaderValue) -> bool {
        let origin = origin.to_str().unwrap_or_default().to_lowercase();
        self.origins.contains(&origin)
    }
}

/// Refuses unlisted host names and origins.
pub(crate) async fn check_host_and_origin(
    State(guard): State<Arc<Guard>>,
    request: Request,
    next: Next,
) -> Result<Response, GatewayError> {
    guard.check_host(&request)?;
    guard.check_origin(request.headers())?;
    Ok(next.run(request).await)
}

/// Admits `POST /mcp`, and the `DELETE` that ends a session.
pub(crate) async fn route(request: Request, next: Next) -> Result<Response, GatewayError> {
    if request.uri().path() != ENDPOINT {
        return Err(GatewayError::NotFound);
    }
    if !matches!(*request.method(), Method::POST | Method::DELETE) {
        return Err(GatewayError::MethodNotAllowed);
    }
    Ok(next.run(request).await)
}

/// Refuses requests whose declared size is too large, before their credential is checked.
pub(crate) async fn check_size(request: Request, next: Next) -> Result<Response, GatewayError> {
    if request.headers().len() > MOST_HEADERS {
        return Err(GatewayError::TooManyHeaders);
    }
    let declared = request
        .headers()
        .get(CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok());
    let declared = declared.and_then(|length| length.parse::<u64>().ok());
    if declared.is_some_and(|length| length > LARGEST_BODY as u64) {
        return Err(GatewayError::BodyTooLarge);
    }
    Ok(next.run(request).await)
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    fn guard(hosts: &[&str]) -> Guard {
        let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        Guard::new(&GuardConfig {
            allowed_hosts: texts(hosts),
            allowed_origins: texts(&["http://localhost:6274"]),
        })
    }

    fn host_passes(guard: &Guard, uri: &str, hosts: &[&str]) -> bool {
        let mut request = Request::builder().uri(uri);
        for host in hosts {
            request = request.header(HOST, *host);
        }
        guard
            .check_host(&request.body(Body::empty()).unwrap())
            .is_ok()
    }

    #[test]
    fn only_host_names_and_origins_can_be_listed() {
        for good in ["a", "a.example:8443", "[::1]", "127.0.0.1"] {
            assert!(host(good).is_ok() && origin(&format!("https://{good}")).is_ok());
        }
        for bad in ["", "http://a/", "a/b", "me@a", "a b"] {
            assert!(host(bad).is_err(), "{bad}");
        }
        for bad in ["a", "https://", "https://a/", "://a"] {
            assert!(origin(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn without_a_list_only_loopback_names_are_served() {
        let guard = guard(&[]);
        for good in [
            "localhost",
            "localhost:7676",
            "LOCALHOST",
            "127.0.0.1:1",
            "[::1]:80",
            "[::1]",
        ] {
            assert!(host_passes(&guard, "/mcp", &[good]), "{good}");
        }
        for bad in [
            "example.com",
            "localhost.example.com",
            "127.0.0.2",
            "a@localhost",
            "",
            "a b",
        ] {
            assert!(!host_passes(&guard, "/mcp", &[bad]), "{bad}");
        }
        assert!(!host_passes(&guard, "/mcp", &[]));
        assert!(!host_passes(&guard, "/mcp", &["localhost", "example.com"]));
        assert!(!host_passes(
            &guard,
            "http://example.com/mcp",
            &["localhost"]
        ));
        assert!(host_passes(&guard, "http://localhost/mcp", &[]));
    }

    #[test]
    fn a_listed_name_may_fix_its_port() {
        let guard = guard(&["Mcp.example.com", "other.example.com:8443"]);
        for good in [
            "mcp.example.com",
            "mcp.example.com:1",
            "mcp.example.com.",
            "other.example.com:8443",
        ] {
            assert!(host_passes(&guard, "/mcp", &[good]), "{good}");
        }
        for bad in ["other.example.com", "other.example.com:443", "localhost"] {
            assert!(!host_passes(&guard, "/mcp", &[bad]), "{bad}");
        }
    }

    #[test]
    fn a_request_with_an_origin_needs_it_listed_one_without_passes() {
        let guard = guard(&[]);
        let passes = |origins: &[&'static str]| {
            let values = origins
                .iter()
                .map(|&origin| (ORIGIN, origin.parse().unwrap()));
            guard.check_origin(&values.collect()).is_ok()
        };
        assert!(passes(&[]));
        assert!(passes(&["http://localhost:6274"]));
        for bad in [
            "null",
            "http://localhost",
            "https://localhost:6274",
            "http://evil.example",
            "",
        ] {
            assert!(!passes(&[bad]), "{bad}");
        }
        assert!(!passes(&["http://localhost:6274", "http://evil.example"]));
    }
}
