//! A group of GitLab and an organisation of Gitea: found, mirrored, and followed by their own webhooks.

use std::fs;

use e2e::{Repo, git, send_gitea_push, send_gitlab_push};
use serde_json::json;

use super::{Mirrored, found};

/// An installation that lists `acme` at the host of this kind. Its only repository is at `path`, has one line
/// with `needle`, and is served as `slug`.
async fn connected(kind: &str, owner: &str, path: &str, slug: &str) -> Mirrored {
    let mirrored = Mirrored::start().await;
    let repo = Repo::new().file("a.txt", "needle\n").commit();
    mirrored.host.add(path, repo);
    let entry = match kind {
        "gitlab" => mirrored.host.gitlab_entry(7, path),
        _ => mirrored.host.entry(7, path, 1),
    };
    mirrored.host.list(vec![entry]);
    let source = json!({ owner: "acme", "url": mirrored.host.base() });
    let more = json!({ "github": null, kind: source });
    mirrored.connect(more).await;
    mirrored.until(slug, "ok").await;
    let client = mirrored.stack.client("acme");
    mirrored.until_served(&client, &[slug]).await;
    let listed = client.call("list_projects", json!({})).await;
    let listed = &listed.structured()["projects"][0];
    assert_eq!(listed["description"], format!("about {path}"));
    assert_eq!(listed["topics"], json!(["web"]));
    mirrored
}

/// Pushes what neither a listing nor the schedule will notice, and sends the webhook with a wrong secret, then with
/// the connection's, `hush`. The first changes nothing; after the second, what was pushed is found.
async fn push_and_send(
    mirrored: &Mirrored,
    path: &str,
    slug: &str,
    send: impl AsyncFn(&str) -> u16,
) {
    for sql in [
        "update listings set next_at = now() + interval '1 hour'",
        "update mirrors set next_at = now() + interval '1 hour', tried_at = now() - interval '1 minute'",
    ] {
        mirrored.execute(sql).await;
    }
    let work = mirrored.host.folder(path);
    fs::write(work.join("b.txt"), "needle\n").unwrap();
    git(&work, &["add", "-A"]);
    git(&work, &["commit", "-qm", "two"]);
    assert_eq!(send("guess").await, 401);
    let waits = "select not is_requested and next_at > now() from mirrors";
    assert!(mirrored.ask::<bool>(waits).await);
    assert_eq!(send("hush").await, 202);
    let client = mirrored.stack.client("acme");
    let both = async || {
        let found = found(&client, slug, "needle").await;
        found.filter(|found| *found == 2)
    };
    mirrored.stack.eventually(both).await;
}

/// The first path of the API that was asked for.
fn first_asked(mirrored: &Mirrored) -> String {
    let requests = mirrored.host.requests().into_iter();
    let mut paths = requests.filter_map(|it| it.split([' ', '?']).nth(1).map(str::to_owned));
    let first = paths.find(|path| path.starts_with("/api/"));
    first.unwrap_or_default()
}

#[tokio::test]
async fn a_gitlab_group_is_mirrored_and_its_pushes_are_followed() {
    let (path, slug) = ("acme/team/app", "team-app");
    let mirrored = connected("gitlab", "group", path, slug).await;
    assert_eq!(first_asked(&mirrored), "/api/v4/groups/acme/projects");
    let hooks = mirrored.sync.as_ref().unwrap().hooks;
    let send =
        async |token: &str| send_gitlab_push(hooks, "/hooks/acme/org", token, (7, path)).await;
    push_and_send(&mirrored, path, slug, send).await;
}

#[tokio::test]
async fn a_gitea_organisation_is_mirrored_and_its_pushes_are_followed() {
    let (path, slug) = ("acme/site", "site");
    let mirrored = connected("gitea", "org", path, slug).await;
    assert_eq!(first_asked(&mirrored), "/api/v1/orgs/acme/repos");
    let hooks = mirrored.sync.as_ref().unwrap().hooks;
    let send =
        async |secret: &str| send_gitea_push(hooks, "/hooks/acme/org", secret, (7, path)).await;
    push_and_send(&mirrored, path, slug, send).await;
}
