//! What GitLab and Gitea list and send, where it differs from GitHub's.

use std::net::SocketAddr;

use serde_json::{Value, json};
use uuid::Uuid;

use super::{GitHost, HostState, api::signature};
use crate::http::Request;

/// Where each host lists the repositories of its organisation or group `acme`.
pub(super) const LISTINGS: [&str; 2] = ["/api/v4/groups/acme/projects", "/api/v1/orgs/acme/repos"];

impl GitHost {
    /// An entry of GitLab's API: a project with this id at `path`, such as `acme/team/app`.
    pub fn gitlab_entry(&self, id: u64, path: &str) -> Value {
        json!({
            "id": id,
            "path_with_namespace": path,
            "http_url_to_repo": self.url(path),
            "default_branch": "main",
            "description": format!("about {path}"),
            "topics": ["web"],
            "archived": false,
            "visibility": "private",
            "last_activity_at": "2026-01-01T00:00:00.123+02:00",
        })
    }
}

/// Who may read a repository, of a path of GitLab's or Gitea's API. Beside those whom a test named there is `guest`,
/// who sees no code.
pub(super) fn readers(state: &HostState, path: &str) -> Option<Vec<Value>> {
    let readers = state.readers.lock();
    if let Some(path) = path.strip_prefix("/api/v4/projects/") {
        let id = path.strip_suffix("/members/all")?;
        let listing = state.listing.lock().clone()?;
        let id: u64 = id.parse().ok()?;
        let is_asked = |entry: &&Value| entry["id"] == id;
        let project = listing.iter().find(is_asked)?["path_with_namespace"].clone();
        let member = |id: i64, name: &str, level: u8| json!({ "id": id, "username": name, "state": "active", "access_level": level });
        let named = readers.get(project.as_str()?)?.iter();
        let named = named.map(|(id, name)| {
            let mut member = member(*id, name, 30);
            // As of a user of an organisation that has verified its domain.
            member["email"] = json!(format!("{name}@acme.example"));
            member
        });
        return Some(named.chain([member(9, "guest", 10)]).collect());
    }
    let user = |id: i64, name: &str| json!({ "id": id, "login": name, "email": format!("{name}@acme.example") });
    let team = |id: usize, unit: &str| json!({ "id": id, "units_map": { unit: "read" } });
    let path = path.strip_prefix("/api/v1/")?;
    // Each repository has a team that reads its code and one that reads its issues.
    if let Some(team) = path.strip_prefix("teams/") {
        let team: usize = team.strip_suffix("/members")?.parse().ok()?;
        if team % 2 == 1 {
            return Some(vec![user(9, "guest")]);
        }
        let members = readers.values().nth(team / 2 - 1)?.iter().skip(1);
        return Some(members.map(|(id, name)| user(*id, name)).collect());
    }
    let (repository, list) = path.strip_prefix("repos/")?.rsplit_once('/')?;
    let place = readers.keys().position(|name| name == repository)? + 1;
    match list {
        // The first of them is a collaborator, the others are in the team.
        "collaborators" => {
            let first = readers.get(repository)?.iter().take(1);
            Some(first.map(|(id, name)| user(*id, name)).collect())
        }
        "teams" => Some(vec![
            team(2 * place, "repo.code"),
            team(2 * place + 1, "repo.issues"),
        ]),
        _ => None,
    }
}

/// Sends the webhook of a push as GitLab does, with its token. Returns the status of the answer.
pub async fn send_gitlab_push(
    to: SocketAddr,
    path: &str,
    token: &str,
    (id, project): (u64, &str),
) -> u16 {
    let project = json!({ "id": id, "path_with_namespace": project });
    let body = json!({ "object_kind": "push", "project_id": id, "project": project });
    send_gitlab_hook(to, path, token, ("Push Hook", &body)).await
}

/// The same of another event, such as `Member Hook`.
pub async fn send_gitlab_hook(
    to: SocketAddr,
    path: &str,
    token: &str,
    (event, body): (&str, &Value),
) -> u16 {
    let request = Request::new("POST", path)
        .header("Content-Type", "application/json")
        .header("X-Gitlab-Event", event)
        .header("X-Gitlab-Event-UUID", &Uuid::new_v4().to_string())
        .header("X-Gitlab-Token", token)
        .body(body.to_string());
    request.send(to).await.status
}

/// Sends the webhook of a push as Gitea does, signed with `secret`. Returns the status of the answer.
pub async fn send_gitea_push(
    to: SocketAddr,
    path: &str,
    secret: &str,
    (id, full_name): (u64, &str),
) -> u16 {
    let body = json!({ "repository": { "id": id, "full_name": full_name } });
    send_gitea_hook(to, path, secret, ("push", &body)).await
}

/// The same of another event, such as `repository`.
pub async fn send_gitea_hook(
    to: SocketAddr,
    path: &str,
    secret: &str,
    (event, body): (&str, &Value),
) -> u16 {
    let body = body.to_string();
    let request = Request::new("POST", path)
        .header("Content-Type", "application/json")
        .header("X-Gitea-Event", event)
        .header("X-Gitea-Delivery", &Uuid::new_v4().to_string())
        .header("X-Gitea-Signature", &signature(secret, &body))
        .body(&body);
    request.send(to).await.status
}
