//! One request, as the embeddings API has it.

use std::time::Duration;

use async_openai::{
    Client,
    config::Config,
    error::OpenAIError,
    types::embeddings::{CreateEmbeddingRequest, EmbeddingInput},
};
use http::{HeaderMap, HeaderValue, header};
use reqwest::redirect::Policy;
use secrecy::{ExposeSecret as _, SecretString};
use tracing::instrument::WithSubscriber as _;

use super::{
    answer::{Answer, AnswerError},
    failure::Failure,
    transport::Transport,
};
use crate::index::embed::config::{EmbedderConfigError, ServiceConfig};

/// How long a connection may take to be made: the request then has the rest of its time.
const CONNECT: Duration = Duration::from_secs(3);
/// Connections that are not in use and may be used again, and for how long.
const IDLE: (usize, Duration) = (4, Duration::from_secs(60));
/// What a number takes in an answer, in bytes, with room for indentation.
const NUMBER_BYTES: usize = 48;
/// What stands around the vectors.
const FRAME_BYTES: usize = 64 << 10;

/// Where the service is, and who asks it.
struct Endpoint {
    base: String,
    key: SecretString,
    /// Made once: a key that is no header was refused by then.
    headers: HeaderMap,
}

/// Asks the service.
pub(super) struct Wire {
    client: Client<Endpoint>,
    model: String,
    /// How many numbers it is asked for; `None` leaves that to it.
    dimensions: Option<u32>,
}

impl Wire {
    pub(super) fn new(config: &ServiceConfig) -> Result<Self, EmbedderConfigError> {
        let http = http_client(config).map_err(EmbedderConfigError::Client)?;
        let most = config.batch * (config.dimensions * NUMBER_BYTES) + FRAME_BYTES;
        let client = Client::build(http.clone(), Endpoint::new(config)?);
        let dimensions = u32::try_from(config.dimensions).ok();
        Ok(Wire {
            client: client.with_http_service(Transport { http, most }),
            model: config.model.clone(),
            dimensions: dimensions.filter(|_| config.ask_dimensions),
        })
    }

    /// Asks once. The time it may take is the caller's to bound.
    pub(super) async fn ask(&self, texts: &[String]) -> Result<Answer, Failure> {
        let request = CreateEmbeddingRequest {
            model: self.model.clone(),
            input: EmbeddingInput::StringArray(texts.to_vec()),
            dimensions: self.dimensions,
            ..CreateEmbeddingRequest::default()
        };
        // Its client would write answers that it does not understand to the log.
        let unlogged = tracing::Dispatch::none();
        let embeddings = self.client.embeddings();
        let asked = embeddings.create_byot::<_, Answer>(request);
        asked.with_subscriber(unlogged).await.map_err(failure)
    }
}

/// Only what can't be read comes from the client itself: all else is the transport's word.
fn failure(error: OpenAIError) -> Failure {
    match error {
        OpenAIError::Boxed(error) => match error.downcast::<Failure>() {
            Ok(failure) => *failure,
            Err(other) => Failure::Unreachable(other),
        },
        OpenAIError::JSONDeserialize(error, _quoted) => AnswerError::from(error).into(),
        OpenAIError::Reqwest(error) => Failure::Unreachable(Box::new(error.without_url())),
        other => Failure::Unreachable(Box::new(other)),
    }
}

fn http_client(config: &ServiceConfig) -> Result<reqwest::Client, reqwest::Error> {
    let builder = reqwest::Client::builder()
        .user_agent(concat!("archway/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT)
        .pool_max_idle_per_host(IDLE.0)
        .pool_idle_timeout(IDLE.1)
        // What it is sent goes where the operator said, and nowhere else.
        .redirect(Policy::none());
    if config.is_encrypted() {
        // A proxy of the environment's carries what it can't read. The authorities are read here,
        // for good: a confined worker can't read them later.
        let roots = config.roots.iter().cloned();
        builder.https_only(true).tls_certs_merge(roots).build()
    } else {
        builder.no_proxy().tls_certs_only([]).build()
    }
}

impl Endpoint {
    fn new(config: &ServiceConfig) -> Result<Self, EmbedderConfigError> {
        let mut headers = HeaderMap::new();
        if let Some(key) = &config.key {
            let bearer = format!("Bearer {}", key.expose_secret());
            let value = HeaderValue::from_str(&bearer);
            let mut value = value.map_err(|_quotes_it| EmbedderConfigError::Key)?;
            value.set_sensitive(true);
            headers.insert(header::AUTHORIZATION, value);
        }
        Ok(Endpoint {
            base: config.base.clone(),
            key: config.key.clone().unwrap_or_default(),
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
