//! A private project of a connection with `permissions: host` is there for those whom its host lets read it, and for
//! nobody else: as if it had never been. Access rules hold besides.

use std::time::Duration;

use e2e::{Client, Harness, Issuer, Stack};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::access::{acme, assert_hidden, first_page, slugs, until_sees, workflow};
use crate::result;

const ALL: [&str; 3] = ["site", "vault", "wiki"];
const OPEN: [&str; 2] = ["site", "wiki"];

/// `vault` is private at the host, and the others are not.
async fn hosted(issuer: &Issuer) -> Stack {
    let accounts = "tenant: acme, host_accounts: {github: {login: preferred_username}}";
    let harness = Harness::new().tenant(acme()).issuer(issuer.entry(accounts));
    let stack = harness.start().await;
    stack.until_listening().await;
    let visibilities = [
        ("vault", "private"),
        ("site", "public"),
        ("wiki", "internal"),
    ];
    stack.guard("acme", &visibilities).await;
    stack
}

/// The holder of a token that names this account.
fn at_host(stack: &Stack, issuer: &Issuer, login: Option<&str>) -> Client {
    let mut claims = issuer.claims(login.unwrap_or("nobody"));
    if let Some(login) = login {
        claims["preferred_username"] = json!(login);
    }
    Client::new(stack.gateways()[0], &issuer.sign(&claims))
}

#[tokio::test]
async fn who_cannot_read_it_at_the_host_never_sees_it() {
    let issuer = Issuer::start().await;
    let stack = hosted(&issuer).await;
    let readers = [(7, "ada"), (8, "bob")];
    stack.host_says("acme", "vault", &readers, 0).await;
    let ada = at_host(&stack, &issuer, Some("Ada"));
    until_sees(&stack, &ada, &ALL).await;
    let read = json!({ "project": "vault", "path": "treasure.txt" });
    assert!(!ada.call("read_file", read).await.is_error());
    // A login that the host does not know, a token that names no account, and a key, which is nobody's account.
    for client in [
        at_host(&stack, &issuer, Some("eve")),
        at_host(&stack, &issuer, None),
        stack.keyed("acme", "dev"),
    ] {
        until_sees(&stack, &client, &OPEN).await;
        assert_hidden(&client).await;
    }
}

#[tokio::test]
async fn who_lost_it_at_the_host_finds_nothing_of_it() {
    let issuer = Issuer::start().await;
    let stack = hosted(&issuer).await;
    stack.host_says("acme", "vault", &[(7, "ada")], 0).await;
    let ada = at_host(&stack, &issuer, Some("ada"));
    until_sees(&stack, &ada, &ALL).await;
    result(
        &ada,
        "prompts/get",
        json!({ "name": "vault/greet", "arguments": {} }),
    )
    .await;
    let (page, grep) = first_page(&ada).await;
    assert_ne!(
        workflow(&ada).await["results"]["grep_codebase"],
        Value::Null
    );

    stack.host_says("acme", "vault", &[(8, "bob")], 0).await;
    until_sees(&stack, &ada, &OPEN).await;
    assert_eq!(workflow(&ada).await, Value::Null, "it names the project");
    assert_hidden(&ada).await;
    let again = ada.call(page.0, page.1).await;
    assert_eq!(again.code(), "project_not_found", "{}", again.value());
    let again = ada.call(grep.0, grep.1).await;
    assert!(
        !again.value().to_string().contains("vault"),
        "{}",
        again.value()
    );
}

#[tokio::test]
async fn a_cursor_over_all_projects_shows_nothing_that_the_host_took() {
    let issuer = Issuer::start().await;
    let stack = hosted(&issuer).await;
    stack.host_says("acme", "vault", &[(7, "ada")], 0).await;
    let ada = at_host(&stack, &issuer, Some("ada"));
    until_sees(&stack, &ada, &ALL).await;
    let mut pages = Vec::new();
    for tool in ["search_files", "grep_codebase"] {
        let mut arguments = json!({ "project": "*", "pattern": "e", "max_results": 1 });
        let first = ada.call(tool, arguments.clone()).await;
        assert_eq!(first.structured()["matches"][0]["project"], "vault");
        arguments["cursor"] = first.structured()["cursor"].clone();
        pages.push((tool, arguments));
    }
    stack.host_says("acme", "vault", &[(8, "bob")], 0).await;
    until_sees(&stack, &ada, &OPEN).await;
    // Rules are a part of what a cursor is bound to, and the host's answers are not. So the page goes on behind it.
    for (tool, arguments) in pages {
        let again = ada.call(tool, arguments).await;
        assert_eq!(again.structured()["matches"], json!([]), "{tool}");
        let wiki = json!({ "searched": 1, "remaining": 0, "skipped": [] });
        assert_eq!(again.meta("projects"), &wiki, "{tool}");
        let said = again.value().to_string();
        assert!(!said.contains("vault"), "{tool}: {said}");
    }
}

#[tokio::test]
async fn an_account_is_who_has_the_login_now() {
    let issuer = Issuer::start().await;
    let stack = hosted(&issuer).await;
    stack.host_says("acme", "vault", &[(7, "ada")], 0).await;
    let ada = at_host(&stack, &issuer, Some("ada"));
    until_sees(&stack, &ada, &ALL).await;
    // Another account has the name now, and may read something else.
    stack.host_says("acme", "site", &[(9, "ada")], 0).await;
    until_sees(&stack, &ada, &OPEN).await;
}

#[tokio::test]
async fn an_answer_counts_for_the_grace_of_its_connection_alone() {
    let issuer = Issuer::start().await;
    let stack = hosted(&issuer).await;
    let ada = at_host(&stack, &issuer, Some("ada"));
    until_sees(&stack, &ada, &OPEN).await;
    stack.host_says("acme", "vault", &[(7, "ada")], 11).await;
    until_sees(&stack, &ada, &ALL).await;
    stack
        .host_says("acme", "vault", &[(7, "ada"), (8, "bob")], 13)
        .await;
    until_sees(&stack, &ada, &OPEN).await;
    assert_hidden(&ada).await;
    stack.set_grace("acme", 14).await;
    until_sees(&stack, &ada, &ALL).await;
}

#[tokio::test]
async fn rules_and_the_host_both_have_to_give_it() {
    let issuer = Issuer::start().await;
    let stack = hosted(&issuer).await;
    stack.host_says("acme", "vault", &[(7, "ada")], 0).await;
    let ada = at_host(&stack, &issuer, Some("ada"));
    let eve = at_host(&stack, &issuer, Some("eve"));
    let (dev, owner) = (stack.keyed("acme", "dev"), stack.keyed("acme", "owner"));
    until_sees(&stack, &ada, &ALL).await;
    let everything = stack.allow("acme", "everyone", &["*"]).await;
    let labelled = stack.allow("acme", "key:owner", &["vault"]).await;
    // A rule that names a key by its label stands for the host. One for everyone does not.
    until_sees(&stack, &owner, &ALL).await;
    for hidden in [&dev, &eve] {
        until_sees(&stack, hidden, &OPEN).await;
        assert_hidden(hidden).await;
    }
    let denied = stack.deny("acme", "everyone", &["vault"]).await;
    for hidden in [&ada, &owner] {
        until_sees(&stack, hidden, &OPEN).await;
        assert_hidden(hidden).await;
    }
    stack.remove_rule("acme", denied).await;
    until_sees(&stack, &ada, &ALL).await;
    stack.remove_rule("acme", labelled).await;
    until_sees(&stack, &owner, &OPEN).await;
    stack.remove_rule("acme", everything).await;
    until_sees(&stack, &ada, &ALL).await;
}

#[tokio::test]
async fn what_becomes_private_is_out_of_sight_within_a_second() {
    let issuer = Issuer::start().await;
    let stack = hosted(&issuer).await;
    let clients = [
        at_host(&stack, &issuer, Some("eve")),
        stack.keyed("acme", "dev"),
    ];
    for client in &clients {
        until_sees(&stack, client, &OPEN).await;
    }
    stack.privatize("acme", "site").await;
    let since = Instant::now();
    for client in &clients {
        until_sees(&stack, client, &["wiki"]).await;
        let took = since.elapsed();
        assert!(took < Duration::from_secs(1), "{took:?}");
    }
    assert_eq!(slugs(&clients[0]).await, ["wiki"]);
}
