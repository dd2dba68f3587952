//! What is counted and what is logged of requests, over a socket. How failures are met is tried by
//! the end-to-end tests, against a service that fails on command.

use std::{num::NonZeroUsize, sync::Arc};

use parking_lot::Mutex;
use prometheus_client::{encoding::text::encode, registry::Registry};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};

use super::*;
use crate::index::embed::EmbedderConfig;

const TEXT: &str = "fn sesame_text() {}";
const KEY: &str = "sk-sesame-key";

/// What is answered to a body: a status and a body.
type Reply = fn(&str) -> (u16, String);

/// Answers each request with `answer` of its body.
async fn serve(answer: Reply) -> (EmbedderConfig, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let config = EmbedderConfig {
        embedder_url: Some(format!("http://{}/v1", listener.local_addr().unwrap())),
        embedder_key: Some(KEY.into()),
        embedder_model: Some("words".to_owned()),
        embedder_dimensions: NonZeroUsize::new(2),
        ..EmbedderConfig::default()
    };
    let serving = tokio::spawn(async move {
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            reply(socket, answer).await;
        }
    });
    (config, serving)
}

async fn reply(socket: TcpStream, answer: Reply) {
    let mut socket = BufReader::new(socket);
    let mut length = 0;
    loop {
        let mut line = String::new();
        socket.read_line(&mut line).await.unwrap();
        let line = line.trim().to_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    socket.read_exact(&mut body).await.unwrap();
    let (status, body) = answer(str::from_utf8(&body).unwrap());
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status} -\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
    socket.write_all((head + &body).as_bytes()).await.unwrap();
}

fn open(config: &EmbedderConfig) -> (Service, EmbedderMetrics) {
    let metrics = EmbedderMetrics::default();
    let service = Service::open(&config.service().unwrap(), &metrics).unwrap();
    (service, metrics)
}

async fn ask(service: &Service) -> Result<Vec<Option<Vec<f32>>>, EmbedError> {
    let deadline = Instant::now() + Duration::from_secs(5);
    service
        .texts(&[TEXT.to_owned()], Lane::Index, deadline)
        .await
}

fn text(metrics: &EmbedderMetrics) -> String {
    let mut registry = Registry::default();
    metrics.register(&mut registry);
    let mut text = String::new();
    encode(&mut text, &registry).unwrap();
    text
}

/// Keeps all that is logged, at any level and by any crate.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<String>>);

impl Subscriber for Log {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, span: &Attributes<'_>) -> Id {
        span.record(&mut self.clone());
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut self.clone());
    }
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        event.record(&mut self.clone());
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

impl Visit for Log {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let told = format!("{field}={value:?}\n");
        self.0.lock().push_str(&told);
    }
}

#[tokio::test]
async fn neither_a_text_nor_a_key_nor_an_answer_is_logged() {
    let echoes: [Reply; 4] = [
        |body| (500, body.to_owned()),
        |body| (400, body.to_owned()),
        |body| (200, body.to_owned()),
        |body| (200, format!("you said {body}")),
    ];
    let log = Log::default();
    // While there is but one subscriber, the first thread that meets an event decides for all
    // whether it is wanted: another test's, which has none.
    let _second = tracing::Dispatch::new(Log::default());
    let _logged = tracing::subscriber::set_default(log.clone());
    for echo in echoes {
        let (config, serving) = serve(echo).await;
        let (service, _) = open(&config);
        for _ in 0..6 {
            ask(&service).await.unwrap_err();
        }
        serving.abort();
    }
    let told = log.0.lock().clone();
    let ours = told.matches("the embedding service fails").count();
    assert_eq!(ours, 3, "all but 400 open the circuit: {told}");
    assert!(!told.contains("sesame"), "{told}");
}

#[tokio::test]
async fn requests_texts_and_tokens_are_counted_by_outcome() {
    let (config, serving) = serve(|_| {
        let answer = r#"{"data":[{"embedding":[3,4]}],"usage":{"total_tokens":7}}"#;
        (200, answer.to_owned())
    })
    .await;
    let (service, metrics) = open(&config);
    ask(&service).await.unwrap();
    ask(&service).await.unwrap();
    let told = text(&metrics);
    for line in [
        r#"embedder_requests_total{outcome="answered"} 2"#,
        "embedder_texts_total 2",
        "embedder_tokens_total 14",
        "embedder_request_duration_seconds_count 2",
        "embedder_circuit_state 0",
    ] {
        assert!(told.contains(line), "{line} in {told}");
    }
    serving.abort();
    let (config, serving) = serve(|_| (401, String::new())).await;
    let (service, metrics) = open(&config);
    for _ in 0..6 {
        ask(&service).await.unwrap_err();
    }
    let told = text(&metrics);
    for line in [
        r#"embedder_requests_total{outcome="refused"} 5"#,
        "embedder_tokens_total 0",
        "embedder_circuit_state 2",
    ] {
        assert!(told.contains(line), "{line} in {told}");
    }
    serving.abort();
}

#[tokio::test]
async fn a_text_that_is_refused_is_counted_and_the_log_says_so_once() {
    let (config, serving) = serve(|body| {
        let answer = r#"{"data":[{"embedding":[3,4]}]}"#.to_owned();
        if body.contains("sesame") {
            return (400, String::new());
        }
        (200, answer)
    })
    .await;
    let (service, metrics) = open(&config);
    let log = Log::default();
    let _second = tracing::Dispatch::new(Log::default());
    let _logged = tracing::subscriber::set_default(log.clone());
    for _ in 0..3 {
        assert_eq!(ask(&service).await.unwrap(), [None]);
    }
    let told = log.0.lock().clone();
    assert_eq!(told.matches("refuses a text").count(), 1, "{told}");
    let told = text(&metrics);
    assert!(told.contains("embedder_texts_refused_total 3"), "{told}");
    serving.abort();
}

#[test]
fn a_long_text_is_cut_between_characters() {
    assert_eq!(cut("größe", 3), "grö");
    assert_eq!(cut("größe", 5), "größe");
    assert_eq!(cut("größe", 9), "größe");
    assert_eq!(cut("", 1), "");
}
