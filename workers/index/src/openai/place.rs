//! Where a service is, which model it has and who asks, as its operator says it.

use std::io;
use std::path::{Path, PathBuf};

use reqwest::{Certificate, Url};
use secrecy::{ExposeSecret as _, SecretString};

/// A file with a key or certificates is no larger.
const MOST_FILE_BYTES: u64 = 4 << 20;
/// The longest name of a model, in bytes: an index is named for it, and more.
const LONGEST_MODEL: usize = 150;

/// Which service it is, for messages: its options are named for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The one that makes vectors.
    Embedder,
    /// The one that answers in words.
    Chat,
}

/// What an operator says of a service, as it was given.
pub struct Told<'a> {
    /// Which service it is.
    pub which: Which,
    /// Its URL, up to the API's paths.
    pub url: Option<&'a String>,
    /// The key itself.
    pub key: Option<&'a SecretString>,
    /// A file with the key.
    pub key_file: Option<&'a PathBuf>,
    /// A file with the certificates of its authorities.
    pub ca_file: Option<&'a PathBuf>,
    /// The model's name.
    pub model: Option<&'a String>,
}

/// The same, checked.
pub struct Place {
    pub(crate) which: Which,
    /// Without a slash at its end.
    pub base: String,
    /// The key, if it needs one.
    pub key: Option<SecretString>,
    pub(crate) roots: Vec<Certificate>,
    /// The model's name.
    pub model: String,
}

/// What is wrong with how a service is set up. Never carries its key or where it is.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// Where it is was not said.
    #[error(
        "{} needs a URL: --{}-url (ARCHWAY_{}_URL)",
        .0.one(), .0.option(), .0.variable()
    )]
    NoUrl(Which),
    /// Which of its models to ask was not said.
    #[error(
        "{} needs a model: --{}-model (ARCHWAY_{}_MODEL)",
        .0.one(), .0.option(), .0.variable()
    )]
    NoModel(Which),
    /// The URL is none, or says more than where the service is.
    #[error(
        "--{option}-url (ARCHWAY_{}_URL) is none of the form http://host/v1 or \
         https://host/v1: a key goes into --{option}-key-file, not into the URL",
        .0.variable(), option = .0.option()
    )]
    Url(Which),
    /// The model's name can't be one.
    #[error(
        "--{}-model (ARCHWAY_{}_MODEL) is no model's name: it has 1 to {LONGEST_MODEL} bytes, \
         without spaces",
        .0.option(), .0.variable()
    )]
    Model(Which),
    /// Both the key and a file with it.
    #[error("--{option}-key and --{option}-key-file are both given: leave one out", option = .0.option())]
    TwoKeys(Which),
    /// The key can't be sent.
    #[error("the {}'s key is empty or has characters that no key has", .0.name())]
    Key(Which),
    /// A file can't be read.
    #[error("--{}-{option} {} can't be read", which.option(), path.display())]
    File {
        /// Whose option names it.
        which: Which,
        /// The rest of that option's name.
        option: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's word.
        #[source]
        source: io::Error,
    },
    /// There are no certificates in the file.
    #[error(
        "--{}-ca-file (ARCHWAY_{}_CA_FILE) has no certificates in PEM",
        .0.option(), .0.variable()
    )]
    Authorities(Which),
    /// No client for it.
    #[error(
        "nothing here can speak to the {}: for https:// install the system's CA certificates, or \
         name some (--{}-ca-file)",
        .0.name(), .0.option()
    )]
    Client(Which, #[source] reqwest::Error),
}

impl Which {
    fn name(self) -> &'static str {
        match self {
            Which::Embedder => "embedding service",
            Which::Chat => "chat model",
        }
    }

    fn one(self) -> &'static str {
        match self {
            Which::Embedder => "an embedding service",
            Which::Chat => "a chat model",
        }
    }

    fn option(self) -> &'static str {
        match self {
            Which::Embedder => "embedder",
            Which::Chat => "chat",
        }
    }

    fn variable(self) -> &'static str {
        match self {
            Which::Embedder => "EMBEDDER",
            Which::Chat => "CHAT",
        }
    }
}

impl Told<'_> {
    /// Checks it. Reads the files that are named.
    ///
    /// # Errors
    /// If something is missing or can't be used.
    pub fn check(&self) -> Result<Place, PlaceError> {
        let which = self.which;
        let url = given(self.url).ok_or(PlaceError::NoUrl(which))?;
        let base = base(url).ok_or(PlaceError::Url(which))?;
        let model = given(self.model).ok_or(PlaceError::NoModel(which))?;
        Ok(Place {
            which,
            base,
            key: self.key()?,
            roots: self.roots()?,
            model: model_name(model).ok_or(PlaceError::Model(which))?,
        })
    }

    fn key(&self) -> Result<Option<SecretString>, PlaceError> {
        let itself = self.key;
        let itself = itself.filter(|key| !key.expose_secret().trim().is_empty());
        let key = match (itself, named(self.key_file)) {
            (Some(_), Some(_)) => return Err(PlaceError::TwoKeys(self.which)),
            (Some(key), None) => key.expose_secret().to_owned(),
            (None, Some(path)) => self.read("key-file", path)?,
            (None, None) => return Ok(None),
        };
        let key = key.trim();
        let is_plain = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic());
        is_plain
            .then(|| Some(SecretString::from(key)))
            .ok_or(PlaceError::Key(self.which))
    }

    fn roots(&self) -> Result<Vec<Certificate>, PlaceError> {
        let Some(path) = named(self.ca_file) else {
            return Ok(Vec::new());
        };
        let pem = self.read("ca-file", path)?;
        let roots = Certificate::from_pem_bundle(pem.as_bytes());
        let roots = roots.map_err(|_quotes_it| PlaceError::Authorities(self.which))?;
        (!roots.is_empty())
            .then_some(roots)
            .ok_or(PlaceError::Authorities(self.which))
    }

    fn read(&self, option: &'static str, path: &Path) -> Result<String, PlaceError> {
        use std::io::Read as _;

        let mut text = String::new();
        let file = std::fs::File::open(path);
        let read = file.and_then(|file| file.take(MOST_FILE_BYTES).read_to_string(&mut text));
        read.map_err(|source| PlaceError::File {
            which: self.which,
            option,
            path: path.to_owned(),
            source,
        })?;
        Ok(text)
    }
}

impl Place {
    /// Whether nobody on the way reads what it is sent.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.base.starts_with("https://")
    }
}

/// What a variable says that may be there and empty.
pub fn given(value: Option<&String>) -> Option<&str> {
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
