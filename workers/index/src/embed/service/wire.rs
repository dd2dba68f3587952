//! One request, as the embeddings API has it.

use archway_proto::trace::Span;
use async_openai::types::embeddings::{CreateEmbeddingRequest, EmbeddingInput};

use super::{
    Failure,
    answer::{Answer, AnswerError},
};
use crate::embed::config::{EmbedderConfigError, ServiceConfig};
use crate::openai::{Client, client, request_span, send};

/// What a number takes in an answer, in bytes, with room for indentation.
const NUMBER_BYTES: usize = 48;
/// What stands around the vectors.
const FRAME_BYTES: usize = 64 << 10;

/// Asks the service.
pub(super) struct Wire {
    client: Client,
    model: String,
    /// How many numbers it is asked for; `None` leaves that to it.
    dimensions: Option<u32>,
}

impl Wire {
    pub(super) fn new(config: &ServiceConfig) -> Result<Self, EmbedderConfigError> {
        let most = config.batch * (config.dimensions * NUMBER_BYTES) + FRAME_BYTES;
        let dimensions = u32::try_from(config.dimensions).ok();
        Ok(Wire {
            client: client(&config.endpoint, most)?,
            model: config.endpoint.model.clone(),
            dimensions: dimensions.filter(|_| config.ask_dimensions),
        })
    }

    /// What is recorded of one attempt, where anything is.
    pub(super) fn span(&self) -> Span {
        request_span(&self.client, "embeddings", &self.model)
    }

    /// Asks once. The time it may take is the caller's to bound.
    pub(super) async fn ask(&self, texts: &[String]) -> Result<Answer, Failure> {
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
