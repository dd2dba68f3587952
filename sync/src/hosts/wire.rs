//! Requests to a host's API: one origin, bounded answers, limits obeyed, and no redirects elsewhere.

use std::time::Duration;

use archway_proto::chain::Chain;
use jiff::Timestamp;
use reqwest::header::{self, HeaderMap, HeaderValue};
use reqwest::{Client, Method, Response, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use self::numbers::{Numbers, http_date};
use super::{dialect::HostKind, error::ListingError, text};

pub use numbers::Budget;

mod numbers;

/// How long a host may stay silent within an answer.
pub(super) const SILENCE: Duration = Duration::from_secs(60);
/// The largest page, in bytes.
const LARGEST_PAGE: usize = 16 << 20;
/// The largest refusal that is read, in bytes.
const LARGEST_REFUSAL: usize = 64 << 10;
const LONGEST_ETAG: usize = 256;
const MOST_REDIRECTS: usize = 3;

/// A request, which is repeated if the host redirects it within its origin.
pub(super) struct Question<'a> {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) token: Option<&'a SecretString>,
    /// Answered by [`Answer::NotModified`] if it is still the same.
    pub(super) etag: Option<&'a str>,
    /// Notes what each answer says of the host's rate limit.
    pub(super) budget: Option<&'a Budget>,
}

/// A host's answer that is no failure.
pub(super) enum Answer {
    Page(Page),
    /// Where it is, after redirects.
    NotModified(Url),
    /// 404 or 410.
    Missing,
}

/// A page of a listing.
pub(super) struct Page {
    /// Where it is, after redirects.
    pub(super) url: Url,
    pub(super) body: Vec<u8>,
    /// The page after it, on the same origin.
    pub(super) next: Option<Url>,
    pub(super) etag: Option<String>,
}

/// Asks a host, and reads its answer.
pub(super) async fn ask(
    http: &Client,
    kind: HostKind,
    question: Question<'_>,
) -> Result<Answer, ListingError> {
    let Question {
        method,
        mut url,
        token,
        etag,
        budget,
    } = question;
    let headers = headers(kind, token, etag)?;
    let secret = token.map(ExposeSecret::expose_secret);
    for _ in 0..=MOST_REDIRECTS {
        let request = http.request(method.clone(), url.clone());
        let answer = request.headers(headers.clone()).send().await;
        let answer = answer.map_err(unreachable)?;
        let status = answer.status();
        if let Some(budget) = budget {
            budget.note(&Numbers::of(answer.headers()), Timestamp::now());
        }
        match status {
            StatusCode::NOT_MODIFIED if etag.is_some() => return Ok(Answer::NotModified(url)),
            StatusCode::NOT_FOUND | StatusCode::GONE => return Ok(Answer::Missing),
            status if status.is_redirection() => url = redirected(&url, &answer)?,
            status if status.is_success() => return page(url, answer).await,
            _ => return Err(refusal(answer, secret).await),
        }
    }
    Err(ListingError::invalid("it redirects more than three times"))
}

/// An error of the client, without its URL; its causes become text, since a certificate's names may
/// stand in them.
pub(super) fn unreachable(error: reqwest::Error) -> ListingError {
    if error.is_timeout() && !error.is_connect() {
        return ListingError::TimedOut { limit: SILENCE };
    }
    let error = error.without_url();
    let mut why = Chain(&error).to_string();
    if why.contains("UnknownIssuer") {
        why.push_str(": name its authority's certificate by `ca_file`");
    }
    ListingError::Unreachable {
        why: text::shown(&why, None),
    }
}

fn headers(
    kind: HostKind,
    token: Option<&SecretString>,
    etag: Option<&str>,
) -> Result<HeaderMap, ListingError> {
    let mut headers = HeaderMap::new();
    let accept = match kind {
        HostKind::Github => "application/vnd.github+json",
        HostKind::Gitlab | HostKind::Gitea => "application/json",
    };
    headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
    if kind == HostKind::Github {
        let version = HeaderValue::from_static("2022-11-28");
        headers.insert("x-github-api-version", version);
    }
    if let Some(token) = token {
        let bearer = format!("Bearer {}", token.expose_secret().trim());
        let mut value =
            HeaderValue::from_str(&bearer).map_err(|_quotes_it| ListingError::Refused {
                said: "the token has characters that a request cannot carry".to_owned(),
            })?;
        value.set_sensitive(true);
        headers.insert(header::AUTHORIZATION, value);
    }
    if let Some(value) = etag.and_then(|etag| HeaderValue::from_str(etag).ok()) {
        headers.insert(header::IF_NONE_MATCH, value);
    }
    Ok(headers)
}

async fn page(url: Url, answer: Response) -> Result<Answer, ListingError> {
    let next = next_page(&url, answer.headers())?;
    let etag = answer.headers().get(header::ETAG);
    let etag = etag.and_then(|value| value.to_str().ok());
    let etag = etag.filter(|etag| etag.len() <= LONGEST_ETAG);
    let etag = etag.map(str::to_owned);
    let body = body(answer, LARGEST_PAGE).await?;
    let body = body.ok_or_else(|| ListingError::invalid("a page is larger than 16 MiB"))?;
    Ok(Answer::Page(Page {
        url,
        body,
        next,
        etag,
    }))
}

/// The body; `None` if it is longer than `largest`.
async fn body(mut answer: Response, largest: usize) -> Result<Option<Vec<u8>>, ListingError> {
    let mut body = Vec::new();
    while let Some(part) = answer.chunk().await.map_err(unreachable)? {
        if body.len() + part.len() > largest {
            return Ok(None);
        }
        body.extend_from_slice(&part);
    }
    Ok(Some(body))
}

fn redirected(from: &Url, answer: &Response) -> Result<Url, ListingError> {
    let to = answer.headers().get(header::LOCATION);
    let to = to.and_then(|to| to.to_str().ok());
    let to = to.ok_or_else(|| ListingError::invalid("it redirects to nowhere"))?;
    same_origin(from, to).ok_or_else(|| {
        ListingError::invalid("it redirects to another host: set `url` to the host's own address")
    })
}

/// The `rel="next"` of the `Link` headers (RFC 8288).
fn next_page(from: &Url, headers: &HeaderMap) -> Result<Option<Url>, ListingError> {
    let values = headers.get_all(header::LINK).iter();
    let mut links = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(links);
    let Some((target, _)) = links.find(|(_, parameters)| is_next(parameters)) else {
        return Ok(None);
    };
    let elsewhere = || {
        ListingError::invalid(
            "its next page is on another host: set `url` as the host names itself",
        )
    };
    same_origin(from, target).map(Some).ok_or_else(elsewhere)
}

/// Target and parameters of each link.
fn links(value: &str) -> impl Iterator<Item = (&str, &str)> {
    value.split('<').skip(1).filter_map(|link| {
        let (target, parameters) = link.split_once('>')?;
        Some((target, parameters))
    })
}

fn is_next(parameters: &str) -> bool {
    parameters.split([';', ',']).any(|parameter| {
        let (name, value) = parameter.split_once('=').unwrap_or_default();
        let mut kinds = value.trim().trim_matches('"').split_ascii_whitespace();
        name.trim().eq_ignore_ascii_case("rel")
            && kinds.any(|kind| kind.eq_ignore_ascii_case("next"))
    })
}

fn same_origin(from: &Url, to: &str) -> Option<Url> {
    let to = from.join(to).ok()?;
    let is_same = to.origin() == from.origin() && to.origin().is_tuple();
    let is_bare = to.username().is_empty() && to.password().is_none();
    (is_same && is_bare).then_some(to)
}

async fn refusal(answer: Response, secret: Option<&str>) -> ListingError {
    let status = answer.status();
    let now = Timestamp::now();
    if let Some(retry_at) = retry_at(status, answer.headers(), now) {
        return ListingError::RateLimited { retry_at };
    }
    let said = match body(answer, LARGEST_REFUSAL).await {
        Ok(Some(body)) => text::said(&body, secret),
        Ok(None) | Err(_) => String::new(),
    };
    let said = text::shown(&format!("{status}: {said}"), secret);
    // GitHub's secondary limits may have no header that says so.
    if status == StatusCode::FORBIDDEN && said.to_lowercase().contains("rate limit") {
        let retry_at = numbers::later(now, None);
        return ListingError::RateLimited { retry_at };
    }
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => ListingError::Refused { said },
        StatusCode::PROXY_AUTHENTICATION_REQUIRED => ListingError::Unreachable { why: said },
        _ if status.is_server_error() => ListingError::Unreachable { why: said },
        _ => ListingError::Invalid { what: said },
    }
}

/// When a host that limits the rate may be asked again; `None` if the answer says no such thing.
///
/// GitHub answers 403 as well as 429, and writes its limits on every answer: there, a limit is meant
/// if nothing remains.
fn retry_at(status: StatusCode, headers: &HeaderMap, now: Timestamp) -> Option<Timestamp> {
    let numbers = Numbers::of(headers);
    let after = match numbers.number("retry-after") {
        Some(seconds) => Some(seconds),
        None => numbers.text("retry-after").and_then(http_date).map(|at| {
            at.as_second()
                .saturating_sub(numbers.host_now(now).as_second())
        }),
    };
    let spent = numbers.either("ratelimit-remaining") == Some(0);
    let is_limit = match status {
        StatusCode::TOO_MANY_REQUESTS => true,
        StatusCode::FORBIDDEN => after.is_some() || spent,
        _ => false,
    };
    let wait = after.or(numbers.reset(now));
    is_limit.then(|| numbers::later(now, wait))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn next(link: &str) -> Result<Option<String>, ListingError> {
        let from = Url::parse("https://host:8443/api/repos?page=1").unwrap();
        let mut headers = HeaderMap::new();
        headers.insert(header::LINK, HeaderValue::from_str(link).unwrap());
        next_page(&from, &headers).map(|url| url.map(String::from))
    }

    #[test]
    fn the_next_page_is_found_among_links() {
        let page = "https://host:8443/api/repos?page=2";
        for link in [
            format!(r#"<{page}>; rel="next""#),
            format!(r#"<https://host:8443/1>; rel="prev", <{page}>; title="a,b"; REL=next"#),
            format!(r#"<{page}>;rel="last next",<x>; rel="first""#),
            r#"<?page=2>; rel="next""#.to_owned(),
            r#"</api/repos?page=2>; rel="next""#.to_owned(),
        ] {
            assert_eq!(next(&link).unwrap().as_deref(), Some(page), "{link}");
        }
        for link in [
            "",
            "<https://host:8443/2>",
            r#"<x>; rel="nextish""#,
            "<x; rel=next",
            "rel=next",
        ] {
            assert_eq!(next(link).unwrap(), None, "{link}");
        }
        for link in [
            "<http://host:8443/2>; rel=next",
            "<https://host/2>; rel=next",
            "<//other:8443/2>; rel=next",
            "<https://host:8443.other/2>; rel=next",
            "<https://user@host:8443/2>; rel=next",
            "<https://host:8443@other/2>; rel=next",
            "<file:///etc/passwd>; rel=next",
            "<data:,x>; rel=next",
            "<http://[>; rel=next",
        ] {
            assert!(next(link).is_err(), "{link}");
        }
    }

    proptest! {
        #[test]
        fn no_link_leads_to_another_origin(link in "[ -~]{0,40}(<[ -~]{0,30}>; ?rel=\"?next)?[ -~]{0,10}") {
            if let Ok(Some(url)) = next(&link) {
                prop_assert!(url.starts_with("https://host:8443/"), "{}", url);
            }
        }

        #[test]
        fn a_wait_is_between_a_second_and_an_hour(
            status in proptest::sample::select(vec![403_u16, 429]),
            values in proptest::collection::vec(("[ -~]{0,30}|-?[0-9]{1,20}", 0..6_usize), 0..6),
            seconds in -1_000_000_000_i64..100_000_000_000,
        ) {
            const NAMES: [&str; 6] = ["retry-after", "date", "x-ratelimit-reset", "ratelimit-reset",
                "x-ratelimit-remaining", "ratelimit-remaining"];
            let mut headers = HeaderMap::new();
            for (value, name) in &values {
                headers.insert(NAMES[*name], HeaderValue::from_str(value).unwrap());
            }
            let now = Timestamp::from_second(seconds).unwrap();
            let status = StatusCode::from_u16(status).unwrap();
            if let Some(at) = retry_at(status, &headers, now) {
                use numbers::{LONGEST_WAIT, SHORTEST_WAIT};
                let wait = at.duration_since(now);
                prop_assert!((SHORTEST_WAIT..=LONGEST_WAIT).contains(&wait), "{}", wait);
            }
        }
    }
}
