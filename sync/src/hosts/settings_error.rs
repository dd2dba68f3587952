//! Why settings of a connection are refused, and what to write instead.

use crate::remote::RemoteUrlError;

/// A value that a connection cannot have. Says what to write instead; shows no URL, which may hold a
/// password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// None or several of the sources are set.
    #[error(
        "a connection has {0} sources: write exactly one of `github`, `gitlab`, `gitea` and `urls`"
    )]
    Sources(usize),
    /// The connection's or the credential's name.
    #[error(
        "`{0}` is not a name: write 1 to 63 of a-z, 0-9 and `-`, not beginning with `-`, such as `github`"
    )]
    Name(&'static str),
    /// An organisation's name.
    #[error(
        "`org` is not a name at the host: write it as in the host's URLs, such as `acme`, without `/`"
    )]
    Organisation,
    /// A group's path.
    #[error(
        "`group` is not a group's path: write it as in the host's URLs, such as `acme` or `acme/platform`, \
         not as a number"
    )]
    Group,
    /// The host's address.
    #[error("`url` is not a host's address, such as https://git.example.com")]
    Address(#[source] RemoteUrlError),
    /// The host's address has a protocol without an API.
    #[error("`url` is not a web address: write https://, the API's protocol, even if git uses ssh")]
    NoApi,
    /// A URL of the list.
    #[error("number {number} of `urls.list` is refused")]
    Url {
        /// Its place, from 1.
        number: usize,
        /// Why.
        #[source]
        source: RemoteUrlError,
    },
    /// The list is empty, or has a URL twice.
    #[error("`urls.list` is empty or names a repository twice: write each URL once")]
    List,
    /// The ids of a GitHub App.
    #[error(
        "`credential.app` has an id of 0: copy `id` and `installation` from the App's pages at GitHub"
    )]
    App,
    /// An App for a host that has none.
    #[error(
        "`credential.app` is for `github` alone: name a file of --credentials, such as `credential: gitlab`"
    )]
    AppElsewhere,
    /// A glob.
    #[error("number {number} of `{field}` is not a glob: write 1 to 200 bytes, such as `legacy-*`")]
    Glob {
        /// `include` or `exclude`.
        field: &'static str,
        /// Its place, from 1.
        number: usize,
    },
    /// The number of globs or topics.
    #[error("`{0}` has too many entries or none: write 1 to 100, or leave it out")]
    Entries(&'static str),
    /// A topic.
    #[error(
        "number {0} of `topics` is not a topic: write 1 to 255 bytes, without control characters"
    )]
    Topic(usize),
    /// `max`.
    #[error("`max` is {0}: write 1 to 100000, or leave it out for 5000")]
    Max(u32),
    /// `ca_file`.
    #[error(
        "`ca_file` is not an absolute path: write where the PEM file is, such as /etc/archway/ca.pem"
    )]
    Authorities,
    /// `https_proxy`.
    #[error(
        "`https_proxy` is not a proxy's address: write http://proxy.example.com:3128, without a user"
    )]
    Proxy,
    /// `permissions` for a source that cannot say who may read.
    #[error(
        "`permissions: host` is for `github`, `gitlab` and `gitea`: a list of URLs has no host that says who may read"
    )]
    Permissions,
    /// `permissions` without a credential.
    #[error("`permissions: host` needs `credential`: no host says to strangers who may read")]
    NoCredential,
    /// `permissions_grace`.
    #[error(
        "`permissions_grace` is hours, 1 to 720, and goes with `permissions: host`: leave it out for 12"
    )]
    Grace,
}
