//! URL, key, certificates and model of a service, as configured.

use std::io;
use std::path::{Path, PathBuf};

use reqwest::{Certificate, Url};
use secrecy::{ExposeSecret as _, SecretString};

/// Largest file with a key or certificates, in bytes.
const MOST_FILE_BYTES: u64 = 4 << 20;
/// Longest model name, in bytes: the name is part of longer names of indexes.
const LONGEST_MODEL: usize = 150;

/// Which service it is; its options and messages are named after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceKind {
    /// The embedding service.
    Embedder,
    /// The chat model.
    Chat,
}

/// The options of a service, unchecked.
pub struct EndpointOptions<'a> {
    /// Which service it is.
    pub which: ServiceKind,
    /// Base URL, up to the API's paths.
    pub url: Option<&'a String>,
    /// The key itself.
    pub key: Option<&'a SecretString>,
    /// File with the key.
    pub key_file: Option<&'a PathBuf>,
    /// File with the certificates (PEM) of its authorities.
    pub ca_file: Option<&'a PathBuf>,
    /// Name of the model.
    pub model: Option<&'a String>,
}

/// The options of a service, checked.
pub struct Endpoint {
    pub(crate) which: ServiceKind,
    /// Base URL, without a trailing slash.
    pub base: String,
    /// The key, if one is set.
    pub key: Option<SecretString>,
    pub(crate) roots: Vec<Certificate>,
    /// Name of the model.
    pub model: String,
}

/// An invalid option of a service. Contains neither the key nor the URL.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// The URL is missing.
    #[error(
        "{} needs a URL: --{}-url (ARCHWAY_{}_URL)",
        .0.one(), .0.option(), .0.variable()
    )]
    NoUrl(ServiceKind),
    /// The model is missing.
    #[error(
        "{} needs a model: --{}-model (ARCHWAY_{}_MODEL)",
        .0.one(), .0.option(), .0.variable()
    )]
    NoModel(ServiceKind),
    /// The URL is malformed, or carries credentials, a query or a fragment.
    #[error(
        "--{option}-url (ARCHWAY_{}_URL) is not of the form http://host/v1 or https://host/v1: \
         a key goes into --{option}-key-file, not into the URL",
        .0.variable(), option = .0.option()
    )]
    Url(ServiceKind),
    /// The model's name is malformed.
    #[error(
        "--{}-model (ARCHWAY_{}_MODEL) is not a model's name: it has 1 to {LONGEST_MODEL} bytes, \
         without spaces",
        .0.option(), .0.variable()
    )]
    Model(ServiceKind),
    /// Both the key and a file with it are set.
    #[error("--{option}-key and --{option}-key-file are both non_blank: leave one out", option = .0.option())]
    TwoKeys(ServiceKind),
    /// The key cannot be sent.
    #[error("the {}'s key is empty or has characters that a key cannot have", .0.name())]
    Key(ServiceKind),
    /// A file cannot be read.
    #[error("--{}-{option} {} can't be read", which.option(), path.display())]
    File {
        /// Which service's option names the file.
        which: ServiceKind,
        /// The option, without its prefix.
        option: &'static str,
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
    /// The file has no certificates.
    #[error(
        "--{}-ca-file (ARCHWAY_{}_CA_FILE) has no certificates in PEM",
        .0.option(), .0.variable()
    )]
    Authorities(ServiceKind),
    /// The TLS client cannot be built.
    #[error(
        "no TLS client for the {}: for https:// install the system's CA certificates, or name \
         some (--{}-ca-file)",
        .0.name(), .0.option()
    )]
    Client(ServiceKind, #[source] reqwest::Error),
}

impl ServiceKind {
    fn name(self) -> &'static str {
        match self {
            ServiceKind::Embedder => "embedding service",
            ServiceKind::Chat => "chat model",
        }
    }

    fn one(self) -> &'static str {
        match self {
            ServiceKind::Embedder => "an embedding service",
            ServiceKind::Chat => "a chat model",
        }
    }

    fn option(self) -> &'static str {
        match self {
            ServiceKind::Embedder => "embedder",
            ServiceKind::Chat => "chat",
        }
    }

    fn variable(self) -> &'static str {
        match self {
            ServiceKind::Embedder => "EMBEDDER",
            ServiceKind::Chat => "CHAT",
        }
    }
}

impl EndpointOptions<'_> {
    /// Checks the options and reads the files they name.
    ///
    /// # Errors
    /// If something is missing or malformed.
    pub fn check(&self) -> Result<Endpoint, EndpointError> {
        let which = self.which;
        let url = non_blank(self.url).ok_or(EndpointError::NoUrl(which))?;
        let base = base(url).ok_or(EndpointError::Url(which))?;
        let model = non_blank(self.model).ok_or(EndpointError::NoModel(which))?;
        Ok(Endpoint {
            which,
            base,
            key: self.key()?,
            roots: self.roots()?,
            model: model_name(model).ok_or(EndpointError::Model(which))?,
        })
    }

    fn key(&self) -> Result<Option<SecretString>, EndpointError> {
        let itself = self.key;
        let itself = itself.filter(|key| !key.expose_secret().trim().is_empty());
        let key = match (itself, named(self.key_file)) {
            (Some(_), Some(_)) => return Err(EndpointError::TwoKeys(self.which)),
            (Some(key), None) => key.expose_secret().to_owned(),
            (None, Some(path)) => self.read("key-file", path)?,
            (None, None) => return Ok(None),
        };
        let key = key.trim();
        let is_plain = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic());
        is_plain
            .then(|| Some(SecretString::from(key)))
            .ok_or(EndpointError::Key(self.which))
    }

    fn roots(&self) -> Result<Vec<Certificate>, EndpointError> {
        let Some(path) = named(self.ca_file) else {
            return Ok(Vec::new());
        };
        let pem = self.read("ca-file", path)?;
        let roots = Certificate::from_pem_bundle(pem.as_bytes());
        let roots = roots.map_err(|_quotes_it| EndpointError::Authorities(self.which))?;
        (!roots.is_empty())
            .then_some(roots)
            .ok_or(EndpointError::Authorities(self.which))
    }

    fn read(&self, option: &'static str, path: &Path) -> Result<String, EndpointError> {
        use std::io::Read as _;

        let mut text = String::new();
        let file = std::fs::File::open(path);
        let read = file.and_then(|file| file.take(MOST_FILE_BYTES).read_to_string(&mut text));
        read.map_err(|source| EndpointError::File {
            which: self.which,
            option,
            path: path.to_owned(),
            source,
        })?;
        Ok(text)
    }
}

impl Endpoint {
    /// Whether requests travel encrypted.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.base.starts_with("https://")
    }
}

/// The trimmed value; `None` if it is unset or blank, as templates of deployments leave it.
pub fn non_blank(value: Option<&String>) -> Option<&str> {
    value
        .map(|text| text.trim())
        .filter(|text| !text.is_empty())
}

fn named(file: Option<&PathBuf>) -> Option<&PathBuf> {
    file.filter(|path| !path.as_os_str().is_empty())
}

fn base(url: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    let says_where = matches!(url.scheme(), "http" | "https") && url.has_host();
    let says_more = !url.username().is_empty()
        || url.password().is_some()
        || url.query().is_some()
        || url.fragment().is_some();
    (says_where && !says_more).then(|| url.as_str().trim_end_matches('/').to_owned())
}

fn model_name(name: &str) -> Option<String> {
    let fits = name.len() <= LONGEST_MODEL;
    let is_plain = !name.chars().any(|c| c.is_whitespace() || c.is_control());
    (fits && is_plain).then(|| name.to_owned())
}
