//! An embedding service behind the search: what it is sent, and what is found without it.

use e2e::{Client, Embeddings, Harness, Mishap, Stack, Tenant};
use tokio::time::{Duration, Instant};

use super::{documented, results, search, uris};

const DIMENSIONS: usize = 256;
/// The default deadline of a call.
const DEADLINE: Duration = Duration::from_secs(10);

async fn served() -> (Embeddings, Stack, Client) {
    let service = Embeddings::start(DIMENSIONS).await;
    let acme = Tenant::new("acme").project("site", documented().commit());
    let stack = Harness::new().tenant(acme).embedder(&service).start().await;
    let client = stack.client("acme");
    (service, stack, client)
}

fn score(reply: &e2e::Reply) -> f64 {
    results(reply)[0]["relevance_score"].as_f64().unwrap()
}

#[tokio::test]
async fn each_document_is_embedded_once() {
    let (service, _stack, client) = served().await;
    let first = search(&client, "kafka events").await;
    let asked = service.requests();
    let texts: Vec<String> = asked
        .iter()
        .flat_map(e2e::EmbeddingRequest::texts)
        .collect();
    assert!(
        texts.iter().any(|text| text.contains("at their own pace")),
        "{texts:?}"
    );
    assert!(
        !texts
            .iter()
            .any(|text| text.contains("Decisions about orders")),
        "an index page"
    );
    let again = search(&client, "kafka events").await;
    assert_eq!(results(&first), results(&again));
    assert_eq!(
        service.requests().len(),
        asked.len(),
        "all vectors are cached"
    );
    search(&client, "trace").await;
    assert_eq!(service.requests().len(), asked.len() + 1, "the query alone");
}

#[tokio::test]
async fn without_the_service_words_answer_and_soon() {
    let (service, _stack, client) = served().await;
    for mishap in [
        Mishap::Status(500, Vec::new()),
        Mishap::Hang,
        Mishap::Dimensions(3),
    ] {
        let name = format!("{mishap:?}");
        service.always(Some(mishap));
        let asked = Instant::now();
        let reply = search(&client, "kafka").await;
        assert!(
            asked.elapsed() < DEADLINE / 2,
            "{name}: {:?}",
            asked.elapsed()
        );
        assert_eq!(uris(&reply), ["architecture://adr/0002-events"], "{name}");
    }
}

#[tokio::test]
async fn when_the_service_is_back_vectors_count_again() {
    let (service, stack, client) = served().await;
    service.always(Some(Mishap::Cut));
    let by_words = score(&search(&client, "kafka").await);
    service.always(None);
    stack
        .eventually(async || {
            let reply = search(&client, "kafka").await;
            let is_other = (score(&reply) - by_words).abs() > 1e-9;
            is_other.then_some(())
        })
        .await;
}
