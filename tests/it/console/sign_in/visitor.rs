//! A browser as far as signing in needs one: it keeps cookies and follows redirects.

use std::{collections::BTreeMap, net::SocketAddr};

use e2e::http::{Request, Response};

use super::pages::link;

/// Redirects that it follows at most.
const MOST_HOPS: usize = 10;

/// A browser at the page's address.
pub(super) struct Visitor {
    page: String,
    /// Of each address by name.
    cookies: BTreeMap<SocketAddr, BTreeMap<String, String>>,
    set: Vec<String>,
}

/// The address and the rest of a URL.
fn parts(url: &str) -> (SocketAddr, &str) {
    let rest = url.strip_prefix("http://").expect("a URL");
    let (address, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    (address.parse().unwrap(), path)
}

impl Visitor {
    pub(super) fn new(page: &str) -> Visitor {
        Visitor {
            page: page.to_owned(),
            cookies: BTreeMap::new(),
            set: Vec::new(),
        }
    }

    /// A page.
    pub(super) async fn get(&mut self, path: &str) -> Response {
        let (address, _) = parts(&self.page);
        self.send(address, Request::new("GET", path)).await
    }

    /// The same with a header.
    pub(super) async fn with(&mut self, name: &str, value: &str, path: &str) -> Response {
        let (address, _) = parts(&self.page);
        let request = Request::new("GET", path).header(name, value);
        self.send(address, request).await
    }

    /// Sends an empty form.
    pub(super) async fn post(&mut self, path: &str) -> Response {
        let (address, _) = parts(&self.page);
        let request = Request::new("POST", path).header("Content-Length", "0");
        self.send(address, request).await
    }

    /// Follows a link and all redirects. At the provider it is the given account.
    pub(super) async fn follow(&mut self, url: &str, account: &str) -> Response {
        let mut url = url.to_owned();
        for _ in 0..MOST_HOPS {
            let (address, path) = parts(&url);
            let sign = if path.contains('?') { '&' } else { '?' };
            let path = match path.starts_with("/interaction/") {
                true => format!("{path}{sign}as={account}"),
                false => path.to_owned(),
            };
            let answer = self.send(address, Request::new("GET", &path)).await;
            let Some(to) = answer.header("location") else {
                return answer;
            };
            url = match to.starts_with('/') {
                true => format!("http://{address}{to}"),
                false => to.to_owned(),
            };
        }
        panic!("too many redirects: {url}");
    }

    /// Signs in by the link of a page that says so.
    pub(super) async fn sign_in(&mut self, closed: &Response, account: &str) -> Response {
        let text = closed.text();
        let url = link(&text, "Sign in with 127.0.0.1").expect("a link to sign in");
        self.follow(&url.replace("&amp;", "&"), account).await
    }

    /// Signs in from the overview.
    pub(super) async fn sign_in_as(&mut self, account: &str) -> Response {
        let closed = self.get("/console").await;
        assert_eq!(closed.status, 401);
        self.sign_in(&closed, account).await
    }

    /// The headers that set cookies, so far.
    pub(super) fn set_cookies(&self) -> &[String] {
        &self.set
    }

    /// A cookie of the page.
    pub(super) fn cookie(&self, name: &str) -> (String, String) {
        let cookies = &self.cookies[&parts(&self.page).0];
        (name.to_owned(), cookies[name].clone())
    }

    /// Replaces a cookie of the page.
    pub(super) fn set_cookie(&mut self, name: &str, value: &str) {
        let cookies = self.cookies.entry(parts(&self.page).0).or_default();
        cookies.insert(name.to_owned(), value.to_owned());
    }

    async fn send(&mut self, to: SocketAddr, request: Request) -> Response {
        let cookies = self.cookies.entry(to).or_default();
        let pairs = cookies
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        let pairs: Vec<String> = pairs.collect();
        let answer = request.header("Cookie", &pairs.join("; ")).send(to).await;
        for (_, set) in answer
            .headers
            .iter()
            .filter(|(name, _)| name == "set-cookie")
        {
            let (name, rest) = set.split_once('=').unwrap();
            let (value, attributes) = rest.split_once(';').unwrap_or((rest, ""));
            self.set.push(set.clone());
            match value.is_empty() || attributes.contains("Max-Age=0") {
                true => cookies.remove(name),
                false => cookies.insert(name.to_owned(), value.to_owned()),
            };
        }
        answer
    }
}
