//! The repositories of an organisation, as its host lists them: GitHub, GitLab, Gitea and Forgejo, or
//! a list of URLs.
//!
//! A connection is checked once ([`ConnectionSettings::check`]), listed by [`HostClient::list`], named
//! by [`slugs::assign`] and compared with what is known by [`changes::compare`]. Nothing here writes.
//! All that a host sends is bounded, and its text is cleaned before anybody sees it.

// In the order a connection meets them.
mod settings;
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
pub use connection::{Connection, SettingsError};
pub use dialect::HostKind;
pub use error::ListingError;
pub use filter::Exclusion;
pub use gather::{FoundRepositories, Listing, ListingMark};
pub use repository::HostedRepository;
pub use settings::{
    AppCredential, AppCredentialSetting, ConnectionSettings, CredentialSetting, GiteaSource,
    GithubSource, GitlabSource, UrlsSource,
};
pub use stored::StoredSettingsError;
