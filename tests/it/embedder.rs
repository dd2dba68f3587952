//! The embedding client against a service: what it returns, what failures cost, and that no text, key or
//! answer leaks into errors.

mod failures;
mod confined;

use std::time::Duration;

use archway_index::embed::{EmbedError, Embedder, EmbedderConfig};
use archway_store::ProjectKey;
use e2e::{Embeddings, Mishap};
use tokio::time::{Instant, timeout};
use uuid::Uuid;

const DIMENSIONS: usize = 24;
const KEY: &str = "sk-sesame-key";
/// How long a test waits for success.
const PATIENCE: Duration = Duration::from_secs(20);

fn config(service: &Embeddings) -> EmbedderConfig {
    EmbedderConfig {
        embedder_url: Some(service.url()),
        embedder_key: Some(KEY.into()),
        embedder_model: Some("words".to_owned()),
        embedder_dimensions: DIMENSIONS.try_into().ok(),
        embedder_batch: 2.try_into().unwrap(),
        ..EmbedderConfig::default()
    }
}

async fn served() -> (Embeddings, Embedder) {
    let service = Embeddings::start(DIMENSIONS).await;
    let embedder = Embedder::open(&config(&service)).unwrap();
    (service, embedder)
}

fn soon() -> Instant {
    Instant::now() + PATIENCE
}

fn texts<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.map(str::to_owned).to_vec()
}

fn project_key() -> ProjectKey {
    ProjectKey {
        tenant: Uuid::new_v4(),
        project: Uuid::new_v4(),
    }
}

/// Whether the vector is the service's for a text.
fn is_of(service: &Embeddings, text: &str, vector: &[f32]) -> bool {
    let made = service.vector(text);
    let differences = made.iter().zip(vector).map(|(a, b)| (a - b).abs());
    made.len() == vector.len() && differences.fold(0.0, f32::max) < 1e-5
}

#[tokio::test]
async fn each_text_gets_its_vector_in_batches_and_blank_ones_are_never_sent() {
    let (service, embedder) = served().await;
    let all = texts([
        "parse a header",
        "",
        "open",
        " \n",
        "the main loop",
        "a b",
        "größe",
    ]);
    let vectors = embedder.texts(&all, soon()).await.unwrap();
    assert_eq!(vectors.len(), all.len());
    for (text, vector) in all.iter().zip(&vectors) {
        match vector {
            Some(vector) => assert!(is_of(&service, text, vector), "{text}"),
            None => assert!(text.trim().is_empty(), "{text}"),
        }
    }
    assert_eq!(vectors.iter().flatten().count(), 5);
    let questions = service.requests();
    assert_eq!(questions.len(), 3, "5 texts, 2 a request");
    for question in questions {
        assert!(question.texts().iter().all(|text| !text.trim().is_empty()));
        assert_eq!(question.path, "/v1/embeddings");
        assert_eq!(question.authorization.unwrap(), format!("Bearer {KEY}"));
        assert_eq!(question.body["model"], "words");
        assert!(question.body.get("dimensions").is_none());
    }
    let model = embedder.model().unwrap();
    assert_eq!((model.name.as_str(), model.dimensions), ("words@24", 24));
}

#[tokio::test]
async fn no_texts_cause_no_request_and_long_texts_are_cut_as_configured() {
    let service = Embeddings::start(DIMENSIONS).await;
    let mut config = config(&service);
    config.embedder_text_chars = 6.try_into().unwrap();
    config.embedder_ask_dimensions = true;
    config.embedder_key = None;
    let embedder = Embedder::open(&config).unwrap();
    assert!(embedder.texts(&[], soon()).await.unwrap().is_empty());
    let blank = embedder.texts(&texts(["", "\t"]), soon()).await.unwrap();
    assert_eq!(blank, [None, None]);
    assert!(service.requests().is_empty());
    let long = texts(["größte Zahl"]);
    let vectors = embedder.texts(&long, soon()).await.unwrap();
    assert!(is_of(&service, "größte", vectors[0].as_ref().unwrap()));
    let question = &service.requests()[0];
    assert_eq!(question.texts(), ["größte"]);
    assert_eq!(question.body["dimensions"], DIMENSIONS);
    assert_eq!(question.authorization, None);
}

#[tokio::test]
async fn queries_and_documents_get_the_models_prefixes() {
    let service = Embeddings::start(DIMENSIONS).await;
    let mut config = config(&service);
    let plain = Embedder::open(&config).unwrap().model().cloned().unwrap();
    config.prefixes.embedder_query_prefix = Some("query: ".to_owned());
    let asking = Embedder::open(&config).unwrap().model().cloned().unwrap();
    assert_eq!(asking, plain, "the vectors of an index are what they were");
    config.prefixes.embedder_document_prefix = Some("größe: ".to_owned());
    config.embedder_text_chars = 14.try_into().unwrap();
    let embedder = Embedder::open(&config).unwrap();
    let model = embedder.model().unwrap();
    assert_eq!(model.name.len(), "words@24+".len() + 8, "{}", model.name);
    let made = embedder
        .texts(&texts(["größte Zahl"]), soon())
        .await
        .unwrap();
    assert!(is_of(&service, "größe: größte ", made[0].as_ref().unwrap()));
    let made = embedder.query(project_key(), "main", soon()).await.unwrap();
    assert!(is_of(&service, "query: main", &made.unwrap()));
    let asked = service.requests();
    let asked: Vec<String> = asked
        .iter()
        .flat_map(e2e::EmbeddingRequest::texts)
        .collect();
    assert_eq!(asked, ["größe: größte ", "query: main"]);
}

#[tokio::test]
async fn a_query_is_embedded_once_per_project() {
    let (service, embedder) = served().await;
    let (ours, theirs) = (project_key(), project_key());
    for _ in 0..3 {
        let vector = embedder.query(ours, "where is main", soon()).await.unwrap();
        assert!(is_of(&service, "where is main", &vector.unwrap()));
    }
    assert_eq!(service.requests().len(), 1);
    embedder
        .query(theirs, "where is main", soon())
        .await
        .unwrap();
    assert_eq!(service.requests().len(), 2);
    let nothing = embedder.query(ours, "  ", soon()).await.unwrap();
    assert!(nothing.is_none());
    assert_eq!(service.requests().len(), 2);
}

#[tokio::test]
async fn a_query_does_not_wait_behind_the_index() {
    let (service, embedder) = served().await;
    service.always(Some(Mishap::Hang));
    let many: Vec<String> = (0..40).map(|number| format!("text {number}")).collect();
    let indexing = async {
        let deadline = Instant::now() + PATIENCE;
        embedder.texts(&many, deadline).await
    };
    let querying = async {
        until(|| service.requests().len() == 3).await;
        service.always(None);
        let vector = embedder.query(project_key(), "where is main", soon()).await;
        assert!(vector.unwrap().is_some());
    };
    tokio::select! {
        indexed = indexing => panic!("the index was to hang: {indexed:?}"),
        () = querying => {}
    }
    assert_eq!(
        service.requests().len(),
        4,
        "no more than 3 of the index at once"
    );
}

#[tokio::test]
async fn without_a_service_the_table_embeds_and_embedder_none_does_not() {
    let table = Embedder::open(&EmbedderConfig::default()).unwrap();
    let all = texts(["parse the header", ""]);
    let vectors = table.texts(&all, soon()).await.unwrap();
    let dimensions = table.model().unwrap().dimensions;
    assert_eq!(vectors[0].as_ref().unwrap().len(), dimensions);
    assert_eq!(vectors[1], None);
    let query = table.query(project_key(), "parse the header", soon()).await;
    assert_eq!(query.unwrap().as_deref(), vectors[0].as_deref());
    let late = table.texts(&all, Instant::now()).await;
    assert!(matches!(late, Err(EmbedError::Late)), "{late:?}");
    let none = EmbedderConfig {
        embedder: Some(archway_index::embed::EmbedderKind::None),
        ..EmbedderConfig::default()
    };
    let none = Embedder::open(&none).unwrap();
    assert_eq!(none.model(), None);
    assert_eq!(none.texts(&all, soon()).await.unwrap(), [None, None]);
    assert!(
        none.query(project_key(), "main", soon())
            .await
            .unwrap()
            .is_none()
    );
}

/// Waits for a condition.
async fn until(condition: impl Fn() -> bool) {
    let met = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, met).await.expect("the condition is met");
}
