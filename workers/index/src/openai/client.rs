//! The HTTP client of a service.

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
    Endpoint, EndpointError,
    failure::{Failure, Unreadable},
    transport::Transport,
};

/// Connect timeout; the request gets the rest of its time.
const CONNECT: Duration = Duration::from_secs(3);
/// Idle connections per host, and how long they are kept open.
const IDLE: (usize, Duration) = (4, Duration::from_secs(60));

/// A client of one service.
pub type Client = async_openai::Client<ClientConfig>;

/// Base URL and headers for `async_openai`.
pub struct ClientConfig {
    base: String,
    key: SecretString,
    /// Built once, so that a key that no header can carry is rejected at start.
    headers: HeaderMap,
}

/// A client of the service at `endpoint` whose answers have at most `most` bytes.
///
/// # Errors
/// If the TLS client cannot be built, or no header can carry the key.
pub fn client(endpoint: &Endpoint, most: usize) -> Result<Client, EndpointError> {
    let http =
        http_client(endpoint).map_err(|error| EndpointError::Client(endpoint.which, error))?;
    let client = Client::build(http.clone(), ClientConfig::new(endpoint)?);
    Ok(client.with_http_service(Transport { http, most }))
}

/// Sends a request. The caller bounds its time.
pub async fn send<T>(
    request: impl Future<Output = Result<T, OpenAIError>>,
) -> Result<T, Failure<Unreadable>> {
    // `async_openai` logs answers that it does not understand.
    let unlogged = tracing::Dispatch::none();
    request.with_subscriber(unlogged).await.map_err(failure)
}

/// The span of one request. `operation` is one of OpenTelemetry's `gen_ai.operation.name` values.
pub fn request_span(client: &Client, operation: &'static str, model: &str) -> Span {
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

/// Deserialization errors come from `async_openai`, all others from [`Transport`].
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

fn http_client(endpoint: &Endpoint) -> Result<reqwest::Client, reqwest::Error> {
    let builder = reqwest::Client::builder()
        .user_agent(concat!("archway/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT)
        .pool_max_idle_per_host(IDLE.0)
        .pool_idle_timeout(IDLE.1)
        // Code goes to the configured URL only.
        .redirect(Policy::none());
    if endpoint.is_encrypted() {
        // `HTTPS_PROXY` applies: a proxy cannot read TLS. The system's authorities are read now,
        // since a confined worker cannot read them later.
        let roots = endpoint.roots.iter().cloned();
        builder.https_only(true).tls_certs_merge(roots).build()
    } else {
        builder.no_proxy().tls_certs_only([]).build()
    }
}

impl ClientConfig {
    fn new(endpoint: &Endpoint) -> Result<Self, EndpointError> {
        let mut headers = HeaderMap::new();
        if let Some(key) = &endpoint.key {
            let bearer = format!("Bearer {}", key.expose_secret());
            let value = HeaderValue::from_str(&bearer);
            let mut value = value.map_err(|_quotes_it| EndpointError::Key(endpoint.which))?;
            value.set_sensitive(true);
            headers.insert(header::AUTHORIZATION, value);
        }
        Ok(ClientConfig {
            base: endpoint.base.clone(),
            key: endpoint.key.clone().unwrap_or_default(),
            headers,
        })
    }
}

impl Config for ClientConfig {
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
