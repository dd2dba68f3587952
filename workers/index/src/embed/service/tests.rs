//! Metrics and logs of requests, over a socket. The end-to-end tests cover failures, against a service
//! that fails on command.

use std::{num::NonZeroUsize, time::Duration};

use prometheus_client::{encoding::text::encode, registry::Registry};
use tokio::task::JoinHandle;

use super::*;
use crate::embed::EmbedderConfig;
use crate::openai::testing::{self, Log, Reply};

const TEXT: &str = "fn sesame_text() {}";
const KEY: &str = "sk-sesame-key";

/// Answers each request with `answer` of its body.
async fn serve(answer: Reply) -> (EmbedderConfig, JoinHandle<()>) {
    let (url, serving) = testing::serve(answer).await;
    let config = EmbedderConfig {
        embedder_url: Some(url),
        embedder_key: Some(KEY.into()),
        embedder_model: Some("words".to_owned()),
        embedder_dimensions: NonZeroUsize::new(2),
        ..EmbedderConfig::default()
    };
    (config, serving)
}

fn open(config: &EmbedderConfig) -> (Service, EmbedderMetrics) {
    let metrics = EmbedderMetrics::default();
    let service = Service::open(&config.service().unwrap(), &metrics).unwrap();
    (service, metrics)
}

async fn ask(service: &Service) -> Result<Vec<Option<Vec<f32>>>, EmbedError> {
    let deadline = Instant::now() + Duration::from_secs(5);
    service
        .texts(&[TEXT.to_owned()], RequestKind::Index, deadline)
        .await
}

fn text(metrics: &EmbedderMetrics) -> String {
    let mut registry = Registry::default();
    metrics.register(&mut registry);
    let mut text = String::new();
    encode(&mut text, &registry).unwrap();
    text
}

#[tokio::test]
async fn neither_texts_nor_keys_nor_answers_are_logged() {
    let echoes: [Reply; 4] = [
        |body| (500, body.to_owned()),
        |body| (400, body.to_owned()),
        |body| (200, body.to_owned()),
        |body| (200, format!("you said {body}")),
    ];
    let log = Log::default();
    // With only one subscriber, the first thread to reach an event decides for all threads whether it
    // is enabled: that may be another test's thread, which has no subscriber.
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
    let logged = log.text();
    let opened = logged.matches("the embedding service fails").count();
    assert_eq!(opened, 3, "all but 400 open the circuit: {logged}");
    assert!(!logged.contains("sesame"), "{logged}");
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
    let exported = text(&metrics);
    for line in [
        r#"embedder_requests_total{outcome="answered"} 2"#,
        "embedder_texts_total 2",
        "embedder_tokens_total 14",
        "embedder_request_duration_seconds_count 2",
        "embedder_circuit_state 0",
    ] {
        assert!(exported.contains(line), "{line} in {exported}");
    }
    serving.abort();
    let (config, serving) = serve(|_| (401, String::new())).await;
    let (service, metrics) = open(&config);
    for _ in 0..6 {
        ask(&service).await.unwrap_err();
    }
    let exported = text(&metrics);
    for line in [
        r#"embedder_requests_total{outcome="refused"} 5"#,
        "embedder_tokens_total 0",
        "embedder_circuit_state 2",
    ] {
        assert!(exported.contains(line), "{line} in {exported}");
    }
    serving.abort();
}

#[tokio::test]
async fn a_rejected_text_is_counted_and_logged_once() {
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
    let logged = log.text();
    assert_eq!(logged.matches("rejects a text").count(), 1, "{logged}");
    let exported = text(&metrics);
    assert!(
        exported.contains("embedder_texts_refused_total 3"),
        "{exported}"
    );
    serving.abort();
}

#[test]
fn a_long_text_is_cut_between_characters() {
    assert_eq!(cut("größe", 3), "grö");
    assert_eq!(cut("größe", 5), "größe");
    assert_eq!(cut("größe", 9), "größe");
    assert_eq!(cut("", 1), "");
}
