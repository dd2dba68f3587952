//! One request, as the chat completions API has it.

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

use super::{ChatMetrics, Question};

/// What an answer may take, in bytes: some models say what they thought beside it.
const MOST_BYTES: usize = 256 << 10;

/// What a request asks for beside the answer, which not every model takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    /// An answer of the question's schema, rather than text that says so.
    has_schema: bool,
    /// The likeliest answer, so that the same question gets the same one as far as can be.
    is_coldest: bool,
}

impl Form {
    /// From the one that says most to the one that each model takes.
    pub(super) const ALL: [Form; 4] = [
        Form::new(true, true),
        Form::new(true, false),
        Form::new(false, true),
        Form::new(false, false),
    ];

    const fn new(has_schema: bool, is_coldest: bool) -> Form {
        Form {
            has_schema,
            is_coldest,
        }
    }
}

/// Asks the service.
pub(super) struct Wire {
    client: Client,
    model: String,
    metrics: ChatMetrics,
}

/// What is read of an answer, leniently: servers that speak the same API leave out much.
#[derive(Deserialize)]
struct Answer {
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
    /// None where the model refuses to say anything.
    #[serde(default)]
    content: Option<String>,
}

#[derive(Deserialize)]
struct Usage {
    #[serde(default)]
    total_tokens: Option<u64>,
}

impl Wire {
    pub(super) fn new(endpoint: &Endpoint, metrics: ChatMetrics) -> Result<Self, EndpointError> {
        Ok(Wire {
            client: client(endpoint, MOST_BYTES)?,
            model: endpoint.model.clone(),
            metrics,
        })
    }

    /// What is recorded of one attempt, where anything is.
    pub(super) fn span(&self) -> Span {
        request_span(&self.client, "chat", &self.model)
    }

    /// Asks once. The time it may take is the caller's to bound. A model that says nothing says the
    /// empty text: that is no fault of the service's.
    pub(super) async fn ask(
        &self,
        question: &Question,
        form: Form,
    ) -> Result<String, Failure<Unreadable>> {
        let request = self.request(question, form);
        let chat = self.client.chat();
        let answer: Answer = send(chat.create_byot(request)).await?;
        let tokens = answer.usage.and_then(|usage| usage.total_tokens);
        self.metrics.read(tokens.unwrap_or(0));
        let said = answer.choices.into_iter().next();
        Ok(said
            .and_then(|choice| choice.message.content)
            .unwrap_or_default())
    }

    fn request(&self, question: &Question, form: Form) -> CreateChatCompletionRequest {
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
            temperature: form.is_coldest.then_some(0.0),
            response_format: form.has_schema.then(schema),
            ..CreateChatCompletionRequest::default()
        }
    }
}
