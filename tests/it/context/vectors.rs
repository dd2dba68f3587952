//! Words first, vectors later: an embedding service that is down from the start, and comes back.

use std::fs;
use std::path::Path;

use e2e::{Client, Embeddings, Harness, Mishap, Qdrant, Reply, Stack, Tenant, git};
use serde_json::{Value, json};
use tokio::time::{Duration, Instant, sleep};

use super::{paths, repo, results, search, until};

const DIMENSIONS: usize = 64;
/// How soon a search by words must answer, whatever the service does.
const SECONDS: Duration = Duration::from_secs(25);
/// How soon a recovered service is used: first its circuit and then a project rest, for a minute at most.
const BACK: Duration = Duration::from_secs(150);

fn refusing() -> Option<Mishap> {
    Some(Mishap::Status(503, Vec::new()))
}

/// A project whose embedding service fails like this from the start.
async fn started(qdrant: Option<&Qdrant>, mishap: Option<Mishap>) -> (Embeddings, Stack, Client) {
    let service = Embeddings::start(DIMENSIONS).await;
    service.always(mishap);
    let tenant = Tenant::new("acme").project("site", repo());
    let mut harness = Harness::new().tenant(tenant).indexing().embedder(&service);
    if let Some(qdrant) = qdrant {
        harness = harness.qdrant(qdrant);
    }
    let stack = harness.start().await;
    let client = stack.client("acme");
    (service, stack, client)
}

fn mode(reply: &Reply) -> &Value {
    &reply.structured()["index"]["mode"]
}

/// Lists every file by its distance.
fn all(number: u32) -> Value {
    json!({ "query": format!("weather of place {number}"), "path_glob": "**", "limit": 20 })
}

fn commit(folder: &Path, path: &str, content: &str) {
    fs::write(folder.join(path), content).unwrap();
    git(folder, &["add", "-A"]);
    git(folder, &["commit", "-qm", path]);
}

/// Asserts that the answer is by words alone and says that vectors are missing.
fn is_lexical(reply: &Reply) {
    assert_eq!(mode(reply), "lexical");
    assert!(reply.text().contains("(lexical)"), "{}", reply.text());
    let note = reply.structured()["note"].as_str().unwrap();
    assert!(note.contains("embedding service"), "{note}");
    for found in results(reply) {
        assert_eq!(found["ranking"]["semantic"], Value::Null);
    }
}

/// Waits until vectors count: then every file has a vector.
async fn becomes_hybrid(client: &Client, files: usize) {
    let deadline = Instant::now() + BACK;
    for number in 0.. {
        let reply = client.call("context_search", all(number)).await;
        if mode(&reply) == "hybrid" {
            assert_eq!(results(&reply).len(), files, "{}", reply.text());
            for found in results(&reply) {
                assert!(found["ranking"]["semantic"].is_number(), "{found}");
            }
            assert_eq!(reply.structured()["index"]["behind"], 0);
            return;
        }
        is_lexical(&reply);
        assert!(Instant::now() < deadline, "vectors follow");
        sleep(Duration::from_millis(200)).await;
    }
}

/// The test for both vector stores.
async fn words_answer_first_and_vectors_follow(qdrant: Option<&Qdrant>) {
    let begun = Instant::now();
    let (service, mut stack, client) = started(qdrant, refusing()).await;
    let query = json!({ "query": "temperature of the weather" });
    let reply = search(&stack, &client, query).await;
    assert!(begun.elapsed() < SECONDS, "{:?}", begun.elapsed());
    is_lexical(&reply);
    assert_eq!(paths(&reply)[0], "src/weather/report.rs");

    let folder = stack.folder("acme", "site");
    commit(&folder, "snow.txt", "snow lies on the hills\n");
    let query = json!({ "query": "snow on the hills" });
    let is_snow = |found: &Value| found["path"] == "snow.txt";
    is_lexical(&until(&stack, &client, query, is_snow).await);

    stack.restart_workers().await;
    commit(&folder, "rain.txt", "rain falls into the valley\n");
    let query = json!({ "query": "rain in the valley" });
    let is_rain = |found: &Value| found["path"] == "rain.txt";
    is_lexical(&until(&stack, &client, query, is_rain).await);

    service.always(None);
    becomes_hybrid(&client, 4).await;
    let texts = service.requests().len();
    commit(&folder, "hail.txt", "hail breaks the glass\n");
    let query = json!({ "query": "hail on glass" });
    let is_hail = |found: &Value| found["path"] == "hail.txt";
    let reply = until(&stack, &client, query, is_hail).await;
    assert_eq!(mode(&reply), "hybrid", "what is new has its vector at once");
    assert!(service.requests().len() <= texts + 2, "and no other again");
}

#[tokio::test]
async fn postgres_answers_by_words_until_the_embedding_service_is_up() {
    words_answer_first_and_vectors_follow(None).await;
}

#[tokio::test]
async fn qdrant_answers_by_words_until_the_embedding_service_is_up() {
    let qdrant = Qdrant::start().await;
    words_answer_first_and_vectors_follow(Some(&qdrant)).await;
}

#[tokio::test]
async fn a_hanging_service_does_not_delay_search_by_words_for_long() {
    let begun = Instant::now();
    let (_service, stack, client) = started(None, Some(Mishap::Hang)).await;
    let query = json!({ "query": "temperature of the weather" });
    let reply = search(&stack, &client, query).await;
    assert!(begun.elapsed() < SECONDS, "{:?}", begun.elapsed());
    is_lexical(&reply);
    let nothing = json!({ "query": "zebra crossing" });
    let refused = client.call("context_search", nothing).await;
    assert_eq!(refused.code(), "embedding_unavailable");
}

#[tokio::test]
async fn an_index_that_gets_its_vectors_records_the_new_count_of_chunks() {
    let (service, stack, client) = started(None, refusing()).await;
    search(&stack, &client, json!({ "query": "weather report" })).await;
    let owner = super::owner(&stack).await;
    // As if its texts had been cut into more chunks when they were indexed by words.
    let more = sqlx::query("update indexes set chunks = chunks + 5");
    more.execute(&owner).await.unwrap();
    service.always(None);
    let is_noted = async || {
        let noted = "select i.edition > 0 and i.chunks = (select sum(t.chunks) from index_texts t) \
                     from indexes i where not i.lacks_vectors";
        let noted = sqlx::query_scalar::<_, bool>(noted);
        noted.fetch_optional(&owner).await.unwrap()
    };
    assert!(stack.eventually(is_noted).await);
}

#[tokio::test]
async fn an_unreachable_service_is_retried_rarely_and_the_index_stays() {
    let (service, stack, client) = started(None, refusing()).await;
    search(&stack, &client, json!({ "query": "weather report" })).await;
    let owner = super::owner(&stack).await;
    let edition = async || {
        let edition = sqlx::query_scalar::<_, i64>("select edition from indexes");
        edition.fetch_one(&owner).await.unwrap()
    };
    let (before, asked) = (edition().await, service.requests().len());
    let since = Instant::now();
    // The last attempt of the first run may still come. Then the circuit stays open for 2 s, then 4 s.
    let asked_more = async || (service.requests().len() >= asked + 3).then_some(());
    stack.eventually(asked_more).await;
    let elapsed = since.elapsed();
    assert!(elapsed > Duration::from_secs(4), "{elapsed:?}");
    assert_eq!(
        edition().await,
        before,
        "nothing new, nothing to be read anew"
    );
    let failure = sqlx::query_scalar::<_, Option<String>>("select failure from indexes");
    let failure = failure.fetch_one(&owner).await.unwrap().unwrap();
    assert!(failure.contains("only words are indexed"), "{failure}");
}
