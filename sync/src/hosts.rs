//! The repositories of an organisation, as its host lists them: GitHub, GitLab, Gitea and Forgejo, or
//! a list of URLs.
//!
//! A connection is checked once ([`ConnectionSettings::check`]), listed by [`HostClient::list`], named
//! by [`slugs::assign`] and compared with what is known by [`changes::compare`]. Nothing here writes.
//! All that a host sends is bounded, and its text is cleaned before anybody sees it.

// In the order a connection meets them.
mod settings;
mod settings_error;
mod connection;
mod stored;
mod filter;
mod dialect;
mod client;
mod app;
mod wire;
mod error;
mod gather;
mod repository;
mod readers;
mod text;
pub mod slugs;
pub mod changes;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use app::{AppKeyError, AppToken};
pub use client::{ClientError, HostClient};
pub(crate) use client::{authorities, client_builder};
pub use connection::Connection;
pub use dialect::HostKind;
pub use error::ListingError;
pub use filter::Exclusion;
pub use gather::{FoundRepositories, Listing, ListingMark};
pub use readers::{AskedRepository, HostReader, ReaderSession, ReadersAnswer};
pub use repository::{HostedRepository, Visibility};
pub use settings::{
    AppCredential, AppCredentialSetting, ConnectionSettings, CredentialSetting, GiteaSource,
    GithubSource, GitlabSource, PermissionsSetting, UrlsSource,
};
pub use settings_error::SettingsError;
pub use stored::StoredSettingsError;
pub use wire::Budget;
