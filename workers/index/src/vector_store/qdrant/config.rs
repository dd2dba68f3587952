//! Configuration of Qdrant.

use std::{fs::File, io::Read, path::PathBuf};

use http::{Uri, uri::PathAndQuery};
use secrecy::{ExposeSecret, SecretString};
use tonic::metadata::{Ascii, MetadataValue};

/// Qdrant's default port for gRPC.
const PORT: u16 = 6334;
/// Largest key, in bytes: a larger file was named by mistake.
const LONGEST_KEY: u64 = 64 * 1024;
/// Longest prefix: a collection's name has at most 255 characters, with the model's after the prefix.
const LONGEST_PREFIX: usize = 64;

/// Qdrant as the vector store.
#[derive(Clone, Debug, clap::Args)]
pub struct QdrantConfig {
    /// A Qdrant that stores the index, version 1.19 or later, by its gRPC port:
    /// `http://host:6334`, or `https://…` (with TLS). If unset or empty, Postgres stores it.
    #[arg(long, env = "ARCHWAY_QDRANT_URL", value_name = "URL")]
    pub qdrant_url: Option<String>,
    /// The API key of Qdrant.
    #[arg(
        long,
        env = "ARCHWAY_QDRANT_KEY",
        hide_env_values = true,
        value_name = "KEY"
    )]
    pub qdrant_key: Option<SecretString>,
    /// A file with the API key, and nothing else.
    #[arg(long, env = "ARCHWAY_QDRANT_KEY_FILE", value_name = "FILE")]
    pub qdrant_key_file: Option<PathBuf>,
    /// Prefix of its collections' names: letters, digits, `-`, `_` and `.`. Installations that share
    /// a Qdrant need different ones.
    #[arg(
        long,
        env = "ARCHWAY_QDRANT_COLLECTION",
        value_name = "PREFIX",
        default_value = "archway"
    )]
    pub qdrant_collection: String,
}

impl Default for QdrantConfig {
    fn default() -> Self {
        QdrantConfig {
            qdrant_url: None,
            qdrant_key: None,
            qdrant_key_file: None,
            qdrant_collection: "archway".to_owned(),
        }
    }
}

/// Why the configuration of Qdrant is invalid. Carries neither the key nor the URL.
#[derive(Debug, thiserror::Error)]
pub enum QdrantConfigError {
    /// The URL is malformed.
    #[error(
        "--qdrant-url (ARCHWAY_QDRANT_URL) is not of the form http://host:6334 or https://host:6334 \
         (with TLS); 6334 is the port on which Qdrant speaks gRPC"
    )]
    Url,
    /// The URL has credentials before the host.
    #[error(
        "--qdrant-url (ARCHWAY_QDRANT_URL) has credentials before its host: set the key with \
         ARCHWAY_QDRANT_KEY_FILE or ARCHWAY_QDRANT_KEY"
    )]
    KeyInUrl,
    /// Both the key and a file with it are set.
    #[error("both ARCHWAY_QDRANT_KEY and ARCHWAY_QDRANT_KEY_FILE are set: unset one of them")]
    TwoKeys,
    /// The key's file cannot be read.
    #[error("can't read the key of Qdrant from {path} (ARCHWAY_QDRANT_KEY_FILE)")]
    KeyFile {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The key cannot be sent.
    #[error("the key of Qdrant is not one line of ASCII letters, digits and signs")]
    Key,
    /// No collection's name can start with the prefix.
    #[error(
        "--qdrant-collection (ARCHWAY_QDRANT_COLLECTION) is 1 to {LONGEST_PREFIX} ASCII letters, \
         digits, `-`, `_` and `.`, not {0:?}"
    )]
    Prefix(String),
    /// TLS cannot be set up.
    #[error(
        "--qdrant-url (ARCHWAY_QDRANT_URL) needs TLS, which can't be set up: are certificates of \
         authorities installed?"
    )]
    Tls(#[source] tonic::transport::Error),
}

impl QdrantConfig {
    /// Whether Qdrant is the store: templates of deployments leave the URL empty.
    pub(crate) fn is_set(&self) -> bool {
        self.qdrant_url.as_ref().is_some_and(|url| !url.is_empty())
    }

    /// Scheme, host and port.
    pub(super) fn uri(&self) -> Result<Uri, QdrantConfigError> {
        let text = self.qdrant_url.as_deref().unwrap_or_default();
        let malformed = |_quotes_the_url| QdrantConfigError::Url;
        let mut parts = text.parse::<Uri>().map_err(malformed)?.into_parts();
        let scheme = parts.scheme.as_ref().map_or("", |scheme| scheme.as_str());
        let rootless = parts.path_and_query.replace(PathAndQuery::from_static("/"));
        let rootless = rootless.is_none_or(|path| path == "/");
        let authority = parts.authority.as_ref().ok_or(QdrantConfigError::Url)?;
        if authority.as_str().contains('@') {
            return Err(QdrantConfigError::KeyInUrl);
        }
        if !["http", "https"].contains(&scheme) || !rootless || authority.host().is_empty() {
            return Err(QdrantConfigError::Url);
        }
        if authority.port().is_none() {
            let whole = format!("{}:{PORT}", authority.host());
            parts.authority = Some(whole.parse().map_err(malformed)?);
        }
        Uri::from_parts(parts).map_err(|_quotes_the_url| QdrantConfigError::Url)
    }

    /// The key, as request metadata.
    pub(super) fn key(&self) -> Result<Option<MetadataValue<Ascii>>, QdrantConfigError> {
        let inline = self.qdrant_key.as_ref();
        let inline = inline.filter(|key| !key.expose_secret().is_empty());
        let file = self.qdrant_key_file.as_ref();
        let file = file.filter(|path| !path.as_os_str().is_empty());
        let key = match (inline, file) {
            (None, None) => return Ok(None),
            (Some(_), Some(_)) => return Err(QdrantConfigError::TwoKeys),
            (Some(key), None) => key.clone(),
            (None, Some(path)) => read(path)?,
        };
        let key = key.expose_secret().trim();
        if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(QdrantConfigError::Key);
        }
        let value = MetadataValue::try_from(key);
        let mut value = value.map_err(|_says_nothing| QdrantConfigError::Key)?;
        value.set_sensitive(true);
        Ok(Some(value))
    }

    /// The checked prefix of collections' names.
    pub(super) fn prefix(&self) -> Result<&str, QdrantConfigError> {
        let prefix = self.qdrant_collection.as_str();
        let fits = (1..=LONGEST_PREFIX).contains(&prefix.len());
        if fits && prefix.bytes().all(is_plain) {
            return Ok(prefix);
        }
        Err(QdrantConfigError::Prefix(prefix.to_owned()))
    }
}

/// Whether a collection's name may contain the byte.
pub(super) fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)
}

fn read(path: &PathBuf) -> Result<SecretString, QdrantConfigError> {
    let failed = |source| QdrantConfigError::KeyFile {
        path: path.clone(),
        source,
    };
    let mut key = String::new();
    let file = File::open(path).map_err(failed)?;
    file.take(LONGEST_KEY)
        .read_to_string(&mut key)
        .map_err(failed)?;
    Ok(SecretString::from(key))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn at(url: &str) -> QdrantConfig {
        QdrantConfig {
            qdrant_url: Some(url.to_owned()),
            ..QdrantConfig::default()
        }
    }

    #[test]
    fn a_url_gets_the_default_port_and_no_path() {
        for (key, meant) in [
            ("http://qdrant:6334", "http://qdrant:6334/"),
            ("http://qdrant", "http://qdrant:6334/"),
            ("https://qdrant.example/", "https://qdrant.example:6334/"),
            ("http://[fd00::1]", "http://[fd00::1]:6334/"),
            ("http://127.0.0.1:7000", "http://127.0.0.1:7000/"),
        ] {
            assert_eq!(at(key).uri().unwrap().to_string(), meant);
        }
        assert!(!at("").is_set() && at("http://qdrant").is_set());
    }

    #[test]
    fn a_malformed_url_is_rejected_without_showing_its_key() {
        for bad in [
            "",
            "qdrant:6334",
            "http://hunter2@qdrant",
            "https://me:hunter2@qdrant:6334",
            "redis://qdrant/hunter2",
            "http://qdrant/hunter2",
            "http://qdrant?api-key=hunter2",
            "http://hun ter2",
        ] {
            let error = at(bad).uri().expect_err(bad);
            assert!(!format!("{error} {error:?}").contains("ter2"), "{error}");
        }
    }

    #[test]
    fn a_key_comes_from_one_source_and_is_never_shown() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        writeln!(file, "hunter2").unwrap();
        let from_file = QdrantConfig {
            qdrant_key_file: Some(file.path().to_owned()),
            ..QdrantConfig::default()
        };
        let from_environment = QdrantConfig {
            qdrant_key: Some(SecretString::from("hunter2")),
            ..QdrantConfig::default()
        };
        for config in [&from_file, &from_environment] {
            let key = config.key().unwrap().unwrap();
            assert_eq!(key, "hunter2");
            assert!(!format!("{key:?} {config:?}").contains("hunter2"));
        }
        let both = QdrantConfig {
            qdrant_key: from_environment.qdrant_key,
            ..from_file
        };
        assert!(matches!(both.key(), Err(QdrantConfigError::TwoKeys)));
        assert!(QdrantConfig::default().key().unwrap().is_none());
    }

    #[test]
    fn a_key_that_cannot_be_sent_and_a_missing_file_are_rejected() {
        for bad in ["hun\nter2", " \n", "hünter2"] {
            let config = QdrantConfig {
                qdrant_key: Some(SecretString::from(bad)),
                ..QdrantConfig::default()
            };
            let error = config.key().expect_err(bad);
            assert!(matches!(error, QdrantConfigError::Key), "{bad:?}");
        }
        let config = QdrantConfig {
            qdrant_key_file: Some("/nowhere/key".into()),
            ..QdrantConfig::default()
        };
        let error = config.key().unwrap_err();
        assert!(matches!(error, QdrantConfigError::KeyFile { .. }));
    }

    #[test]
    fn a_prefix_has_only_plain_characters() {
        for (prefix, good) in [
            ("archway", true),
            ("a.b-C_9", true),
            ("", false),
            ("a/b", false),
        ] {
            let config = QdrantConfig {
                qdrant_collection: prefix.to_owned(),
                ..QdrantConfig::default()
            };
            assert_eq!(config.prefix().is_ok(), good, "{prefix}");
        }
    }
}
