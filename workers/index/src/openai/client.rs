//! The client of a service, and what a request by it came to.

use std::time::Duration;

use archway_proto::trace::Span;
use async_openai::{config::Config, error::OpenAIError};
use http::{HeaderMap, HeaderValue, header};
use opentelemetry::{
    KeyValue,
    trace::{SpanBuilder, SpanKind},
};
use reqwest::redirect::Policy;
use secrecy::{ExposeSecret as _, SecretString};
use tracing::instrument::WithSubscriber as _;

use super::{
    Place, PlaceError,
    failure::{Failure, Unreadable},
    transport::Transport,
};

/// How long a connection may take to be made: the request then has the rest of its time.
const CONNECT: Duration = Duration::from_secs(3);
/// Connections that are not in use and may be used again, and for how long.
const IDLE: (usize, Duration) = (4, Duration::from_secs(60));

/// Asks one service.
pub type Client = async_openai::Client<Endpoint>;

/// Where a service is, and who asks it.
pub struct Endpoint {
    base: String,
    key: SecretString,
    /// Made once: a key that is no header was refused by then.
    headers: HeaderMap,
}

/// A client of the service at this place, whose answers take `most` bytes at most.
///
/// # Errors
/// If nothing here can speak to it.
pub fn client(place: &Place, most: usize) -> Result<Client, PlaceError> {
    let http = http_client(place).map_err(|error| PlaceError::Client(place.which, error))?;
    let client = Client::build(http.clone(), Endpoint::new(place)?);
    Ok(client.with_http_service(Transport { http, most }))
}

/// What a request came to. The time that it may take is the caller's to bound.
pub async fn asked<T>(
    request: impl Future<Output = Result<T, OpenAIError>>,
) -> Result<T, Failure<Unreadable>> {
    // The client would write answers that it does not understand to the log.
    let unlogged = tracing::Dispatch::none();
    request.with_subscriber(unlogged).await.map_err(failure)
}

/// What is recorded of one request, where anything is: `operation` is a word of OpenTelemetry's
/// conventions for generative AI.
pub fn recorded(client: &Client, operation: &'static str, model: &str) -> Span {
    Span::child(|| {
        let mut attributes = vec![
            KeyValue::new("gen_ai.operation.name", operation),
            KeyValue::new("gen_ai.provider.name", "openai"),
            KeyValue::new("gen_ai.request.model", model.to_owned()),
        ];
        let base = client.config().base.parse::<http::Uri>();
        if let Some(host) = base.ok().as_ref().and_then(http::Uri::host) {
            attributes.push(KeyValue::new("server.address", host.to_owned()));
        }
        SpanBuilder::from_name(format!("{operation} {model}"))
            .with_kind(SpanKind::Client)
            .with_attributes(attributes)
    })
}

/// Only what can't be read comes from the client itself: all else is the transport's word.
fn failure(error: OpenAIError) -> Failure<Unreadable> {
    match error {
        OpenAIError::Boxed(error) => match error.downcast::<Failure<Unreadable>>() {
            Ok(failure) => *failure,
            Err(other) => Failure::Unreachable(other),
        },
        OpenAIError::JSONDeserialize(error, _quoted) => Unreadable::from(error).into(),
        OpenAIError::Reqwest(error) => Failure::Unreachable(Box::new(error.without_url())),
        other => Failure::Unreachable(Box::new(other)),
    }
}

fn http_client(place: &Place) -> Result<reqwest::Client, reqwest::Error> {
    let builder = reqwest::Client::builder()
        .user_agent(concat!("archway/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT)
        .pool_max_idle_per_host(IDLE.0)
        .pool_idle_timeout(IDLE.1)
        // What it is sent goes where the operator said, and nowhere else.
        .redirect(Policy::none());
    if place.is_encrypted() {
        // A proxy of the environment's carries what it can't read. The authorities are read here,
        // for good: a confined worker can't read them later.
        let roots = place.roots.iter().cloned();
        builder.https_only(true).tls_certs_merge(roots).build()
    } else {
        builder.no_proxy().tls_certs_only([]).build()
    }
}

impl Endpoint {
    fn new(place: &Place) -> Result<Self, PlaceError> {
        let mut headers = HeaderMap::new();
        if let Some(key) = &place.key {
            let bearer = format!("Bearer {}", key.expose_secret());
            let value = HeaderValue::from_str(&bearer);
            let mut value = value.map_err(|_quotes_it| PlaceError::Key(place.which))?;
            value.set_sensitive(true);
            headers.insert(header::AUTHORIZATION, value);
        }
        Ok(Endpoint {
            base: place.base.clone(),
            key: place.key.clone().unwrap_or_default(),
            headers,
        })
    }
}

impl Config for Endpoint {
    fn headers(&self) -> HeaderMap {
        self.headers.clone()
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    fn query(&self) -> Vec<(&str, &str)> {
        Vec::new()
    }

    fn api_base(&self) -> &str {
        &self.base
    }

    fn api_key(&self) -> &SecretString {
        &self.key
    }
}
