//! An embedding service behind the index: what it is sent, and what is found without it.

use std::collections::BTreeSet;
use std::fs;

use e2e::{Client, Embeddings, Harness, Mishap, Reply, Stack, Tenant, git};
use serde_json::{Value, json};
use tokio::time::{Duration, Instant};

use super::{paths, repo, search, until};

const DIMENSIONS: usize = 256;
/// The deadline of a call.
const DEADLINE: Duration = Duration::from_secs(30);

/// A project whose index has vectors of the service.
async fn served() -> (Embeddings, Stack, Client) {
    let service = Embeddings::start(DIMENSIONS).await;
    let tenant = Tenant::new("acme").project("site", repo());
    let harness = Harness::new().tenant(tenant).indexing();
    let stack = harness.embedder(&service).start().await;
    let client = stack.client("acme");
    let reply = search(&stack, &client, json!({ "query": "weather report" })).await;
    assert_eq!(mode(&reply), "hybrid");
    (service, stack, client)
}

fn mode(reply: &Reply) -> &Value {
    &reply.structured()["index"]["mode"]
}

fn refusing() -> Option<Mishap> {
    Some(Mishap::Status(500, Vec::new()))
}

#[tokio::test]
async fn a_rename_embeds_nothing_and_a_change_only_changed_texts() {
    let (service, stack, client) = served().await;
    let asked = service.requests().len();
    let folder = stack.folder("acme", "site");
    git(&folder, &["mv", "src/weather", "src/forecast"]);
    git(&folder, &["commit", "-qm", "moved"]);
    let moved = "src/forecast/report.rs";
    let query = json!({ "query": "weather report" });
    until(&stack, &client, query, |found| found["path"] == moved).await;
    assert_eq!(
        service.requests().len(),
        asked,
        "the query was asked before"
    );

    fs::write(folder.join("snow.txt"), "snow lies on the hills\n").unwrap();
    git(&folder, &["add", "-A"]);
    git(&folder, &["commit", "-qm", "snow"]);
    let query = json!({ "query": "snow on hills" });
    until(&stack, &client, query, |found| found["path"] == "snow.txt").await;
    let questions = service.requests();
    let texts = questions[asked..]
        .iter()
        .flat_map(e2e::EmbeddingRequest::texts);
    let texts: BTreeSet<String> = texts.map(|text| text.trim().to_owned()).collect();
    let expected = ["snow lies on the hills", "snow on hills"];
    assert_eq!(texts, BTreeSet::from(expected.map(str::to_owned)));
    assert_eq!(questions.len(), asked + 2, "each once");
}

#[tokio::test]
async fn without_the_service_words_answer_and_say_so_until_it_is_back() {
    let (service, stack, client) = served().await;
    for mishap in [refusing(), Some(Mishap::Cut), Some(Mishap::Dimensions(3))] {
        let name = format!("{mishap:?}");
        service.always(mishap);
        let query = json!({ "query": format!("temperature of the weather, {}", name.len()) });
        let asked = Instant::now();
        let reply = client.call("context_search", query).await;
        assert!(asked.elapsed() < DEADLINE, "{name}");
        assert_eq!(mode(&reply), "lexical", "{name}");
        assert_eq!(paths(&reply)[0], "src/weather/report.rs");
        assert!(reply.structured()["results"][0]["ranking"]["semantic"].is_null());
        assert!(reply.text().contains("(lexical)"), "{}", reply.text());
        let note = reply.structured()["note"].as_str().unwrap();
        assert!(note.contains("embedding service"), "{note}");
        assert!(reply.text().contains(note), "{}", reply.text());
    }
    let query = json!({ "query": "zebra crossing" });
    let refused = client.call("context_search", query).await;
    assert_eq!(refused.code(), "embedding_unavailable");
    let suggestion = refused.error()["suggestion"].as_str().unwrap();
    assert!(suggestion.contains("grep_codebase"), "{suggestion}");
    service.always(None);
    stack
        .eventually(async || {
            let query = json!({ "query": "the weather again" });
            let reply = client.call("context_search", query).await;
            (mode(&reply) == "hybrid").then_some(())
        })
        .await;
}

#[tokio::test]
async fn a_service_that_hangs_takes_no_more_than_half_of_a_calls_time() {
    let (service, _stack, client) = served().await;
    service.always(Some(Mishap::Hang));
    let query = json!({ "query": "temperature of the weather" });
    let asked = Instant::now();
    let reply = client.call("context_search", query).await;
    assert!(asked.elapsed() < DEADLINE / 2, "{:?}", asked.elapsed());
    assert_eq!(mode(&reply), "lexical");
    assert_eq!(paths(&reply)[0], "src/weather/report.rs");
}

#[tokio::test]
async fn a_repeated_query_uses_the_cached_vector() {
    let (service, _stack, client) = served().await;
    service.always(refusing());
    let again = json!({ "query": "weather report" });
    let reply = client.call("context_search", again).await;
    assert_eq!(mode(&reply), "hybrid");
}

#[tokio::test]
async fn a_file_that_was_closed_is_no_word_that_answers_without_the_service() {
    let (service, stack, client) = served().await;
    let owner = super::owner(&stack).await;
    let close = "update projects set close_globs = array['src/weather/']";
    sqlx::query(close).execute(&owner).await.unwrap();
    owner.close().await;
    service.always(refusing());
    // As if the vectors came from another service.
    stack
        .eventually(async || {
            let query = json!({ "query": "temperature" });
            let reply = client.call("context_search", query).await;
            (reply.is_error() && reply.code() == "embedding_unavailable").then_some(())
        })
        .await;
}

#[tokio::test]
async fn one_of_two_workers_indexes_a_project_and_both_search_it() {
    let service = Embeddings::start(DIMENSIONS).await;
    let mut repo = repo();
    for number in 0..200 {
        repo = repo.file(&format!("docs/{number}.txt"), format!("pearl {number}\n"));
    }
    let tenant = Tenant::new("acme").project("site", repo.commit());
    let harness = Harness::new().tenant(tenant).indexing().workers(2);
    let stack = harness.embedder(&service).start().await;
    let client = stack.client("acme");
    let query = json!({ "query": "pearl 77" });
    search(&stack, &client, query.clone()).await.structured();
    // Any of the equal workers may serve a call.
    for _ in 0..8 {
        let reply = client.call("context_search", query.clone()).await;
        assert_eq!(paths(&reply)[0], "docs/77.txt");
    }
    let questions = service.requests();
    let texts = questions.iter().flat_map(e2e::EmbeddingRequest::texts);
    let texts: Vec<String> = texts.filter(|text| text != "pearl 77").collect();
    let once: BTreeSet<&String> = texts.iter().collect();
    assert_eq!((texts.len(), once.len()), (202, 202));
}

#[tokio::test]
async fn a_text_the_service_refuses_is_found_by_words_and_blocks_no_other() {
    let service = Embeddings::start(DIMENSIONS).await;
    service.always(Some(Mishap::Dislikes("constant_time_eq")));
    let tenant = Tenant::new("acme").project("site", repo());
    let harness = Harness::new().tenant(tenant).indexing();
    let stack = harness.embedder(&service).start().await;
    let client = stack.client("acme");
    // With a filter every match is ranked, however far.
    let query = json!({ "query": "password or weather", "path_glob": "**" });
    let reply = search(&stack, &client, query).await;
    assert_eq!(mode(&reply), "hybrid");
    let semantic = |path: &str| {
        let mut found = super::results(&reply).iter();
        let found = found.find(|found| found["path"] == path).unwrap();
        found["ranking"]["semantic"].clone()
    };
    assert_eq!(semantic("src/auth/password.rs"), Value::Null);
    assert!(semantic("src/weather/report.rs").is_number());
    assert_eq!(reply.structured()["index"]["behind"], 0);
}
