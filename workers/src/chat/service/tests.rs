//! Requests to a chat model over a socket: what is sent, counted and logged. End-to-end tests cover
//! what becomes of the answers.

use archway_index::openai::testing::{self, Log, Reply};
use prometheus_client::{encoding::text::encode, registry::Registry};
use serde_json::json;
use tokio::task::JoinHandle;

use super::*;

const KEY: &str = "sk-sesame-key";
const ANSWER: &str = r#"{"choices":[{"message":{"content":"aye"}}],"usage":{"total_tokens":7}}"#;

async fn serve(answer: Reply) -> (ChatService, JoinHandle<()>) {
    let (url, serving) = testing::serve(answer).await;
    let config = ChatConfig {
        chat_url: Some(url),
        chat_key: Some(KEY.into()),
        chat_model: Some("words".to_owned()),
        ..ChatConfig::default()
    };
    let service = ChatService::open(&config).unwrap();
    (service.expect("a service is configured"), serving)
}

async fn ask(service: &ChatService) -> Result<String, ChatError> {
    let request = ChatRequest {
        instructions: "Say aye.",
        data: json!({ "text": "sesame \"text\"" }),
        form: "aye",
        schema: json!({ "type": "string" }),
    };
    let deadline = Instant::now() + Duration::from_secs(5);
    service.send(&request, deadline).await
}

fn text(service: &ChatService) -> String {
    let mut registry = Registry::default();
    service.metrics().register(&mut registry);
    let mut text = String::new();
    encode(&mut text, &registry).unwrap();
    text
}

#[tokio::test]
async fn untrusted_text_is_sent_as_json_apart_from_the_instructions() {
    let (service, serving) = serve(|body| {
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(body["model"], "words");
        assert_eq!(body["temperature"], 0.0);
        assert_eq!(body["response_format"]["type"], "json_schema");
        assert_eq!(body["messages"][0]["role"], "system");
        assert_eq!(body["messages"][0]["content"], "Say aye.");
        assert_eq!(body["messages"][1]["role"], "user");
        let data = body["messages"][1]["content"].as_str().unwrap();
        assert_eq!(data, r#"{"text":"sesame \"text\""}"#);
        assert!(body.get("stream").is_none());
        (200, ANSWER.to_owned())
    })
    .await;
    assert_eq!(ask(&service).await.unwrap(), "aye");
    serving.abort();
}

#[tokio::test]
async fn a_rejected_form_is_replaced_by_a_plainer_one() {
    let (service, serving) = serve(|body| match body.contains("response_format") {
        true => (400, body.to_owned()),
        false => (200, ANSWER.to_owned()),
    })
    .await;
    for _ in 0..3 {
        assert_eq!(ask(&service).await.unwrap(), "aye");
    }
    let output = text(&service);
    for line in [
        r#"chat_requests_total{outcome="refused"} 2"#,
        r#"chat_requests_total{outcome="answered"} 3"#,
        "chat_request_duration_seconds_count 5",
        "chat_tokens_total 21",
        "chat_circuit_state 0",
    ] {
        assert!(output.contains(line), "{line} in {output}");
    }
    serving.abort();
}

#[tokio::test]
async fn a_request_rejected_in_each_form_does_not_affect_the_next() {
    let (service, serving) = serve(|_| (422, String::new())).await;
    for _ in 0..2 {
        let refused = ask(&service).await.unwrap_err();
        assert_eq!(refused.code(), "refused");
    }
    let output = text(&service);
    let line = r#"chat_requests_total{outcome="refused"} 8"#;
    assert!(output.contains(line), "{output}");
    assert_eq!(service.accepted.first(), 0);
    serving.abort();
}

#[tokio::test]
async fn an_empty_answer_does_not_open_the_circuit() {
    let empty_answers: [Reply; 2] = [
        |_| (200, r#"{"choices":[]}"#.to_owned()),
        |_| {
            (
                200,
                r#"{"choices":[{"message":{"content":null,"refusal":"no"}}]}"#.to_owned(),
            )
        },
    ];
    for reply in empty_answers {
        let (service, serving) = serve(reply).await;
        for _ in 0..6 {
            assert_eq!(ask(&service).await.unwrap(), "");
        }
        serving.abort();
    }
}

#[tokio::test]
async fn a_failing_service_opens_the_circuit() {
    let (service, serving) = serve(|_| (503, String::new())).await;
    for _ in 0..5 {
        assert_eq!(ask(&service).await.unwrap_err().code(), "failed");
    }
    assert_eq!(ask(&service).await.unwrap_err().code(), "resting");
    let output = text(&service);
    assert!(output.contains("chat_circuit_state 2"), "{output}");
    serving.abort();
}

#[tokio::test]
async fn no_text_key_or_answer_is_logged() {
    let echoes: [Reply; 4] = [
        |body| (500, body.to_owned()),
        |body| (400, body.to_owned()),
        |body| (200, body.to_owned()),
        |body| (200, format!("you said {body}")),
    ];
    let log = Log::default();
    // With a single subscriber, the first thread that meets an event decides for all threads
    // whether it is enabled. That may be another test's thread, which has no subscriber.
    let _second = tracing::Dispatch::new(Log::default());
    let _logged = tracing::subscriber::set_default(log.clone());
    for echo in echoes {
        let (service, serving) = serve(echo).await;
        for _ in 0..6 {
            let error = ask(&service).await.unwrap_err();
            let output = format!("{error} {error:?}");
            assert!(!output.contains("sesame"), "{output}");
        }
        serving.abort();
    }
    let output = log.text();
    let opened = output.matches("the chat model fails").count();
    assert_eq!(opened, 3, "all but 400 open the circuit: {output}");
    assert!(!output.contains("sesame"), "{output}");
}
