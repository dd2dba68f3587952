//! `context_search`: results fit the query, belong to the stated commit, and come soon.

mod behind;
mod database;
mod every_project;
mod filters;
mod hidden;
mod left_out;
mod linked;
mod named;
mod notes;
mod outage;
mod quiet;
mod reads;
mod reports;
mod rules;
mod service;
mod text;
mod unreadable;
mod vectors;

use std::fs;

use e2e::{Client, Harness, Reply, Repo, Stack, Tenant, git};
use serde_json::{Value, json};
use sqlx::PgPool;

const AUTH: &str = "\
/// Checks that the password of a user is the one that was set, in constant time.
pub fn verify_password(user: &User, given: &str) -> bool {
    constant_time_eq(user.hash.as_bytes(), hash(given).as_bytes())
}
";
const PARSE: &str = "\
/// Reads the temperature from a line of the weather report.
pub fn parse_temperature(line: &str) -> Option<f32> {
    line.split_whitespace().nth(3)?.parse().ok()
}
";

fn repo() -> Repo {
    Repo::new()
        .file("src/auth/password.rs", AUTH)
        .file("src/weather/report.rs", PARSE)
        .file(".env", "PASSWORD=verify user password set constant time\n")
        .commit()
}

async fn indexed(repo: Repo) -> (Stack, Client) {
    let tenant = Tenant::new("acme").project("site", repo);
    let stack = Harness::new().tenant(tenant).indexing().start().await;
    let client = stack.client("acme");
    (stack, client)
}

/// The answer of a search once the index exists.
async fn search(stack: &Stack, client: &Client, arguments: Value) -> Reply {
    let ask = async || {
        let reply = client.call("context_search", arguments.clone()).await;
        let is_ready = !reply.is_error() || reply.code() != "index_not_ready";
        is_ready.then_some(reply)
    };
    stack.eventually(ask).await
}

/// The answer of a search as soon as one of its results satisfies `is`.
async fn until(
    stack: &Stack,
    client: &Client,
    arguments: Value,
    is_so: impl Fn(&Value) -> bool,
) -> Reply {
    let ask = async || {
        let reply = client.call("context_search", arguments.clone()).await;
        let is_there = !reply.is_error() && results(&reply).iter().any(&is_so);
        is_there.then_some(reply)
    };
    stack.eventually(ask).await
}

async fn owner(stack: &Stack) -> PgPool {
    let owner = stack.database().owner();
    PgPool::connect_with(owner).await.unwrap()
}

/// Lets another worker hold the index for this interval.
async fn hold(stack: &Stack, owner: &PgPool, interval: &'static str) {
    // Free, since the last run released it.
    let take = "update indexes set holder = gen_random_uuid(), \
                held_until = now() + $1::text::interval where holder is null";
    stack
        .eventually(async || {
            let taken = sqlx::query(take).bind(interval).execute(owner).await;
            (taken.unwrap().rows_affected() == 1).then_some(())
        })
        .await;
}

fn results(reply: &Reply) -> &[Value] {
    reply.structured()["results"].as_array().unwrap()
}

fn result<'a>(reply: &'a Reply, id: &str) -> Option<&'a Value> {
    results(reply).iter().find(|result| result["id"] == id)
}

fn paths(reply: &Reply) -> Vec<&str> {
    results(reply)
        .iter()
        .map(|result| result["path"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn code_is_found_by_meaning_and_shown_from_the_indexed_commit() {
    let (stack, client) = indexed(repo()).await;
    let query = json!({ "query": "is the password of this user right" });
    let reply = search(&stack, &client, query).await;
    assert_eq!(paths(&reply)[0], "src/auth/password.rs");
    let first = &reply.structured()["results"][0];
    assert!(
        first["content"]
            .as_str()
            .unwrap()
            .contains("constant_time_eq"),
        "{first}"
    );
    assert_eq!(first["source"], "code");
    assert_eq!(first["module"], "auth");
    let head = git(&stack.folder("acme", "site"), &["rev-parse", "HEAD"]);
    let index = &reply.structured()["index"];
    assert_eq!(index["commit"], head.trim());
    assert_eq!(
        (&index["behind"], &index["mode"]),
        (&json!(0), &json!("hybrid"))
    );
    assert!(!reply.text().contains("PASSWORD="), "{}", reply.text());
}

#[tokio::test]
async fn results_without_a_word_of_the_query_say_so() {
    let (stack, client) = indexed(repo()).await;
    // The glob lets all pass, however dissimilar.
    let query = |text: &str| json!({ "query": text, "path_glob": "**" });
    let reply = search(&stack, &client, query("zebra xylophone")).await;
    assert_eq!(results(&reply).len(), 2);
    let note = reply.structured()["note"].as_str().unwrap();
    assert!(note.contains("no result has a word of the query"), "{note}");
    assert!(reply.text().contains(note), "{}", reply.text());
    let reply = search(&stack, &client, query("zebra temperature")).await;
    assert_eq!(results(&reply).len(), 2);
    assert!(reply.structured().get("note").is_none());
}

#[tokio::test]
async fn a_new_commit_is_found_within_seconds_and_removed_code_is_not() {
    let (stack, client) = indexed(repo()).await;
    search(&stack, &client, json!({ "query": "weather report" })).await;
    let folder = stack.folder("acme", "site");
    fs::remove_file(folder.join("src/weather/report.rs")).unwrap();
    fs::create_dir_all(folder.join("src/mail")).unwrap();
    let mail =
        "/// Sends a letter to all subscribers of the newsletter.\npub fn send_newsletter() {}\n";
    fs::write(folder.join("src/mail/send.rs"), mail).unwrap();
    git(&folder, &["add", "-A"]);
    git(&folder, &["commit", "-qm", "mail"]);
    let newsletter = async || {
        let query = json!({ "query": "letter to subscribers" });
        let reply = client.call("context_search", query).await;
        paths(&reply).contains(&"src/mail/send.rs").then_some(())
    };
    stack.eventually(newsletter).await;
    let query = json!({ "query": "temperature in the weather report" });
    let reply = client.call("context_search", query).await;
    assert!(
        !paths(&reply).contains(&"src/weather/report.rs"),
        "{:?}",
        paths(&reply)
    );
}
