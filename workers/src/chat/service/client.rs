//! One request in the format of the chat completions API.

use archway_index::openai::{
    Client, Endpoint, EndpointError, Failure, Unreadable, client, request_span, send,
};
use archway_proto::trace::Span;
use async_openai::types::chat::{
    ChatCompletionRequestMessage, ChatCompletionRequestSystemMessage,
    ChatCompletionRequestUserMessage, CreateChatCompletionRequest, ResponseFormat,
    ResponseFormatJsonSchema,
};
use serde::Deserialize;

use super::{ChatMetrics, ChatRequest};

/// Maximum size of an answer in bytes: some models include their reasoning.
const MAX_ANSWER_BYTES: usize = 256 << 10;

/// Optional features of a request, which not every model supports.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestForm {
    /// Requests an answer of the given schema. Otherwise the instructions describe it.
    has_schema: bool,
    /// Requests the most likely answer, so that the same request gets the same answer if possible.
    is_deterministic: bool,
}

impl RequestForm {
    /// From the richest form to the one that every model accepts.
    pub(super) const ALL: [RequestForm; 4] = [
        RequestForm::new(true, true),
        RequestForm::new(true, false),
        RequestForm::new(false, true),
        RequestForm::new(false, false),
    ];

    const fn new(has_schema: bool, is_deterministic: bool) -> RequestForm {
        RequestForm {
            has_schema,
            is_deterministic,
        }
    }
}

/// Sends requests to the service.
pub(super) struct ChatClient {
    client: Client,
    model: String,
    metrics: ChatMetrics,
}

/// The fields that are read from an answer. Parsing is lenient: servers with the same API omit
/// much.
#[derive(Deserialize)]
struct ChatAnswer {
    choices: Vec<Choice>,
    #[serde(default)]
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Choice {
    message: Message,
}

#[derive(Deserialize)]
struct Message {
    /// `None` if the model refuses to answer.
    #[serde(default)]
    content: Option<String>,
}

#[derive(Deserialize)]
struct Usage {
    #[serde(default)]
    total_tokens: Option<u64>,
}

impl ChatClient {
    pub(super) fn new(endpoint: &Endpoint, metrics: ChatMetrics) -> Result<Self, EndpointError> {
        Ok(ChatClient {
            client: client(endpoint, MAX_ANSWER_BYTES)?,
            model: endpoint.model.clone(),
            metrics,
        })
    }

    /// The span of one attempt, if it is sampled.
    pub(super) fn span(&self) -> Span {
        request_span(&self.client, "chat", &self.model)
    }

    /// Sends one request. The caller bounds its time. An empty answer yields the empty string: the
    /// service is not to blame for it.
    pub(super) async fn send(
        &self,
        question: &ChatRequest,
        form: RequestForm,
    ) -> Result<String, Failure<Unreadable>> {
        let request = self.request(question, form);
        let chat = self.client.chat();
        let answer: ChatAnswer = send(chat.create_byot(request)).await?;
        let tokens = answer.usage.and_then(|usage| usage.total_tokens);
        self.metrics.add_tokens(tokens.unwrap_or(0));
        let first = answer.choices.into_iter().next();
        Ok(first
            .and_then(|choice| choice.message.content)
            .unwrap_or_default())
    }

    fn request(&self, question: &ChatRequest, form: RequestForm) -> CreateChatCompletionRequest {
        let data = question.data.to_string();
        let messages = vec![
            ChatCompletionRequestMessage::System(ChatCompletionRequestSystemMessage::from(
                question.instructions,
            )),
            ChatCompletionRequestMessage::User(ChatCompletionRequestUserMessage::from(data)),
        ];
        let schema = || ResponseFormat::JsonSchema {
            json_schema: ResponseFormatJsonSchema {
                description: None,
                name: question.form.to_owned(),
                schema: question.schema.clone(),
                strict: Some(true),
            },
        };
        CreateChatCompletionRequest {
            model: self.model.clone(),
            messages,
            temperature: form.is_deterministic.then_some(0.0),
            response_format: form.has_schema.then(schema),
            ..CreateChatCompletionRequest::default()
        }
    }
}
