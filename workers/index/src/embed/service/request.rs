//! Requests to the embeddings API.

use archway_proto::trace::Span;
use async_openai::types::embeddings::{CreateEmbeddingRequest, EmbeddingInput};

use super::{
    Failure,
    answer::{Answer, AnswerError},
};
use crate::embed::config::{EmbedderConfigError, ServiceConfig};
use crate::openai::{Client, client, request_span, send};

/// Largest size of a number in an answer, in bytes, with room for indentation.
const NUMBER_BYTES: usize = 48;
/// Size of an answer besides its vectors, in bytes.
const FRAME_BYTES: usize = 64 << 10;

/// Sends requests.
pub(super) struct EmbeddingsApi {
    client: Client,
    model: String,
    /// Requested dimensions; `None` for the model's own.
    dimensions: Option<u32>,
}

impl EmbeddingsApi {
    pub(super) fn new(config: &ServiceConfig) -> Result<Self, EmbedderConfigError> {
        let most = config.batch * (config.dimensions * NUMBER_BYTES) + FRAME_BYTES;
        let dimensions = u32::try_from(config.dimensions).ok();
        Ok(EmbeddingsApi {
            client: client(&config.endpoint, most)?,
            model: config.endpoint.model.clone(),
            dimensions: dimensions.filter(|_| config.ask_dimensions),
        })
    }

    /// The span of one attempt.
    pub(super) fn span(&self) -> Span {
        request_span(&self.client, "embeddings", &self.model)
    }

    /// Sends one request. The caller bounds its time.
    pub(super) async fn send(&self, texts: &[String]) -> Result<Answer, Failure> {
        let request = CreateEmbeddingRequest {
            model: self.model.clone(),
            input: EmbeddingInput::StringArray(texts.to_vec()),
            dimensions: self.dimensions,
            ..CreateEmbeddingRequest::default()
        };
        let embeddings = self.client.embeddings();
        let answer = send(embeddings.create_byot::<_, Answer>(request)).await;
        answer.map_err(|failure| failure.map(AnswerError::from))
    }
}
