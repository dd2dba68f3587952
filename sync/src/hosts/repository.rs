//! One repository as a host lists it: raw, and checked.

use jiff::Timestamp;
use serde::Serialize;

use super::text;
use crate::remote::{AllowedProtocols, RemoteUrl};

const LONGEST_PATH: usize = 512;
const LONGEST_BRANCH: usize = 255;
const LONGEST_DESCRIPTION: usize = 200;
/// GitLab's topics have at most 255 characters, and GitHub gives 20 to a repository. Access rules name topics, and a
/// cut list would hide one that a rule denies: a repository with more is not used.
const LONGEST_TOPIC: usize = 255;
const MOST_TOPICS: usize = 100;

/// A repository that a host lists, checked: bounded, and with text that misleads nobody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostedRepository {
    /// The host's id, which stays when the repository is renamed or moved; of a list of URLs, the URL.
    pub host_id: String,
    /// The host's full path, such as `acme/team/app`: 1 to 512 bytes.
    pub path: String,
    /// Where it is cloned from: on the connection's host.
    pub clone_url: RemoteUrl,
    /// At most 255 bytes; `None` if the host names none or one that cannot be shown.
    pub default_branch: Option<String>,
    /// One line of at most 200 characters, misleading ones escaped.
    pub description: Option<String>,
    /// At most 100, of 255 characters each.
    pub topics: Vec<String>,
    /// Whether it is archived.
    pub archived: bool,
    /// Whether it is a fork.
    pub fork: bool,
    /// Who may read it.
    pub visibility: Visibility,
    /// The last push ([`super::HostKind::lag`]); at Gitea also other changes.
    pub pushed_at: Option<Timestamp>,
}

/// Who may read a repository by the host's settings alone. What a host does not say is taken for private.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Visibility {
    /// Everybody.
    Public,
    /// Everybody who has an account there, or in the organisation.
    Internal,
    /// Those whom the host lists.
    Private,
}

/// What a host says of a repository, unchecked.
#[derive(Debug)]
pub(super) struct HostEntry {
    pub(super) id: u64,
    pub(super) path: String,
    pub(super) clone_url: String,
    pub(super) default_branch: Option<String>,
    pub(super) description: Option<String>,
    pub(super) topics: Vec<String>,
    pub(super) archived: bool,
    pub(super) fork: bool,
    pub(super) visibility: Visibility,
    pub(super) pushed_at: Option<Timestamp>,
}

impl HostEntry {
    /// The checked repository; `None` if its path, its clone URL or its topics cannot be used, or the URL is not on
    /// `origin`.
    pub(super) fn checked(
        self,
        origin: &str,
        allowed: &AllowedProtocols,
    ) -> Option<HostedRepository> {
        let clone_url = RemoteUrl::parse(&self.clone_url, allowed).ok()?;
        if clone_url.origin() != origin || !is_path(&self.path) || !has_bounded(&self.topics) {
            return None;
        }
        let description = self.description.as_deref().unwrap_or_default();
        let description = Some(text::clean(description, LONGEST_DESCRIPTION));
        let topics = self.topics.iter().map(|it| text::clean(it, LONGEST_TOPIC));
        let is_branch = |branch: &String| text::is_plain(branch, LONGEST_BRANCH);
        Some(HostedRepository {
            host_id: self.id.to_string(),
            path: self.path,
            clone_url,
            default_branch: self.default_branch.filter(is_branch),
            description: description.filter(|text| !text.is_empty()),
            topics: topics.filter(|topic| !topic.is_empty()).collect(),
            archived: self.archived,
            fork: self.fork,
            visibility: self.visibility,
            pushed_at: self.pushed_at,
        })
    }
}

impl HostedRepository {
    /// A repository of which only the URL is known.
    pub(super) fn of_url(url: &RemoteUrl) -> HostedRepository {
        HostedRepository {
            host_id: url.to_string(),
            path: url.path().to_owned(),
            clone_url: url.clone(),
            default_branch: None,
            description: None,
            topics: Vec::new(),
            archived: false,
            fork: false,
            visibility: Visibility::Private,
            pushed_at: None,
        }
    }
}

fn has_bounded(topics: &[String]) -> bool {
    let is_short = |topic: &String| topic.chars().count() <= LONGEST_TOPIC;
    topics.len() <= MOST_TOPICS && topics.iter().all(is_short)
}

fn is_path(path: &str) -> bool {
    let is_part = |part: &str| !matches!(part, "" | "." | "..");
    text::is_plain(path, LONGEST_PATH) && !path.contains('\\') && path.split('/').all(is_part)
}
