//! How each host's API is asked and what its entries look like.

use std::time::Duration;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use url::Url;

use super::repository::{HostEntry, Visibility};

/// What a host speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HostKind {
    /// GitHub, GitHub Enterprise.
    Github,
    /// GitLab.
    Gitlab,
    /// Gitea, Forgejo.
    Gitea,
}

/// A host and the owner whose repositories are listed.
#[derive(Clone, Debug)]
pub(super) struct HostAddress {
    pub(super) kind: HostKind,
    /// An organisation, user or group's path.
    pub(super) owner: String,
    /// What clone URLs must begin with, as [`crate::remote::RemoteUrl::origin`] writes it. The protocol
    /// is part of it: a token is not sent in the clear because the host says so.
    pub(super) clone_origin: String,
    /// Up to the API's paths, without a trailing slash.
    api: String,
}

impl HostKind {
    /// Whether a listing begins with what was pushed last, so that its first page tells the news.
    pub fn is_sorted(self) -> bool {
        match self {
            HostKind::Github | HostKind::Gitlab => true,
            // `/orgs/{org}/repos` takes no order.
            HostKind::Gitea => false,
        }
    }

    /// How long after a push the listing may still show an older time.
    ///
    /// GitLab writes a project's `last_activity_at` once an hour at most: without a webhook, it cannot
    /// vouch for less.
    pub fn lag(self) -> Duration {
        match self {
            HostKind::Github | HostKind::Gitea => Duration::from_secs(60),
            HostKind::Gitlab => Duration::from_secs(3600),
        }
    }

    /// The entry of one repository.
    pub(super) fn entry(self, json: &str) -> Result<HostEntry, serde_json::Error> {
        match self {
            HostKind::Github => serde_json::from_str(json).map(GithubEntry::into),
            HostKind::Gitlab => serde_json::from_str(json).map(GitlabEntry::into),
            HostKind::Gitea => serde_json::from_str(json).map(GiteaEntry::into),
        }
    }
}

impl HostAddress {
    /// `None` if the address names no host.
    pub(super) fn new(kind: HostKind, owner: &str, base: Url) -> Option<HostAddress> {
        let host = base.host_str()?.to_lowercase();
        let host = match base.port() {
            Some(port) => format!("{host}:{port}"),
            None => host,
        };
        let text = base.as_str().trim_end_matches('/');
        let api = match kind {
            HostKind::Github if host == "github.com" => "https://api.github.com".to_owned(),
            // Data residency: https://docs.github.com/enterprise-cloud@latest/admin/data-residency
            HostKind::Github if host.ends_with(".ghe.com") => {
                format!("https://api.{host}")
            }
            HostKind::Github => format!("{text}/api/v3"),
            HostKind::Gitlab => format!("{text}/api/v4"),
            HostKind::Gitea => format!("{text}/api/v1"),
        };
        let owner = owner.to_owned();
        Some(HostAddress {
            kind,
            owner,
            clone_origin: format!("{}://{host}", base.scheme()),
            api,
        })
    }

    /// Whether it is asked by TLS; otherwise it is on a loopback address, or http was allowed.
    pub(super) fn is_encrypted(&self) -> bool {
        self.api.starts_with("https://")
    }

    /// A URL of the API. `path` begins with a slash.
    pub(super) fn at(&self, path: &str) -> Option<Url> {
        Url::parse(&format!("{}{path}", self.api)).ok()
    }

    /// First pages, in the order of trial: the owner as an organisation, then as a user.
    pub(super) fn routes(&self) -> Vec<Url> {
        let owner = &self.owner;
        let paths = match self.kind {
            HostKind::Github => {
                let query = "sort=pushed&direction=desc&per_page=100";
                [
                    format!("/orgs/{owner}/repos?{query}"),
                    format!("/users/{owner}/repos?{query}"),
                ]
            }
            HostKind::Gitlab => {
                let group = owner.replace('/', "%2F");
                let query = "order_by=last_activity_at&sort=desc&per_page=100";
                let groups = "include_subgroups=true&with_shared=false";
                [
                    format!("/groups/{group}/projects?{groups}&{query}"),
                    format!("/users/{group}/projects?{query}"),
                ]
            }
            HostKind::Gitea => [
                format!("/orgs/{owner}/repos?limit=50"),
                format!("/users/{owner}/repos?limit=50"),
            ],
        };
        paths.iter().filter_map(|path| self.at(path)).collect()
    }

    /// The path of a repository below the owner; all of it if it is elsewhere.
    pub(super) fn below<'p>(&self, path: &'p str) -> &'p str {
        below(&self.owner, path)
    }
}

/// `path` without the owner before it, which hosts compare without regard to case.
pub(super) fn below<'p>(owner: &str, path: &'p str) -> &'p str {
    match path.split_at_checked(owner.len()) {
        Some((start, rest)) if start.eq_ignore_ascii_case(owner) => {
            rest.strip_prefix('/').unwrap_or(path)
        }
        _ => path,
    }
}

/// `GET /orgs/{org}/repos`, of which only these are read.
#[derive(Deserialize)]
struct GithubEntry {
    id: u64,
    full_name: String,
    clone_url: String,
    default_branch: Option<String>,
    description: Option<String>,
    topics: Option<Vec<String>>,
    archived: Option<bool>,
    fork: Option<bool>,
    private: Option<bool>,
    visibility: Option<String>,
    pushed_at: Option<String>,
}

/// `GET /groups/{id}/projects`, of which only these are read.
#[derive(Deserialize)]
struct GitlabEntry {
    id: u64,
    path_with_namespace: String,
    http_url_to_repo: String,
    default_branch: Option<String>,
    description: Option<String>,
    topics: Option<Vec<String>>,
    archived: Option<bool>,
    forked_from_project: Option<IgnoredAny>,
    visibility: Option<String>,
    repository_access_level: Option<String>,
    last_activity_at: Option<String>,
}

/// Gitea's `GET /orgs/{org}/repos`, of which only these are read.
#[derive(Deserialize)]
struct GiteaEntry {
    id: u64,
    full_name: String,
    clone_url: String,
    default_branch: Option<String>,
    description: Option<String>,
    topics: Option<Vec<String>>,
    archived: Option<bool>,
    fork: Option<bool>,
    private: Option<bool>,
    internal: Option<bool>,
    updated_at: Option<String>,
}

impl From<GithubEntry> for HostEntry {
    fn from(it: GithubEntry) -> HostEntry {
        HostEntry {
            id: it.id,
            path: it.full_name,
            clone_url: it.clone_url,
            default_branch: it.default_branch,
            description: it.description,
            topics: it.topics.unwrap_or_default(),
            archived: it.archived.unwrap_or_default(),
            fork: it.fork.unwrap_or_default(),
            visibility: match (it.private, it.visibility.as_deref()) {
                (Some(false), None | Some("public")) => Visibility::Public,
                (_, Some("internal")) => Visibility::Internal,
                _ => Visibility::Private,
            },
            pushed_at: it.pushed_at.and_then(|at| at.parse().ok()),
        }
    }
}

impl From<GitlabEntry> for HostEntry {
    fn from(it: GitlabEntry) -> HostEntry {
        HostEntry {
            id: it.id,
            path: it.path_with_namespace,
            clone_url: it.http_url_to_repo,
            default_branch: it.default_branch,
            description: it.description,
            topics: it.topics.unwrap_or_default(),
            archived: it.archived.unwrap_or_default(),
            fork: it.forked_from_project.is_some(),
            visibility: match (
                it.visibility.as_deref(),
                it.repository_access_level.as_deref(),
            ) {
                // A project that everybody sees may show its code to members alone.
                (_, Some("private" | "disabled")) => Visibility::Private,
                (Some("public"), _) => Visibility::Public,
                (Some("internal"), _) => Visibility::Internal,
                _ => Visibility::Private,
            },
            pushed_at: it.last_activity_at.and_then(|at| at.parse().ok()),
        }
    }
}

impl From<GiteaEntry> for HostEntry {
    fn from(it: GiteaEntry) -> HostEntry {
        HostEntry {
            id: it.id,
            path: it.full_name,
            clone_url: it.clone_url,
            default_branch: it.default_branch,
            description: it.description,
            topics: it.topics.unwrap_or_default(),
            archived: it.archived.unwrap_or_default(),
            fork: it.fork.unwrap_or_default(),
            // One of a private organisation calls itself internal: only its members may read it.
            visibility: match (it.private, it.internal) {
                (Some(false), None | Some(false)) => Visibility::Public,
                _ => Visibility::Private,
            },
            pushed_at: it.updated_at.and_then(|at| at.parse().ok()),
        }
    }
}
