//! `check_adr_alignment` through the gateway: which proposals agree with a repository's decisions.

use std::fs;
use std::path::Path;

use e2e::{Client, Reply, Repo};
use serde_json::{Value, json};

use crate::serve;

/// The repository for which the proposals in `tests/data/adr` were labelled.
fn lanternpost() -> Repo {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/adr/repository");
    let mut repo = Repo::new();
    for folder in ["doc/adr", "docs/decisions", "docs/adr"] {
        for file in fs::read_dir(root.join(folder)).unwrap() {
            let file = file.unwrap();
            let path = format!("{folder}/{}", file.file_name().to_str().unwrap());
            repo = repo.file(&path, fs::read_to_string(file.path()).unwrap());
        }
    }
    repo
}

async fn check(client: &Client, description: &str) -> Reply {
    let arguments = json!({ "decision_description": description });
    let reply = client.call("check_adr_alignment", arguments).await;
    assert!(!reply.is_error(), "{}", reply.text());
    reply
}

fn related<'a>(reply: &'a Reply, id: &str) -> Option<&'a Value> {
    let related = reply.structured()["related_adrs"].as_array().unwrap();
    related.iter().find(|adr| adr["adr_id"] == id)
}

#[tokio::test]
async fn a_conflict_says_with_which_decision_and_quotes_it() {
    let (_stack, client) = serve(lanternpost().commit()).await;
    let reply = check(
        &client,
        "Replace PostgreSQL with CockroachDB for all services.",
    )
    .await;
    let text: Value = serde_json::from_str(reply.text()).unwrap();
    assert_eq!(&text, reply.structured(), "the text is the same JSON");
    assert_eq!(reply.meta("untrusted"), true);
    assert!(reply.meta("commit")["id"].is_string());
    let adr = related(&reply, "0007").unwrap();
    assert_eq!(adr["alignment"], "conflicts");
    assert_eq!(adr["status"], "accepted");
    assert_eq!(adr["uri"], "architecture://adr/0007-use-postgresql");
    assert_eq!(adr["title"], "7. Use PostgreSQL");
    let quote = "We will use PostgreSQL as the database of all services.";
    assert!(adr["reason"].as_str().unwrap().contains(quote), "{adr}");
    let conflicts = reply.structured()["conflicts"].as_array().unwrap();
    assert_eq!(
        conflicts[0]["adr_uri"],
        "architecture://adr/0007-use-postgresql"
    );
    assert!(
        conflicts[0]["conflict_description"]
            .as_str()
            .unwrap()
            .contains(quote)
    );
    let suggestions = reply.structured()["suggestions"].to_string();
    assert!(
        suggestions.contains("supersedes ADR 0007 explicitly"),
        "{suggestions}"
    );
}

#[tokio::test]
async fn a_proposal_that_carries_out_a_decision_is_supported() {
    let (_stack, client) = serve(lanternpost().commit()).await;
    let reply = check(&client, "SMS and label rendering go through RabbitMQ on quorum queues, each with a dead-letter queue that is watched.").await;
    assert_eq!(related(&reply, "0005").unwrap()["alignment"], "supports");
    assert_eq!(reply.structured()["conflicts"], json!([]));
}

#[tokio::test]
async fn a_decisions_status_decides_whether_it_counts() {
    let (_stack, client) = serve(lanternpost().commit()).await;
    let reply = check(
        &client,
        "Go back to storing the parcels in MongoDB, a collection of documents for each courier.",
    )
    .await;
    let superseded = related(&reply, "0002").unwrap();
    assert_eq!(superseded["status"], "superseded");
    assert_eq!(superseded["alignment"], "related");
    assert!(
        superseded["reason"]
            .as_str()
            .unwrap()
            .contains("by ADR 0007"),
        "{superseded}"
    );
    assert_eq!(related(&reply, "0007").unwrap()["alignment"], "conflicts");
    let reply = check(
        &client,
        "Split My Parcels into micro-frontends with module federation.",
    )
    .await;
    let rejected = related(&reply, "20241104-micro-frontends").unwrap();
    assert_eq!(
        (&rejected["status"], &rejected["alignment"]),
        (&json!("rejected"), &json!("conflicts"))
    );
    let reply = check(
        &client,
        "Move CI from Jenkins to GitHub Actions with our own runners.",
    )
    .await;
    let proposed = related(&reply, "0019").unwrap();
    assert_eq!(
        (&proposed["status"], &proposed["alignment"]),
        (&json!("proposed"), &json!("related"))
    );
}

#[tokio::test]
async fn another_subject_finds_nothing_and_says_what_to_do() {
    let (_stack, client) = serve(lanternpost().commit()).await;
    let reply = check(&client, "Paint the fence green.").await;
    assert_eq!(reply.structured()["related_adrs"], json!([]));
    assert_eq!(reply.structured()["conflicts"], json!([]));
    assert!(
        !reply.structured()["suggestions"][0]
            .as_str()
            .unwrap()
            .is_empty()
    );
    let (_stack, client) = serve(Repo::new().file("a.txt", "a").commit()).await;
    let reply = check(&client, "Use PostgreSQL.").await;
    assert!(
        reply.structured()["suggestions"][0]
            .as_str()
            .unwrap()
            .contains("no ADRs")
    );
}

#[tokio::test]
async fn a_closed_decision_neither_counts_nor_is_named() {
    let closed = "deny = [\"doc/adr/0007-*\"]\n";
    let (_stack, client) = serve(lanternpost().file(".archway.toml", closed).commit()).await;
    let reply = check(
        &client,
        "Store parcels in MongoDB instead of PostgreSQL, as documents.",
    )
    .await;
    assert!(related(&reply, "0007").is_none());
    assert!(
        !reply.structured()["conflicts"].to_string().contains("0007"),
        "{}",
        reply.text()
    );
    assert!(
        !reply
            .text()
            .contains("We will use PostgreSQL as the database of all services")
    );
    assert!(related(&reply, "0002").is_some(), "{}", reply.text());
}

#[tokio::test]
async fn hidden_characters_of_a_decision_are_escaped() {
    let text = "# 1. Use PostgreSQL\n\n## Status\n\nAccepted\n\n## Decision\n\nAll services use \
                PostgreSQL as their \u{202e}database.\n";
    let (_stack, client) = serve(Repo::new().file("docs/adr/0001-db.md", text).commit()).await;
    let reply = check(
        &client,
        "Replace PostgreSQL with MySQL as the database of all services.",
    )
    .await;
    let adr = related(&reply, "0001").unwrap();
    assert!(
        adr["reason"]
            .as_str()
            .unwrap()
            .contains("\\u{202e}database"),
        "{adr}"
    );
    assert!(reply.meta("escaped").as_u64().unwrap() > 0);
}

#[tokio::test]
async fn a_proposal_has_bounds_and_words() {
    let (_stack, client) = serve(lanternpost().commit()).await;
    for arguments in [
        json!({}),
        json!({ "decision_description": "" }),
        json!({ "decision_description": "x".repeat(5001) }),
        json!({ "decision_description": "x", "decision_context": "y".repeat(2001) }),
        json!({ "decision_description": "x", "adr": "0007" }),
    ] {
        let reply = client.call("check_adr_alignment", arguments.clone()).await;
        assert_eq!(reply.code(), "invalid_arguments", "{arguments}");
    }
    let camel = json!({ "decisionDescription": "Use Postgres.", "decisionContext": null });
    assert!(!client.call("check_adr_alignment", camel).await.is_error());
}

#[tokio::test]
async fn the_chosen_product_is_no_conflict_and_the_refused_one_is() {
    let record = "# Use PostgreSQL\n\n## Status\n\nAccepted\n\n## Decision\n\n\
                  We will use PostgreSQL for all data. We will not use MongoDB.\n";
    let repo = Repo::new().file("docs/adr/0001-use-postgresql.md", record);
    let (_stack, client) = serve(repo.commit()).await;
    for (proposal, conflicts) in [
        ("Store sessions in PostgreSQL.", 0),
        ("Sessions are kept in PostgreSQL, as ADR 1 says.", 0),
        ("We will store parcels in MongoDB.", 1),
        ("Keep sessions in MongoDB instead of PostgreSQL.", 1),
    ] {
        let reply = check(&client, proposal).await;
        let found = reply.structured()["conflicts"].as_array().unwrap().len();
        assert_eq!(found, conflicts, "{proposal}: {}", reply.text());
    }
}
