//! A connection after its check: every value is usable.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use url::Url;

use super::{
    dialect::{HostAddress, HostKind},
    filter::Filter,
    settings::{AppCredential, AppCredentialSetting, ConnectionSettings, CredentialSetting},
    settings_error::SettingsError,
    slugs, text,
};
use crate::remote::{AllowedProtocols, MAX_URL, Protocol, RemoteUrl, RemoteUrlError};

/// The most repositories that a connection may serve, and that a host may list.
pub(super) const MOST_REPOSITORIES: u32 = 100_000;

/// A checked connection: only [`ConnectionSettings::check`] makes one.
#[derive(Clone, Debug)]
pub struct Connection {
    pub(super) source: Source,
    pub(super) filter: Filter,
    pub(super) max: usize,
    pub(super) app: Option<AppCredential>,
    pub(super) ca_file: Option<PathBuf>,
    pub(super) https_proxy: Option<Url>,
    pub(super) allowed: AllowedProtocols,
}

/// Where the repositories come from.
#[derive(Clone, Debug)]
pub(super) enum Source {
    Host(HostAddress),
    Urls(Vec<RemoteUrl>),
}

impl Connection {
    /// What the host speaks; `None` for a list of URLs.
    pub fn kind(&self) -> Option<HostKind> {
        match &self.source {
            Source::Host(address) => Some(address.kind),
            Source::Urls(_) => None,
        }
    }

    /// The owner at the host, to which slugs are relative; empty for a list of URLs.
    pub fn below(&self) -> &str {
        match &self.source {
            Source::Host(address) => &address.owner,
            Source::Urls(_) => "",
        }
    }
}

#[cfg(test)]
impl Connection {
    /// The URL that is asked first.
    pub(super) fn first_page(&self) -> String {
        match &self.source {
            Source::Host(address) => address.routes()[0].to_string(),
            Source::Urls(_) => String::new(),
        }
    }
}

impl ConnectionSettings {
    /// Checks every value. Reads no file and asks no host.
    ///
    /// # Errors
    /// [`SettingsError`] for the first value that is wrong.
    pub fn check(&self, allowed: &AllowedProtocols) -> Result<Connection, SettingsError> {
        named(&self.name, "name")?;
        let source = self.source(allowed)?;
        let app = self.app()?;
        let max = Some(self.max).filter(|max| (1..=MOST_REPOSITORIES).contains(max));
        let ca_file = self.ca_file.clone();
        if ca_file.as_deref().is_some_and(|path| !is_file_path(path)) {
            return Err(SettingsError::Authorities);
        }
        self.check_permissions()?;
        let proxy = self.https_proxy.as_deref();
        let proxy = proxy.map(|text| proxy_url(text).ok_or(SettingsError::Proxy));
        Ok(Connection {
            source,
            filter: Filter::new(self)?,
            max: max.ok_or(SettingsError::Max(self.max))? as usize,
            app,
            ca_file,
            https_proxy: proxy.transpose()?,
            allowed: allowed.clone(),
        })
    }

    fn source(&self, allowed: &AllowedProtocols) -> Result<Source, SettingsError> {
        let github = self.github.as_ref().map(|it| {
            let url = it.url.as_deref().unwrap_or("https://github.com");
            (HostKind::Github, it.org.as_str(), url)
        });
        let gitlab = self.gitlab.as_ref().map(|it| {
            let url = it.url.as_deref().unwrap_or("https://gitlab.com");
            (HostKind::Gitlab, it.group.as_str(), url)
        });
        let gitea = self.gitea.as_ref();
        let gitea = gitea.map(|it| (HostKind::Gitea, it.org.as_str(), it.url.as_str()));
        let hosts: Vec<_> = [github, gitlab, gitea].into_iter().flatten().collect();
        match (hosts.as_slice(), &self.urls) {
            ([(kind, owner, url)], None) => {
                check_owner(*kind, owner)?;
                let base = base(url, allowed)?;
                let address = HostAddress::new(*kind, owner, base);
                Ok(Source::Host(address.ok_or(SettingsError::NoApi)?))
            }
            ([], Some(urls)) => Ok(Source::Urls(list(&urls.list, allowed)?)),
            (hosts, urls) => Err(SettingsError::Sources(
                hosts.len() + usize::from(urls.is_some()),
            )),
        }
    }

    fn check_permissions(&self) -> Result<(), SettingsError> {
        let hours = self.permissions_grace;
        if self.permissions.is_none() {
            return hours.map_or(Ok(()), |_| Err(SettingsError::Grace));
        }
        match (&self.urls, &self.credential) {
            (Some(_), _) => Err(SettingsError::Permissions),
            (None, None) => Err(SettingsError::NoCredential),
            _ if hours.is_some_and(|hours| !(1..=720).contains(&hours)) => {
                Err(SettingsError::Grace)
            }
            _ => Ok(()),
        }
    }

    fn app(&self) -> Result<Option<AppCredential>, SettingsError> {
        match &self.credential {
            None => Ok(None),
            Some(CredentialSetting::Name(name)) => named(name, "credential").map(|()| None),
            Some(CredentialSetting::App(_)) if self.github.is_none() => {
                Err(SettingsError::AppElsewhere)
            }
            Some(CredentialSetting::App(AppCredentialSetting { app })) => {
                match app.id > 0 && app.installation > 0 {
                    true => Ok(Some(*app)),
                    false => Err(SettingsError::App),
                }
            }
        }
    }
}

fn named(name: &str, field: &'static str) -> Result<(), SettingsError> {
    match slugs::is_slug(name) {
        true => Ok(()),
        false => Err(SettingsError::Name(field)),
    }
}

fn check_owner(kind: HostKind, owner: &str) -> Result<(), SettingsError> {
    let is_name = |part: &str| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        part.bytes().all(plain)
            && !part.is_empty()
            && !part.starts_with(['-', '.'])
            && !part.contains("..")
    };
    let is_number = owner.bytes().all(|byte| byte.is_ascii_digit());
    let fits = owner.len() <= 255;
    match kind {
        HostKind::Gitlab if fits && !is_number && owner.split('/').all(is_name) => Ok(()),
        HostKind::Gitlab => Err(SettingsError::Group),
        HostKind::Github | HostKind::Gitea if fits && is_name(owner) => Ok(()),
        HostKind::Github | HostKind::Gitea => Err(SettingsError::Organisation),
    }
}

/// A host's address, checked as the URL of a repository below it.
fn base(text: &str, allowed: &AllowedProtocols) -> Result<Url, SettingsError> {
    let text = text.trim_end_matches('/');
    let below = RemoteUrl::parse(&format!("{text}/x"), allowed).map_err(SettingsError::Address)?;
    if !matches!(below.protocol(), Protocol::Https | Protocol::Http) {
        return Err(SettingsError::NoApi);
    }
    Url::parse(text).map_err(|_may_hold_a_password| SettingsError::Address(RemoteUrlError::Invalid))
}

fn list(written: &[String], allowed: &AllowedProtocols) -> Result<Vec<RemoteUrl>, SettingsError> {
    let mut seen = HashSet::new();
    let mut urls = Vec::with_capacity(written.len());
    for (index, text) in written.iter().enumerate() {
        let number = index + 1;
        let url = RemoteUrl::parse(text, allowed)
            .map_err(|source| SettingsError::Url { number, source })?;
        if !seen.insert(url.to_string()) || number > MOST_REPOSITORIES as usize {
            return Err(SettingsError::List);
        }
        urls.push(url);
    }
    match urls.is_empty() {
        true => Err(SettingsError::List),
        false => Ok(urls),
    }
}

fn is_file_path(path: &Path) -> bool {
    path.is_absolute() && path.to_str().is_some_and(|path| text::is_plain(path, 4096))
}

fn proxy_url(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let is_web = matches!(url.scheme(), "http" | "https") && url.host_str().is_some();
    let is_bare = url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none()
        && url.path() == "/";
    (is_web && is_bare && text.len() <= MAX_URL).then_some(url)
}
