//! The entries of lists of readers, of which only what is named here is read.

use serde::Deserialize;

use super::HostReader;
use crate::hosts::{dialect::HostKind, text};

const LONGEST_LOGIN: usize = 255;
const LONGEST_EMAIL: usize = 254;
/// GitLab's Reporter: a guest of a private project does not see its code.
const LEAST_GITLAB_LEVEL: i64 = 20;

/// GitHub's `GET /repositories/{id}/collaborators`.
#[derive(Deserialize)]
struct Collaborator {
    id: i64,
    login: String,
    permissions: Permissions,
}

#[derive(Deserialize)]
struct Permissions {
    pull: bool,
}

/// GitLab's `GET /projects/{id}/members/all`.
#[derive(Deserialize)]
struct Member {
    id: i64,
    username: String,
    state: String,
    access_level: i64,
    /// Only of users whose organisation has verified its domain, and only for its owners.
    email: Option<String>,
}

/// A user of Gitea. Its address may be unverified, and is not read.
#[derive(Deserialize)]
struct User {
    id: i64,
    login: String,
}

/// Gitea's `GET /repos/{owner}/{repo}/teams`.
#[derive(Deserialize)]
pub(super) struct Team {
    pub(super) id: i64,
    permission: Option<String>,
    units_map: Option<std::collections::BTreeMap<String, String>>,
}

/// The account of an entry that may read; `None` also for one that cannot be read.
pub(super) fn reader(kind: HostKind, json: &str) -> Option<HostReader> {
    let (account, login, email) = match kind {
        HostKind::Github => {
            let it: Collaborator = serde_json::from_str(json).ok()?;
            it.permissions.pull.then_some((it.id, it.login, None))?
        }
        HostKind::Gitlab => {
            let it: Member = serde_json::from_str(json).ok()?;
            let may_read = it.state == "active" && it.access_level >= LEAST_GITLAB_LEVEL;
            may_read.then_some((it.id, it.username, it.email))?
        }
        HostKind::Gitea => {
            let it: User = serde_json::from_str(json).ok()?;
            (it.id, it.login, None)
        }
    };
    let email = email.filter(|email| email.contains('@') && text::is_plain(email, LONGEST_EMAIL));
    (account > 0).then(|| HostReader {
        account,
        login: Some(login.to_lowercase()).filter(|login| text::is_plain(login, LONGEST_LOGIN)),
        email: email.map(|email| email.to_lowercase()),
    })
}

impl Team {
    pub(super) fn read(json: &str) -> Option<Team> {
        let team: Team = serde_json::from_str(json).ok()?;
        (team.id > 0).then_some(team)
    }

    /// Whether its members may read the code of its repositories.
    pub(super) fn reads_code(&self) -> bool {
        let reads = |level: &String| matches!(level.as_str(), "read" | "write" | "admin" | "owner");
        let code = self
            .units_map
            .as_ref()
            .and_then(|units| units.get("repo.code"));
        let is_administration = matches!(self.permission.as_deref(), Some("admin" | "owner"));
        is_administration || code.is_some_and(reads)
    }
}
