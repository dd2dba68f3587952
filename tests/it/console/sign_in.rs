//! Signing in to the pages at a real OpenID Connect provider, and at one that misbehaves.

mod bad;
mod visitor;

use std::path::PathBuf;

use e2e::{Proxy, Stack};
use serde_json::json;
use tempfile::TempDir;

use super::{
    browser::{Browser, DESKTOP, View},
    fits::MEASURE,
    pages,
};
use crate::programs::{Talk, given};
use visitor::Visitor;

/// The token of the pages, where a test has one.
const TOKEN: &str = "0123456789abcdefghijklmnopqrstuvwxyz";

/// A file for `--console-oidc`.
fn file(folder: &TempDir, issuer: &str, page: &str, more: &str) -> PathBuf {
    let path = folder.path().join("oidc.yaml");
    let text = format!("issuer: '{issuer}'\nurl: '{page}'\n{more}\n");
    std::fs::write(&path, text).unwrap();
    path
}

/// Two gateways behind one address, and the provider at which people sign in to their pages.
struct Installation {
    stack: Stack,
    page: String,
    provider: Talk,
    _proxy: Proxy,
    _folder: TempDir,
}

/// `None` outside of `tests/run`.
async fn installation(client: &str, has_token: bool) -> Option<Installation> {
    installation_with("client_secret_basic", client, has_token).await
}

/// The same at a provider that takes the client's secret by this method alone.
async fn installation_with(method: &str, client: &str, has_token: bool) -> Option<Installation> {
    let mut command = tokio::process::Command::new(given("ARCHWAY_TEST_NODE")?);
    given("ARCHWAY_TEST_PROVIDER")?;
    let mut proxy = Proxy::bind().await;
    let page = proxy.origin();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/clients/oidc_provider.mjs");
    command.args([script, &page, method]);
    let mut provider = Talk::start(command);
    let told = provider.hear().await;
    let folder = TempDir::new().unwrap();
    let secret = folder.path().join("secret");
    std::fs::write(&secret, format!("{}\n", told["secret"].as_str().unwrap())).unwrap();
    let client = client.replace("SECRET", &secret.display().to_string());
    let file = file(&folder, told["issuer"].as_str().unwrap(), &page, &client);
    let token = folder.path().join("token");
    std::fs::write(&token, TOKEN).unwrap();
    let stack = pages::harness().configure(|config| {
        config.console.console_oidc = Some(file);
        config.console.console_token_file = has_token.then_some(token);
    });
    let stack = stack.start().await;
    proxy.pass_on(stack.admins());
    Some(Installation {
        stack,
        page,
        provider,
        _proxy: proxy,
        _folder: folder,
    })
}

#[tokio::test]
async fn a_sign_in_begun_at_one_gateway_is_finished_at_another() {
    // The proxy takes the gateways in turn, so each step is at another one than the step before.
    let with_secret = "client_id: page\nclient_secret_file: SECRET";
    for (method, client) in [
        ("client_secret_basic", with_secret),
        ("client_secret_post", with_secret),
        ("client_secret_basic", "client_id: public"),
    ] {
        let Some(installation) = installation_with(method, client, false).await else {
            return;
        };
        let mut visitor = Visitor::new(&installation.page);
        let closed = visitor.get("/console/calls?tool=hello").await;
        assert_eq!(closed.status, 401);
        assert!(!closed.text().contains("acme"), "{}", closed.text());
        assert_eq!(closed.header("www-authenticate"), None);
        let shown = visitor.sign_in(&closed, "ada").await;
        let text = shown.text();
        assert_eq!(shown.status, 200, "{method}, {client}: {text}");
        assert!(
            text.contains("<h1>Calls</h1>") && text.contains("ada@example"),
            "{text}"
        );
        assert!(
            text.contains("name=\"tool\" value=\"hello\""),
            "it comes back: {text}"
        );
        for _ in 0..4 {
            assert_eq!(visitor.get("/console").await.status, 200);
        }
        installation
            .stack
            .client("acme")
            .call("hello", json!({}))
            .await;
        installation.provider.end().await;
    }
}

#[tokio::test]
async fn the_sessions_cookie_is_out_of_reach_for_scripts_and_other_sites() {
    let Some(installation) = installation("client_id: public", false).await else {
        return;
    };
    let mut visitor = Visitor::new(&installation.page);
    visitor.sign_in_as("ada").await;
    let set = visitor.set_cookies();
    let session = set
        .iter()
        .find(|it| it.starts_with("archway-page="))
        .unwrap();
    for part in [
        "; HttpOnly",
        "; SameSite=Lax",
        "; Path=/console",
        "; Max-Age=3600",
    ] {
        assert!(session.contains(part), "{session}");
    }
    assert!(!session.contains("ada"), "it is sealed: {session}");
    // Nor is it worth anything once a character has changed.
    let (name, value) = visitor.cookie("archway-page");
    let first = if value.starts_with('A') { "B" } else { "A" };
    let rest: String = value.chars().skip(1).collect();
    visitor.set_cookie(&name, &format!("{first}{rest}"));
    assert_eq!(visitor.get("/console").await.status, 401);
}

#[tokio::test]
async fn whoever_the_provider_does_not_grant_admin_sees_no_page() {
    let Some(installation) = installation("client_id: public", false).await else {
        return;
    };
    let mut visitor = Visitor::new(&installation.page);
    let refused = visitor.sign_in_as("bob").await;
    let text = refused.text();
    assert_eq!(refused.status, 403, "{text}");
    assert!(
        text.contains("You are bob@example") && text.contains("grant you admin"),
        "{text}"
    );
    assert!(
        pages::link(&text, "Sign in as somebody else")
            .unwrap()
            .ends_with("again="),
        "{text}"
    );
    assert_eq!(visitor.get("/console").await.status, 401);
    let declined = Visitor::new(&installation.page).sign_in_as("nobody").await;
    assert_eq!(declined.status, 403);
    assert!(
        declined.text().contains("refused: access_denied"),
        "{}",
        declined.text()
    );
}

#[tokio::test]
async fn a_claim_can_say_who_is_let_in_instead_of_a_scope() {
    let rule = "client_id: public\nclaim: groups\nadmits: bobs-group";
    let Some(installation) = installation(rule, false).await else {
        return;
    };
    let mut visitor = Visitor::new(&installation.page);
    assert_eq!(visitor.sign_in_as("ada").await.status, 403);
    let mut visitor = Visitor::new(&installation.page);
    assert_eq!(visitor.sign_in_as("bob").await.status, 200);
}

#[tokio::test]
async fn signing_out_ends_the_session_in_this_browser() {
    let Some(installation) = installation("client_id: public", false).await else {
        return;
    };
    let mut visitor = Visitor::new(&installation.page);
    visitor.sign_in_as("ada").await;
    // A link or picture of another site cannot do it.
    assert_ne!(visitor.get("/console/sign-out").await.status, 200);
    assert_eq!(visitor.get("/console").await.status, 200);
    let out = visitor.post("/console/sign-out").await;
    assert_eq!(out.status, 200);
    let there = out.text();
    let there = pages::link(&there, "sign out there, too").unwrap();
    assert!(there.contains("/session/end?client_id=public"), "{there}");
    assert_eq!(visitor.get("/console").await.status, 401);
    assert_eq!(visitor.post("/console/sign-out").await.status, 401);
}

#[tokio::test]
async fn beside_the_provider_the_token_lets_programs_and_people_in() {
    let Some(installation) = installation("client_id: public", true).await else {
        return;
    };
    let mut visitor = Visitor::new(&installation.page);
    let closed = visitor.get("/console").await;
    assert_eq!(closed.status, 401);
    assert_eq!(
        pages::link(&closed.text(), "use the token"),
        Some("/console/token")
    );
    let bearer = format!("Bearer {TOKEN}");
    assert_eq!(
        visitor
            .with("Authorization", &bearer, "/console")
            .await
            .status,
        200
    );
    // A browser asks for it here, and keeps a session afterwards.
    let asked = visitor.get("/console/token").await;
    assert_eq!(asked.status, 401);
    assert!(
        asked
            .header("www-authenticate")
            .unwrap()
            .starts_with("Basic")
    );
    let wrong = visitor
        .with("Authorization", "Bearer x", "/console/token")
        .await;
    assert_eq!(wrong.status, 401);
    let opened = visitor
        .with("Authorization", &bearer, "/console/token")
        .await;
    assert_eq!(
        (opened.status, opened.header("location")),
        (303, Some("/console"))
    );
    assert_eq!(visitor.get("/console").await.status, 200);
    // Or at the provider.
    let mut other = Visitor::new(&installation.page);
    assert_eq!(other.sign_in_as("ada").await.status, 200);
}

#[tokio::test]
async fn a_real_browser_signs_in_at_the_real_provider_and_out() {
    let Some(installation) = installation("client_id: public", false).await else {
        return;
    };
    let mut browser = Browser::start().expect("Node is there");
    let url = format!("{}/console/tenants", installation.page);
    for (dark, width) in [(false, 360), (true, 1280)] {
        browser.visit(&url, View { width, dark }).await;
        assert_eq!(browser.run(MEASURE).await, json!([]), "to sign in");
    }
    browser.follow("a.button").await;
    let text = browser.run("document.body.innerText").await;
    assert!(text.as_str().unwrap().contains("ada@example"), "{text}");
    let title = browser
        .run("document.querySelector('h1').textContent")
        .await;
    assert_eq!(title, "Tenants", "it comes back");
    for (dark, width) in [(false, 360), (true, 1280)] {
        browser.visit(&url, View { width, dark }).await;
        assert_eq!(browser.run(MEASURE).await, json!([]), "signed in");
    }
    browser.follow("form.visitor button").await;
    let title = browser
        .run("document.querySelector('h1').textContent")
        .await;
    assert_eq!(title, "Signed out");
    browser.visit(&url, DESKTOP).await;
    let title = browser
        .run("document.querySelector('h1').textContent")
        .await;
    assert_eq!(title, "Sign in");
}
