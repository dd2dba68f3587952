//! Credentials for remote hosts: files of one folder, named by sources and connections.
//!
//! A file is read at each use, so a renewed credential needs no restart.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use moka::sync::Cache;
use secrecy::{ExposeSecret, SecretString};

use crate::hosts::slugs::is_slug;
use crate::remote::Protocol;

/// The largest file of a credential, in bytes.
const MAX_FILE: u64 = 64 << 10;
/// The user of a file that has only a token: hosts ignore it, but want one.
const USER_OF_TOKENS: &str = "x-access-token";
/// The ending of files with secrets of webhooks.
const WEBHOOK: &str = "webhook";

/// Files whose mode was warned of.
const MAX_WARNED: u64 = 1000;

/// The folder of credentials.
#[derive(Clone, Debug)]
pub struct Credentials {
    folder: Option<PathBuf>,
    known_hosts: Option<PathBuf>,
    /// Files that every user can read, of which the log has a line.
    warned: Cache<String, ()>,
}

/// A user and a password or token, for https.
#[derive(Debug)]
pub struct HttpsCredential {
    /// The user.
    pub user: String,
    /// The password or token.
    pub password: SecretString,
}

impl HttpsCredential {
    /// A token without a user.
    pub fn of_token(token: SecretString) -> HttpsCredential {
        HttpsCredential {
            user: USER_OF_TOKENS.to_owned(),
            password: token,
        }
    }
}

/// A private key and the host keys that it is used with, for ssh.
#[derive(Debug)]
pub struct SshCredential {
    /// The private key, in OpenSSH's format.
    pub key: SecretString,
    /// The file of known hosts.
    pub known_hosts: PathBuf,
}

/// What a credential is for one protocol.
#[derive(Debug)]
pub enum Credential {
    /// For https and http.
    Https(HttpsCredential),
    /// For ssh.
    Ssh(SshCredential),
}

/// Why a credential cannot be used. Never carries the secret, nor the folder.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// The name has other characters, or is too long.
    #[error("`{0}` is no name of a credential: use [a-z0-9][a-z0-9-]{{0,62}}")]
    Name(String),
    /// There is no such file.
    #[error(
        "the folder of credentials (--credentials) has no file `{0}`: an operator has to put it there"
    )]
    Missing(String),
    /// The file cannot be read.
    #[error("the file `{name}` of --credentials can't be read")]
    Read {
        /// The file's name.
        name: String,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The file is empty, too large, or has more than one line.
    #[error("the file `{0}` of --credentials must have one line: `token` or `user:token`")]
    Malformed(String),
    /// The protocol has no credentials.
    #[error("the protocol {0} takes no credential: leave `credential` out")]
    Protocol(&'static str),
}

/// Checks the name of a credential.
///
/// # Errors
/// [`CredentialError::Name`].
pub fn check_name(name: &str) -> Result<(), CredentialError> {
    match is_slug(name) {
        true => Ok(()),
        false => Err(CredentialError::Name(name.chars().take(80).collect())),
    }
}

impl Credentials {
    /// Credentials in `folder`, if there is one. `known_hosts` is the file for ssh keys that have none beside them.
    pub fn new(folder: Option<PathBuf>, known_hosts: Option<PathBuf>) -> Credentials {
        Credentials {
            folder,
            known_hosts,
            warned: Cache::new(MAX_WARNED),
        }
    }

    /// Reads a tenant's credential of this name for a protocol: the file `TENANT.NAME`, or else `NAME`.
    ///
    /// # Errors
    /// [`CredentialError`].
    pub fn read(
        &self,
        tenant: &str,
        name: &str,
        protocol: Protocol,
    ) -> Result<Credential, CredentialError> {
        let file = || match name {
            // `TENANT.webhook` is the secret of the connection `TENANT`.
            WEBHOOK => check_name(name).map(|()| name.to_owned()),
            _ => self.own_or_shared(tenant, name, ""),
        };
        match protocol {
            Protocol::Https | Protocol::Http => Ok(Credential::Https(self.https(&file()?)?)),
            Protocol::Ssh => Ok(Credential::Ssh(self.ssh(&file()?)?)),
            Protocol::Git | Protocol::File => Err(CredentialError::Protocol(protocol.name())),
        }
    }

    /// The private key of a connection's GitHub App: the file `TENANT.NAME.app.pem`, or else `NAME.app.pem`.
    ///
    /// # Errors
    /// [`CredentialError`].
    pub fn app_key(&self, tenant: &str, connection: &str) -> Result<SecretString, CredentialError> {
        self.text(&self.own_or_shared(tenant, connection, ".app.pem")?)
    }

    /// The secret of a connection's webhooks, without its line end: the file `TENANT.NAME.webhook`, or else
    /// `NAME.webhook`.
    ///
    /// # Errors
    /// [`CredentialError`].
    pub fn webhook_secret(
        &self,
        tenant: &str,
        connection: &str,
    ) -> Result<SecretString, CredentialError> {
        let file = self.own_or_shared(tenant, connection, ".webhook")?;
        let text = self.text(&file)?;
        match text.expose_secret().trim_end_matches(['\r', '\n']) {
            "" => Err(CredentialError::Malformed(file)),
            secret => Ok(secret.into()),
        }
    }

    /// The name of the tenant's own file, if there is one, or of the file for every tenant.
    fn own_or_shared(
        &self,
        tenant: &str,
        name: &str,
        ending: &str,
    ) -> Result<String, CredentialError> {
        check_name(tenant)?;
        check_name(name)?;
        let (own, shared) = (
            format!("{tenant}.{name}{ending}"),
            format!("{name}{ending}"),
        );
        match self.path(&own) {
            Err(CredentialError::Missing(_)) => Ok(shared),
            _ => Ok(own),
        }
    }

    fn https(&self, file: &str) -> Result<HttpsCredential, CredentialError> {
        let text = self.text(file)?;
        let line = text.expose_secret().trim_end_matches(['\r', '\n']);
        let (user, password) = line.split_once(':').unwrap_or((USER_OF_TOKENS, line));
        let is_text = |part: &str| !part.is_empty() && !part.chars().any(char::is_control);
        match is_text(user) && is_text(password) {
            true => Ok(HttpsCredential {
                user: user.to_owned(),
                password: password.into(),
            }),
            false => Err(CredentialError::Malformed(file.to_owned())),
        }
    }

    fn ssh(&self, file: &str) -> Result<SshCredential, CredentialError> {
        let key = self.text(file)?;
        let own = self.path(&format!("{file}.known_hosts"));
        let known_hosts = match (own, &self.known_hosts) {
            (Err(CredentialError::Missing(_)), Some(all)) => all.clone(),
            (own, _) => own?,
        };
        Ok(SshCredential { key, known_hosts })
    }

    /// The path of an existing file.
    fn path(&self, file: &str) -> Result<PathBuf, CredentialError> {
        let missing = || CredentialError::Missing(file.to_owned());
        let path = self.folder.as_ref().ok_or_else(missing)?.join(file);
        let metadata = fs::metadata(&path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => missing(),
            _ => CredentialError::Read {
                name: file.to_owned(),
                source,
            },
        })?;
        if self.is_news_of_mode(file, metadata.permissions().mode()) {
            tracing::warn!(file, "a credential can be read by every user: chmod o= it");
        }
        match metadata.len() <= MAX_FILE {
            true => Ok(path),
            false => Err(CredentialError::Malformed(file.to_owned())),
        }
    }

    /// Whether every user can read a file, and the log does not say so yet.
    fn is_news_of_mode(&self, file: &str, mode: u32) -> bool {
        mode & 0o007 != 0 && self.warned.entry_by_ref(file).or_default().is_fresh()
    }

    fn text(&self, file: &str) -> Result<SecretString, CredentialError> {
        let path = self.path(file)?;
        read(&path).map_err(|source| CredentialError::Read {
            name: file.to_owned(),
            source,
        })
    }
}

fn read(path: &Path) -> io::Result<SecretString> {
    Ok(SecretString::from(fs::read_to_string(path)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> (tempfile::TempDir, Credentials) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let credentials = Credentials::new(Some(folder.path().to_owned()), None);
        (folder, credentials)
    }

    #[test]
    fn a_file_has_a_token_or_a_user_and_a_token() {
        let (_folder, credentials) = folder(&[("one", "secret\n"), ("two", "user:sec:ret\r\n")]);
        for (name, user, password) in [
            ("one", USER_OF_TOKENS, "secret"),
            ("two", "user", "sec:ret"),
        ] {
            let Credential::Https(read) = credentials.read("acme", name, Protocol::Https).unwrap()
            else {
                panic!("{name} is for https");
            };
            assert_eq!(
                (read.user.as_str(), read.password.expose_secret()),
                (user, password)
            );
        }
    }

    #[test]
    fn a_key_without_known_hosts_is_refused() {
        let (folder, credentials) = folder(&[("key", "PRIVATE")]);
        let refused = credentials.read("acme", "key", Protocol::Ssh).unwrap_err();
        assert!(matches!(&refused, CredentialError::Missing(file) if file == "key.known_hosts"));
        fs::write(folder.path().join("key.known_hosts"), "host key").unwrap();
        assert!(credentials.read("acme", "key", Protocol::Ssh).is_ok());
    }

    #[test]
    fn bad_names_and_contents_are_refused_without_the_secret() {
        let long = "x".repeat(64 << 10) + "y";
        let (_folder, credentials) = folder(&[
            ("empty", "\n"),
            ("lines", "secret\nsecret"),
            ("long", &long),
        ]);
        for name in [
            "../one", "", "One", "a/b", ".hidden", "empty", "lines", "long", "absent",
        ] {
            let refused = credentials.read("acme", name, Protocol::Https).unwrap_err();
            assert!(
                !format!("{refused} {refused:?}").contains("secret"),
                "{name}"
            );
        }
        let none = Credentials::new(None, None);
        assert!(none.read("acme", "a", Protocol::Https).is_err());
        assert!(credentials.read("acme", "a", Protocol::Git).is_err());
    }

    #[test]
    fn a_tenants_own_file_is_read_before_the_one_of_all() {
        let (_folder, credentials) = folder(&[
            ("host", "shared"),
            ("acme.host", "own"),
            ("github.webhook", "shared"),
            ("acme.github.webhook", "own"),
            ("github.app.pem", "shared"),
            ("acme.github.app.pem", "own"),
            ("webhook", "shared"),
            ("acme.webhook", "another connection's"),
        ]);
        for (tenant, secret) in [("acme", "own"), ("other", "shared")] {
            let token = |name| match credentials.read(tenant, name, Protocol::Https).unwrap() {
                Credential::Https(https) => https.password.expose_secret().to_owned(),
                Credential::Ssh(_) => panic!("{name} is for https"),
            };
            assert_eq!(token("host"), secret);
            assert_eq!(
                token("webhook"),
                "shared",
                "no secret of webhooks is a credential"
            );
            let hook = credentials.webhook_secret(tenant, "github").unwrap();
            let key = credentials.app_key(tenant, "github").unwrap();
            assert_eq!(
                [hook, key].map(|it| it.expose_secret().to_owned()),
                [secret; 2]
            );
        }
        let refused = credentials.webhook_secret("../acme", "github").unwrap_err();
        assert!(matches!(refused, CredentialError::Name(_)));
    }

    #[test]
    fn a_file_that_all_can_read_is_warned_of_once() {
        let credentials = Credentials::new(None, None);
        assert!(!credentials.is_news_of_mode("a", 0o640));
        assert!(credentials.is_news_of_mode("a", 0o644));
        assert!(!credentials.is_news_of_mode("a", 0o644));
        assert!(credentials.is_news_of_mode("b", 0o604));
    }
}
