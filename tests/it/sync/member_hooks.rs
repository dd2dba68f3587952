//! What GitLab and Gitea say by webhook of members and of visibility. Gitea says nothing of members.

use e2e::{Issuer, send_gitea_hook, send_gitlab_hook};
use serde_json::{Value, json};

use super::permissions::{BY_LOGIN, GITEA, GITLAB, at_host, connect_to, elsewhere, of_issuer};
use super::{Mirrored, connections::add};

/// Sends an event as the host of this kind does, with this secret. Returns the status of the answer.
async fn send(mirrored: &Mirrored, kind: &str, secret: &str, event: (&str, &Value)) -> u16 {
    let hooks = mirrored.sync.as_ref().unwrap().hooks;
    let path = "/hooks/acme/org";
    match kind {
        "gitlab" => send_gitlab_hook(hooks, path, secret, event).await,
        _ => send_gitea_hook(hooks, path, secret, event).await,
    }
}

/// GitLab's events about members: of a group with its own webhook, then of a project and a group with a system hook.
fn member_events() -> Vec<(&'static str, Value)> {
    let of_group = |name: &str| json!({ "event_name": name, "group_id": 100, "group_path": "acme", "user_id": 10 });
    let of_project = |name: &str| {
        json!({
            "event_name": name, "project_id": 1, "project_path_with_namespace": "acme/site", "user_id": 10,
            "access_level": "Maintainer", "project_visibility": "visibilitylevel|private",
        })
    };
    vec![
        ("Member Hook", of_group("user_add_to_group")),
        ("Member Hook", of_group("user_update_for_group")),
        ("Member Hook", of_group("user_remove_from_group")),
        ("System Hook", of_project("user_add_to_team")),
        ("System Hook", of_project("user_update_for_team")),
        ("System Hook", of_project("user_remove_from_team")),
        ("System Hook", of_group("user_add_to_group")),
    ]
}

#[tokio::test]
async fn gitlabs_events_of_members_change_who_sees_a_repository() {
    let issuer = Issuer::start().await;
    let mirrored = elsewhere(&issuer, GITLAB, BY_LOGIN).await;
    let ada = at_host(&mirrored, &issuer, "ada");
    let eve = at_host(&mirrored, &issuer, "eve");
    mirrored.until_served(&ada, &["site"]).await;
    mirrored.until_served(&eve, &[]).await;
    let (mut named, mut other) = ((&eve, (10, "Eve")), (&ada, (7, "Ada")));
    for (event, payload) in member_events() {
        mirrored.host.let_read("acme/site", &[named.1]);
        let event = (event, &payload);
        assert_eq!(send(&mirrored, "gitlab", "guess", event).await, 401);
        let waits = "select requested_at is null from host_readers";
        assert!(mirrored.ask::<bool>(waits).await, "{payload}");
        assert_eq!(send(&mirrored, "gitlab", "hush", event).await, 202);
        mirrored.until_served(named.0, &["site"]).await;
        mirrored.until_served(other.0, &[]).await;
        std::mem::swap(&mut named, &mut other);
    }
}

/// `acme` has `docs`, which is public, at a host of this kind.
async fn public(issuer: &Issuer, (kind, owner): (&str, &str)) -> Mirrored {
    let mirrored = of_issuer(issuer, BY_LOGIN).await;
    let mut docs = add(&mirrored, 2, "acme/docs");
    docs["private"] = json!(false);
    if kind == "gitlab" {
        docs = mirrored.host.gitlab_entry(2, "acme/docs");
        docs["visibility"] = json!("public");
    }
    mirrored.host.list(vec![docs]);
    mirrored.host.let_read("acme/docs", &[(7, "Ada")]);
    connect_to(&mirrored, (kind, owner)).await;
    mirrored
}

#[tokio::test]
async fn what_gitlab_or_gitea_calls_private_is_out_of_sight_on_its_webhook() {
    let updated = json!({
        "event_name": "project_update", "project_id": 2, "path_with_namespace": "acme/docs",
        "project_visibility": "private",
    });
    let project = json!({ "id": 2, "path_with_namespace": "acme/docs", "visibility_level": 0 });
    let pushed = json!({ "event_name": "push", "project_id": 2, "project": project });
    let repository = json!({ "id": 2, "full_name": "acme/docs", "private": true });
    let gitea = json!({ "repository": repository });
    for (host, event, payload) in [
        (GITLAB, "System Hook", updated),
        (GITLAB, "Push Hook", pushed),
        (GITEA, "push", gitea),
    ] {
        let issuer = Issuer::start().await;
        let mirrored = public(&issuer, host).await;
        let ada = at_host(&mirrored, &issuer, "ada");
        let eve = at_host(&mirrored, &issuer, "eve");
        for client in [&ada, &eve] {
            mirrored.until_served(client, &["docs"]).await;
        }
        let event = (event, &payload);
        assert_eq!(send(&mirrored, host.0, "guess", event).await, 401);
        let is_public = "select visibility = 'public' from sources";
        assert!(mirrored.ask::<bool>(is_public).await);
        assert_eq!(send(&mirrored, host.0, "hush", event).await, 202);
        assert!(!mirrored.ask::<bool>(is_public).await, "{payload}");
        mirrored.until_served(&eve, &[]).await;
        // Those whom the host names see it again, once it was asked.
        mirrored.until_served(&ada, &["docs"]).await;
        mirrored.until_served(&eve, &[]).await;
    }
}

#[tokio::test]
async fn a_repository_that_gitea_says_was_made_is_there_for_its_readers() {
    let issuer = Issuer::start().await;
    let mirrored = elsewhere(&issuer, GITEA, BY_LOGIN).await;
    let ada = at_host(&mirrored, &issuer, "ada");
    let eve = at_host(&mirrored, &issuer, "eve");
    mirrored.until_served(&ada, &["site"]).await;
    // No listing notices it by itself.
    mirrored
        .execute("update listings set next_at = now() + interval '1 hour', tried_at = now() - interval '1 minute'")
        .await;
    let entries = vec![
        mirrored.host.entry(1, "acme/site", 1),
        add(&mirrored, 3, "acme/vault"),
    ];
    mirrored.host.list(entries);
    let readers = [(7, "Ada"), (11, "Carol")];
    mirrored.host.let_read("acme/vault", &readers);
    let repository = json!({ "id": 3, "full_name": "acme/vault", "private": true });
    let made = json!({ "action": "created", "repository": repository });
    let event = ("repository", &made);
    assert_eq!(send(&mirrored, "gitea", "guess", event).await, 401);
    let is_alone = "select count(*) = 1 from sources";
    assert!(mirrored.ask::<bool>(is_alone).await);
    assert_eq!(send(&mirrored, "gitea", "hush", event).await, 202);
    mirrored.until_served(&ada, &["site", "vault"]).await;
    // By a team.
    let carol = at_host(&mirrored, &issuer, "carol");
    mirrored.until_served(&carol, &["vault"]).await;
    mirrored.until_served(&eve, &[]).await;
}
