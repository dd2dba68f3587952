//! What GitLab and Gitea list and send, where it differs from GitHub's.

use std::net::SocketAddr;

use serde_json::{Value, json};
use uuid::Uuid;

use super::{GitHost, api::signature};
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
            "visibility": "internal",
            "last_activity_at": "2026-01-01T00:00:00.123+02:00",
        })
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
    let request = Request::new("POST", path)
        .header("Content-Type", "application/json")
        .header("X-Gitlab-Event", "Push Hook")
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
    let body = json!({ "repository": { "id": id, "full_name": full_name } }).to_string();
    let request = Request::new("POST", path)
        .header("Content-Type", "application/json")
        .header("X-Gitea-Event", "push")
        .header("X-Gitea-Delivery", &Uuid::new_v4().to_string())
        .header("X-Gitea-Signature", &signature(secret, &body))
        .body(&body);
    request.send(to).await.status
}
