//! Connections with `permissions: host`: the host is asked who may read, and webhooks say when that changed.

use std::time::Duration;

use archway::tenants::PermissionsState;
use e2e::{Client, Harness, Issuer, send_hook, send_payload};
use http::StatusCode;
use serde_json::json;
use tokio::time::Instant;

use super::{Mirrored, connections::add};

/// How the settings of a connection name a host and its owner.
pub(super) const GITLAB: (&str, &str) = ("gitlab", "group");
pub(super) const GITEA: (&str, &str) = ("gitea", "org");
/// The claim by which a token names its holder's account.
pub(super) const BY_LOGIN: &str = "login: preferred_username";

/// `acme` has `site` at a host of this kind. Of its readers the last is on another page than the first. Tokens name
/// their accounts by this claim.
pub(super) async fn elsewhere(
    issuer: &Issuer,
    (kind, owner): (&str, &str),
    claim: &str,
) -> Mirrored {
    let mirrored = of_issuer(issuer, claim).await;
    let site = add(&mirrored, 1, "acme/site");
    let site = match kind {
        "gitlab" => mirrored.host.gitlab_entry(1, "acme/site"),
        _ => site,
    };
    mirrored.host.list(vec![site]);
    let many = (100..250).map(|id| (id, "somebody"));
    let readers: Vec<(i64, &str)> = [(7, "Ada")]
        .into_iter()
        .chain(many)
        .chain([(8, "Bob")])
        .collect();
    mirrored.host.let_read("acme/site", &readers);
    connect_to(&mirrored, (kind, owner)).await;
    mirrored
}

/// Connects `acme` with the host as one of this kind, which says who may read.
pub(super) async fn connect_to(mirrored: &Mirrored, (kind, owner): (&str, &str)) {
    let source = json!({ owner: "acme", "url": mirrored.host.base() });
    let settings = json!({ "github": null, kind: source, "permissions": "host" });
    mirrored.connect(settings).await;
}

pub(super) async fn of_issuer(issuer: &Issuer, claim: &str) -> Mirrored {
    let accounts = format!("tenant: acme, host_accounts: {{org: {{{claim}}}}}");
    let harness = Harness::new().issuer(issuer.entry(&accounts));
    let mirrored = Mirrored::of(harness, &[]).await;
    mirrored.stack.until_listening().await;
    mirrored
}

/// Has the host asked again who may read anything, as a webhook that names no repository does.
pub(super) async fn ask_again(mirrored: &Mirrored) {
    mirrored
        .execute("select request_readers(connection_id, null, null) from host_permissions")
        .await;
}

/// `acme` has `site`, which ada may read at the host, and `docs`, which everybody may.
async fn hosted(issuer: &Issuer) -> Mirrored {
    let mirrored = of_issuer(issuer, BY_LOGIN).await;
    let (site, mut docs) = (
        add(&mirrored, 1, "acme/site"),
        add(&mirrored, 2, "acme/docs"),
    );
    docs["private"] = json!(false);
    mirrored.host.list(vec![site, docs]);
    mirrored.host.let_read("acme/site", &[(7, "Ada")]);
    mirrored.host.let_read("acme/docs", &[(7, "Ada")]);
    mirrored.connect(json!({ "permissions": "host" })).await;
    mirrored
}

pub(super) fn at_host(mirrored: &Mirrored, issuer: &Issuer, login: &str) -> Client {
    let mut claims = issuer.claims(login);
    claims["preferred_username"] = json!(login);
    Client::new(mirrored.stack.gateways()[0], &issuer.sign(&claims))
}

async fn hook(mirrored: &Mirrored, event: &str, id: u64, path: &str) {
    let hooks = mirrored.sync.as_ref().unwrap().hooks;
    let sent = send_hook(hooks, "/hooks/acme/org", "hush", (event, id, path)).await;
    assert_eq!(sent, 202);
}

pub(super) async fn state(mirrored: &Mirrored) -> PermissionsState {
    let id = mirrored.connection().await.id;
    let mut tx = mirrored.stack.tenants().read().await.unwrap();
    tx.permissions_state(id).await.unwrap().unwrap()
}

/// The requests for readers since `from`, with their validators.
fn asked(mirrored: &Mirrored, from: usize) -> Vec<String> {
    let is_of_readers = |it: &String| it.contains("/collaborators") || it.contains("/members/all");
    let requests = mirrored.host.requests().into_iter().skip(from);
    requests.filter(is_of_readers).collect()
}

#[tokio::test]
async fn a_private_repository_is_there_for_those_whom_its_host_names() {
    let issuer = Issuer::start().await;
    let mirrored = hosted(&issuer).await;
    let (ada, eve) = (
        at_host(&mirrored, &issuer, "ada"),
        at_host(&mirrored, &issuer, "eve"),
    );
    mirrored.until_served(&ada, &["docs", "site"]).await;
    for stranger in [&eve, &mirrored.stack.client("acme")] {
        mirrored.until_served(stranger, &["docs"]).await;
    }
    let state = state(&mirrored).await;
    assert_eq!(
        (state.private, state.answered, &state.message),
        (1, 1, &None)
    );
    let requests = asked(&mirrored, 0).join("\n");
    assert!(requests.contains("/repositories/1/"), "{requests}");
    assert!(
        !requests.contains("/repositories/2/"),
        "nobody asks about a public one: {requests}"
    );

    mirrored.host.let_read("acme/site", &[(8, "eve")]);
    hook(&mirrored, "member", 1, "acme/site").await;
    mirrored.until_served(&ada, &["docs"]).await;
    mirrored.until_served(&eve, &["docs", "site"]).await;
    // Of all repositories, since no one is named; it has not changed, as its validator shows.
    let before = mirrored.host.requests().len();
    let hooks = mirrored.sync.as_ref().unwrap().hooks;
    let team = json!({ "action": "edited", "team": { "id": 3 } });
    let sent = send_payload(hooks, "/hooks/acme/org", "hush", ("team", &team)).await;
    assert_eq!(sent, 202);
    let again = async || asked(&mirrored, before).first().cloned();
    let again = mirrored.stack.eventually(again).await;
    assert!(again.contains("if-none-match"), "{again}");
    mirrored.until_served(&eve, &["docs", "site"]).await;
}

#[tokio::test]
async fn a_repository_that_a_webhook_calls_private_is_hidden_within_a_second() {
    let issuer = Issuer::start().await;
    let mirrored = hosted(&issuer).await;
    let (ada, eve) = (
        at_host(&mirrored, &issuer, "ada"),
        at_host(&mirrored, &issuer, "eve"),
    );
    mirrored.until_served(&ada, &["docs", "site"]).await;
    mirrored.until_served(&eve, &["docs"]).await;
    let payload =
        json!({ "action": "privatized", "repository": { "id": 2, "full_name": "acme/docs" } });
    let hooks = mirrored.sync.as_ref().unwrap().hooks;
    let sent = send_payload(hooks, "/hooks/acme/org", "hush", ("repository", &payload)).await;
    let since = Instant::now();
    assert_eq!(sent, 202);
    mirrored.until_served(&eve, &[]).await;
    assert!(
        since.elapsed() < Duration::from_secs(1),
        "{:?}",
        since.elapsed()
    );
    // The host still lists it as public, as its API may for a while. It names ada among the readers.
    mirrored.list_now(false).await;
    mirrored.until_served(&ada, &["docs", "site"]).await;
    mirrored.until_served(&eve, &[]).await;
}

#[tokio::test]
async fn a_host_that_says_nothing_for_too_long_hides_what_is_private() {
    let issuer = Issuer::start().await;
    let mirrored = hosted(&issuer).await;
    let ada = at_host(&mirrored, &issuer, "ada");
    mirrored.until_served(&ada, &["docs", "site"]).await;
    mirrored
        .host
        .limit(Some((StatusCode::SERVICE_UNAVAILABLE, 1)));
    hook(&mirrored, "member", 1, "acme/site").await;
    let failed = async || state(&mirrored).await.message;
    let message = mirrored.stack.eventually(failed).await;
    assert!(message.contains("503"), "{message}");
    // Its last answer stays valid, until it is too old.
    mirrored.until_served(&ada, &["docs", "site"]).await;
    mirrored
        .execute("update host_readers set listed_at = now() - interval '13 hours'")
        .await;
    mirrored
        .execute("select count_reader_change(id) from tenants")
        .await;
    mirrored.until_served(&ada, &["docs"]).await;
    assert_eq!(state(&mirrored).await.answered, 0);
    mirrored.host.limit(None);
    hook(&mirrored, "member", 1, "acme/site").await;
    mirrored.until_served(&ada, &["docs", "site"]).await;
}

#[tokio::test]
async fn a_connection_without_it_shows_everything_to_everybody_again() {
    let issuer = Issuer::start().await;
    let mirrored = hosted(&issuer).await;
    let eve = at_host(&mirrored, &issuer, "eve");
    mirrored.until_served(&eve, &["docs"]).await;
    mirrored.connect(json!({})).await;
    mirrored.until_served(&eve, &["docs", "site"]).await;
    mirrored.connect(json!({ "permissions": "host" })).await;
    mirrored.until_served(&eve, &["docs"]).await;
}

#[tokio::test]
async fn members_at_gitlab_and_teams_at_gitea_read_what_is_private() {
    for host in [GITLAB, GITEA] {
        let issuer = Issuer::start().await;
        let mirrored = elsewhere(&issuer, host, BY_LOGIN).await;
        for login in ["ada", "bob"] {
            let reader = at_host(&mirrored, &issuer, login);
            mirrored.until_served(&reader, &["site"]).await;
        }
        // Whom the host lets see issues alone, and who is nobody there.
        for login in ["guest", "eve"] {
            let other = at_host(&mirrored, &issuer, login);
            mirrored.until_served(&other, &[]).await;
        }
        // Who leaves is out once the host is asked again.
        mirrored
            .host
            .let_read("acme/site", &[(8, "Bob"), (10, "Eve")]);
        ask_again(&mirrored).await;
        for (login, slugs) in [("eve", &["site"][..]), ("ada", &[])] {
            let client = at_host(&mirrored, &issuer, login);
            mirrored.until_served(&client, slugs).await;
        }
    }
}

#[tokio::test]
async fn an_unchanged_answer_of_gitlab_keeps_the_readers_and_renews_their_age() {
    let issuer = Issuer::start().await;
    let mirrored = elsewhere(&issuer, GITLAB, BY_LOGIN).await;
    let ada = at_host(&mirrored, &issuer, "ada");
    mirrored.until_served(&ada, &["site"]).await;
    mirrored
        .execute("update host_readers set listed_at = now() - interval '11 hours'")
        .await;
    let before = mirrored.host.requests().len();
    ask_again(&mirrored).await;
    let renewed = "select listed_at > now() - interval '1 hour' from host_readers";
    let is_renewed = async || mirrored.ask::<bool>(renewed).await.then_some(());
    mirrored.stack.eventually(is_renewed).await;
    // One question for each of its two pages: a page that is not as it was would be read, and the other one again.
    let asked = asked(&mirrored, before);
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert!(asked.iter().all(|it| it.contains("if-none-match")));
    assert_eq!(state(&mirrored).await.answered, 1);
    mirrored.until_served(&ada, &["site"]).await;
}
