//! A chat model on loopback that says what a test chooses, and fails on command.
//!
//! It speaks OpenAI's chat completions API. A refusal echoes the request, as real services do, so that a
//! test sees whether the echo leaks anywhere.

use std::sync::Arc;

use axum::{
    Router,
    body::{Body, Bytes},
    extract::State,
    response::Response,
    routing::post,
};
use futures::stream;
use http::{HeaderMap, header};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle};

/// How it treats each request from now on.
#[derive(Clone)]
pub enum Manner {
    /// Answers with this text.
    Says(String),
    /// Answers with this text, and refuses with 400 a request for an answer by a schema.
    SaysPlainly(String),
    /// Answers with this body, which breaks the API's format.
    Body(String),
    /// Refuses with this status.
    Status(u16),
    /// Refuses with 429 and a `Retry-After` of so many seconds.
    RetryAfter(u32),
    /// Never begins an answer.
    Hang,
    /// Never ends an answer.
    Endless,
}

/// A request that it received.
#[derive(Clone, Debug)]
pub struct ChatRequest {
    /// The `Authorization` header.
    pub authorization: Option<String>,
    /// The body.
    pub body: Value,
}

impl ChatRequest {
    /// The message with untrusted text, parsed.
    pub fn data(&self) -> Value {
        let data = self.body["messages"][1]["content"].as_str();
        serde_json::from_str(data.expect("a message")).expect("it is JSON")
    }
}

/// A running chat model. Dropping it ends the server.
pub struct ChatModel {
    url: String,
    state: Arc<ModelState>,
    serving: JoinHandle<()>,
}

struct ModelState {
    manner: Mutex<Manner>,
    requests: Mutex<Vec<ChatRequest>>,
}

impl Drop for ChatModel {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl ChatModel {
    /// Starts one that behaves like this.
    pub async fn start(manner: Manner) -> ChatModel {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let state = Arc::new(ModelState {
            manner: Mutex::new(manner),
            requests: Mutex::default(),
        });
        let router = Router::new()
            .route("/v1/chat/completions", post(answer))
            .with_state(Arc::clone(&state));
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        ChatModel {
            url,
            state,
            serving,
        }
    }

    /// For `--chat-url`.
    pub fn url(&self) -> String {
        self.url.clone()
    }

    /// Changes its behaviour.
    pub fn set_manner(&self, manner: Manner) {
        *self.state.manner.lock() = manner;
    }

    /// The requests so far, oldest first.
    pub fn requests(&self) -> Vec<ChatRequest> {
        self.state.requests.lock().clone()
    }
}

async fn answer(State(state): State<Arc<ModelState>>, headers: HeaderMap, body: Bytes) -> Response {
    let authorization = headers.get(header::AUTHORIZATION);
    let request = ChatRequest {
        authorization: authorization.map(|value| value.to_str().unwrap().to_owned()),
        body: serde_json::from_slice(&body).unwrap(),
    };
    let wants_schema = request.body.get("response_format").is_some();
    state.requests.lock().push(request);
    let manner = state.manner.lock().clone();
    match manner {
        Manner::SaysPlainly(_) if wants_schema => reply(400, body.into()),
        Manner::Says(text) | Manner::SaysPlainly(text) => reply(200, completion(&text).into()),
        Manner::Body(text) => reply(200, text.into()),
        Manner::Status(status) => reply(status, body.into()),
        Manner::RetryAfter(seconds) => {
            let mut refusal = reply(429, body.into());
            refusal
                .headers_mut()
                .insert(header::RETRY_AFTER, seconds.into());
            refusal
        }
        Manner::Hang => std::future::pending().await,
        Manner::Endless => {
            let blanks = || Ok::<_, std::io::Error>(Bytes::from_static(&[b' '; 4096]));
            reply(200, Body::from_stream(stream::repeat_with(blanks)))
        }
    }
}

fn reply(status: u16, body: Body) -> Response {
    Response::builder().status(status).body(body).unwrap()
}

/// A completion in the API's format.
fn completion(text: &str) -> String {
    let choice = json!({
        "index": 0,
        "message": { "role": "assistant", "content": text },
        "finish_reason": "stop",
    });
    let usage = json!({ "prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7 });
    json!({ "id": "x", "object": "chat.completion", "choices": [choice], "usage": usage })
        .to_string()
}
