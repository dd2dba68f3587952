//! Credentials for remote hosts: files of one folder, named by sources and connections.
//!
//! A file is read at each use, so a renewed credential needs no restart.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use secrecy::{ExposeSecret, SecretString};

use crate::hosts::slugs::is_slug;
use crate::remote::Protocol;

/// The largest file of a credential, in bytes.
const MAX_FILE: u64 = 64 << 10;
/// The user of a file that has only a token: hosts ignore it, but want one.
const USER_OF_TOKENS: &str = "x-access-token";

/// The folder of credentials.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    /// `None` if there is none.
    pub folder: Option<PathBuf>,
    /// The file of known hosts for ssh keys that have none of their own.
    pub known_hosts: Option<PathBuf>,
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
    #[error("--credentials has no file `{0}`: an operator has to put it there")]
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
    /// Reads the credential of this name for a protocol.
    ///
    /// # Errors
    /// [`CredentialError`].
    pub fn read(&self, name: &str, protocol: Protocol) -> Result<Credential, CredentialError> {
        match protocol {
            Protocol::Https | Protocol::Http => Ok(Credential::Https(self.https(name)?)),
            Protocol::Ssh => Ok(Credential::Ssh(self.ssh(name)?)),
            Protocol::Git | Protocol::File => Err(CredentialError::Protocol(protocol.name())),
        }
    }

    /// The private key of a connection's GitHub App: the file `NAME.app.pem`.
    ///
    /// # Errors
    /// [`CredentialError`].
    pub fn app_key(&self, connection: &str) -> Result<SecretString, CredentialError> {
        self.text(connection, &format!("{connection}.app.pem"))
    }

    /// The secret of a connection's webhooks: the file `NAME.webhook`, without its line end.
    ///
    /// # Errors
    /// [`CredentialError`].
    pub fn webhook_secret(&self, connection: &str) -> Result<SecretString, CredentialError> {
        let file = format!("{connection}.webhook");
        let text = self.text(connection, &file)?;
        match text.expose_secret().trim_end_matches(['\r', '\n']) {
            "" => Err(CredentialError::Malformed(file)),
            secret => Ok(secret.into()),
        }
    }

    fn https(&self, name: &str) -> Result<HttpsCredential, CredentialError> {
        let text = self.text(name, name)?;
        let line = text.expose_secret().trim_end_matches(['\r', '\n']);
        let (user, password) = line.split_once(':').unwrap_or((USER_OF_TOKENS, line));
        let is_text = |part: &str| !part.is_empty() && !part.chars().any(char::is_control);
        match is_text(user) && is_text(password) {
            true => Ok(HttpsCredential {
                user: user.to_owned(),
                password: password.into(),
            }),
            false => Err(CredentialError::Malformed(name.to_owned())),
        }
    }

    fn ssh(&self, name: &str) -> Result<SshCredential, CredentialError> {
        let key = self.text(name, name)?;
        let own = self.file(name, &format!("{name}.known_hosts"));
        let known_hosts = match (own, &self.known_hosts) {
            (Err(CredentialError::Missing(_)), Some(all)) => all.clone(),
            (own, _) => own?,
        };
        Ok(SshCredential { key, known_hosts })
    }

    /// The path of an existing file.
    fn file(&self, name: &str, file: &str) -> Result<PathBuf, CredentialError> {
        check_name(name)?;
        let missing = || CredentialError::Missing(file.to_owned());
        let path = self.folder.as_ref().ok_or_else(missing)?.join(file);
        let metadata = fs::metadata(&path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => missing(),
            _ => CredentialError::Read {
                name: file.to_owned(),
                source,
            },
        })?;
        if metadata.permissions().mode() & 0o007 != 0 {
            tracing::warn!(file, "a credential can be read by every user: chmod o= it");
        }
        match metadata.len() <= MAX_FILE {
            true => Ok(path),
            false => Err(CredentialError::Malformed(file.to_owned())),
        }
    }

    fn text(&self, name: &str, file: &str) -> Result<SecretString, CredentialError> {
        let path = self.file(name, file)?;
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
        let credentials = Credentials {
            folder: Some(folder.path().to_owned()),
            known_hosts: None,
        };
        (folder, credentials)
    }

    #[test]
    fn a_file_has_a_token_or_a_user_and_a_token() {
        let (_folder, credentials) = folder(&[("one", "secret\n"), ("two", "user:sec:ret\r\n")]);
        for (name, user, password) in [
            ("one", USER_OF_TOKENS, "secret"),
            ("two", "user", "sec:ret"),
        ] {
            let Credential::Https(read) = credentials.read(name, Protocol::Https).unwrap() else {
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
        let refused = credentials.read("key", Protocol::Ssh).unwrap_err();
        assert!(matches!(&refused, CredentialError::Missing(file) if file == "key.known_hosts"));
        fs::write(folder.path().join("key.known_hosts"), "host key").unwrap();
        assert!(credentials.read("key", Protocol::Ssh).is_ok());
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
            let refused = credentials.read(name, Protocol::Https).unwrap_err();
            assert!(
                !format!("{refused} {refused:?}").contains("secret"),
                "{name}"
            );
        }
        assert!(Credentials::default().read("a", Protocol::Https).is_err());
        assert!(credentials.read("a", Protocol::Git).is_err());
    }
}
