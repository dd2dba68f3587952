//! What an operator writes about a connection, unchecked.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const DEFAULT_MAX: u32 = 5000;

/// A connection as an operator writes it: one source, a credential, and which repositories are served.
///
/// Exactly one of `github`, `gitlab`, `gitea` and `urls` is set.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConnectionSettings {
    /// Its name within the tenant: `[a-z0-9][a-z0-9-]{0,62}`.
    pub name: String,
    /// An organisation or a user at GitHub.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub github: Option<GithubSource>,
    /// A group at GitLab, with its subgroups, or a user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gitlab: Option<GitlabSource>,
    /// An organisation or a user at Gitea or Forgejo.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gitea: Option<GiteaSource>,
    /// Repositories by their URLs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub urls: Option<UrlsSource>,
    /// Absent: only what anybody may read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<CredentialSetting>,
    /// Globs of names or of paths below the owner, without regard to case: 1 to 100.
    #[serde(default = "everything")]
    pub include: Vec<String>,
    /// Globs like `include`, which win over it: at most 100.
    #[serde(default)]
    pub exclude: Vec<String>,
    /// Whether archived repositories are served.
    #[serde(default)]
    pub archived: bool,
    /// Whether forks are served.
    #[serde(default)]
    pub forks: bool,
    /// Only repositories with one of these topics, at most 100; empty: all.
    #[serde(default)]
    pub topics: Vec<String>,
    /// The most repositories that it may serve, 1 to 100,000. More is an error, never a cut.
    #[serde(default = "default_max")]
    pub max: u32,
    /// Absolute path of a file with the authorities (PEM) of the host's certificate. Listings trust the system's, too;
    /// git trusts these alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<PathBuf>,
    /// URL of the proxy for https. The environment's proxies are not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub https_proxy: Option<String>,
    /// `host`: only those see a private repository whom the host lets read it. Absent: everybody of the tenant does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<PermissionsSetting>,
    /// With `permissions`: for how many hours an answer of the host counts, 1 to 720; absent: 12.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions_grace: Option<u32>,
}

/// Who says who may see the private repositories of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PermissionsSetting {
    /// The host.
    Host,
}

/// An organisation or a user at GitHub.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GithubSource {
    /// Its login. Of a user, only public repositories are listed.
    pub org: String,
    /// The address of an Enterprise server or of `NAME.ghe.com`; absent: `https://github.com`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// A group at GitLab, with its subgroups, or a user.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GitlabSource {
    /// Its full path: `acme` or `acme/platform`.
    pub group: String,
    /// The server's address; absent: `https://gitlab.com`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// An organisation or a user at Gitea or Forgejo.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GiteaSource {
    /// Its name.
    pub org: String,
    /// The server's address.
    pub url: String,
}

/// Repositories by their URLs.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UrlsSource {
    /// URLs as [`crate::remote::RemoteUrl`] takes them.
    pub list: Vec<String>,
}

/// Where a connection's credential is.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "expected the name of a file in --credentials, or {app: {id: 1, installation: 2}}"
)]
pub enum CredentialSetting {
    /// The name of a file in `--credentials`: `[a-z0-9][a-z0-9-]{0,62}`.
    Name(String),
    /// A GitHub App.
    App(AppCredentialSetting),
}

/// `{app: {id, installation}}`. The private key is `NAME.app.pem`, NAME being the connection's.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AppCredentialSetting {
    /// The App and where it is installed.
    pub app: AppCredential,
}

/// A GitHub App and where it is installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AppCredential {
    /// The App's id, above 0.
    pub id: u64,
    /// The installation's id, above 0.
    pub installation: u64,
}

impl ConnectionSettings {
    /// What the host's API is asked with. A list of URLs asks no host: its credential may be a key for ssh.
    pub fn listing_credential(&self) -> Option<&CredentialSetting> {
        self.credential.as_ref().filter(|_| self.urls.is_none())
    }
}

fn everything() -> Vec<String> {
    vec!["*".to_owned()]
}

fn default_max() -> u32 {
    DEFAULT_MAX
}
