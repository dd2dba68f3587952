//! Archway's own decision records and pattern, as Archway itself reads them.

use std::fs;

use e2e::{Client, Repo};
use serde_json::{Value, json};

use super::{search, uris};
use crate::serve;
use crate::tidy::root;

/// A repository with this project's records and patterns, and nothing else.
fn own_documents() -> Repo {
    let mut repo = Repo::new();
    for folder in ["docs/adr", "docs/architecture/patterns"] {
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let entry = entry.unwrap();
            let path = format!("{folder}/{}", entry.file_name().to_str().unwrap());
            repo = repo.file(&path, fs::read(entry.path()).unwrap());
        }
    }
    repo.commit()
}

/// The number of the record that begins with these words.
fn number(slug: &str) -> String {
    let records = fs::read_dir(root().join("docs/adr")).unwrap();
    let names = records.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut numbers = names.filter_map(|name| {
        let (number, rest) = name.split_once('-')?;
        (rest == format!("{slug}.md")).then(|| number.to_owned())
    });
    numbers.next().unwrap_or_else(|| panic!("no record {slug}"))
}

async fn alignment(client: &Client, proposal: &str, slug: &str) -> Value {
    let arguments = json!({ "decision_description": proposal });
    let reply = client.call("check_adr_alignment", arguments).await;
    assert!(!reply.is_error(), "{}", reply.text());
    let related = reply.structured()["related_adrs"].as_array().unwrap();
    let id = number(slug);
    let record = related.iter().find(|adr| adr["adr_id"] == id.as_str());
    record
        .unwrap_or_else(|| panic!("{proposal}: {related:?}"))
        .clone()
}

#[tokio::test]
async fn a_search_finds_our_own_record_of_a_topic_first() {
    let (_stack, client) = serve(own_documents()).await;
    for (topic, slug) in [
        ("governor crate", "governor-bounds-single-buckets"),
        ("six buckets of a call", "limits-are-our-own-gcra"),
        (
            "retry of a call whose worker died",
            "retries-depend-on-how-a-try-ended",
        ),
        (
            "TLS between gateway and workers",
            "tls-to-workers-beneath-tonic",
        ),
        (
            "circuit breaker thresholds",
            "circuit-thresholds-are-constants",
        ),
        ("DNS resolver failure", "dns-failures-keep-known-workers"),
        ("session handles", "sessions-belong-to-the-message"),
        (
            "poll HEAD, file notifications",
            "heads-are-polled-by-file-states",
        ),
        ("git diff rename detection", "diffs-are-our-own"),
    ] {
        let reply = search(&client, topic).await;
        let uri = format!("architecture://adr/{}-{slug}", number(slug));
        assert_eq!(uris(&reply).first(), Some(&uri.as_str()), "{topic}");
    }
}

#[tokio::test]
async fn a_proposal_against_our_own_record_conflicts_with_it() {
    let (_stack, client) = serve(own_documents()).await;
    for (proposal, slug) in [
        (
            "Use tonic's own TLS feature for connections to workers.",
            "tls-to-workers-beneath-tonic",
        ),
        (
            "Use PostgreSQL's text parser to search memory.",
            "memory-is-searched-by-plain-words",
        ),
        (
            "Run migrations in a Helm hook by default.",
            "migrations-run-in-an-init-container",
        ),
        (
            "Use a parent-death signal to stop the embedded PostgreSQL.",
            "embedded-postgres-is-held-by-a-pipe",
        ),
    ] {
        let record = alignment(&client, proposal, slug).await;
        assert_eq!(record["alignment"], "conflicts", "{proposal}: {record}");
        assert_eq!(record["status"], "accepted");
    }
}

#[tokio::test]
async fn a_proposal_that_carries_out_our_own_record_supports_it() {
    let (_stack, client) = serve(own_documents()).await;
    for (proposal, slug) in [
        (
            "Poll HEADs by the states of files.",
            "heads-are-polled-by-file-states",
        ),
        (
            "A lost call has at most three tries, all within one deadline.",
            "retries-depend-on-how-a-try-ended",
        ),
    ] {
        let record = alignment(&client, proposal, slug).await;
        assert_eq!(record["alignment"], "supports", "{proposal}: {record}");
    }
}

#[tokio::test]
async fn our_own_pattern_finds_code_that_may_panic() {
    let (_stack, client) = serve(own_documents()).await;
    for (code, compliant) in [
        ("fn a() -> Option<u8> { b().ok() }", true),
        ("fn a() -> u8 { b().unwrap() }", false),
        ("fn a() -> u8 { panic!(\"no\") }", false),
    ] {
        let arguments = json!({
            "code": code, "pattern_name": "errors-are-values", "language": "rust"
        });
        let reply = client.call("validate_pattern", arguments).await;
        assert!(!reply.is_error(), "{}", reply.text());
        assert_eq!(reply.structured()["compliant"], compliant, "{code}");
    }
}
