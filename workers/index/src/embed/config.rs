//! Configuration of the embedder.

mod error;
mod prefixes;

use std::{num::NonZeroUsize, path::PathBuf, time::Duration};

use secrecy::SecretString;

use crate::openai::{Endpoint, EndpointOptions, ServiceKind, non_blank};

pub use error::EmbedderConfigError;
pub(crate) use prefixes::Prefixes;

/// Largest number of texts per request: OpenAI's limit.
const MOST_TEXTS: usize = 2048;
/// Largest number of dimensions: several times that of any model.
const MOST_DIMENSIONS: usize = 16_384;

/// The embedder, which makes vectors of code and queries.
#[derive(Clone, Debug, clap::Args)]
pub struct EmbedderConfig {
    /// Source of vectors of texts: `table` (built in; no network, no key), `service` (below), or
    /// `none`: words alone rank texts [default: service if --embedder-url is given, else table].
    #[arg(long, env = "ARCHWAY_EMBEDDER", value_name = "KIND", value_enum)]
    pub embedder: Option<EmbedderKind>,
    /// Base URL of a service that speaks OpenAI's embeddings API, without `/embeddings`:
    /// `https://api.openai.com/v1`. It receives the code. `HTTPS_PROXY` applies to https://; use
    /// http:// in trusted networks only.
    #[arg(long, env = "ARCHWAY_EMBEDDER_URL", value_name = "URL")]
    pub embedder_url: Option<String>,
    /// File with the service's key.
    #[arg(long, env = "ARCHWAY_EMBEDDER_KEY_FILE", value_name = "FILE")]
    pub embedder_key_file: Option<PathBuf>,
    /// The service's key itself, if it is not in a file.
    #[arg(
        long,
        env = "ARCHWAY_EMBEDDER_KEY",
        value_name = "KEY",
        hide_env_values = true
    )]
    pub embedder_key: Option<SecretString>,
    /// File with certificates (PEM) of authorities to trust for the service, in addition to the
    /// system's (which `SSL_CERT_FILE` replaces). Read once, at start.
    #[arg(long, env = "ARCHWAY_EMBEDDER_CA_FILE", value_name = "FILE")]
    pub embedder_ca_file: Option<PathBuf>,
    /// The service's model: `text-embedding-3-small`. A different model needs a new index.
    #[arg(long, env = "ARCHWAY_EMBEDDER_MODEL", value_name = "NAME")]
    pub embedder_model: Option<String>,
    /// Dimensions of the model's vectors.
    #[arg(long, env = "ARCHWAY_EMBEDDER_DIMENSIONS", value_name = "N")]
    pub embedder_dimensions: Option<NonZeroUsize>,
    /// Request vectors of that many dimensions: for models whose vectors can be shortened; others
    /// reject it. The variable is `1` or `0`, `true` or `false`, `yes` or `no`, `on` or `off`.
    #[arg(
        long,
        env = "ARCHWAY_EMBEDDER_ASK_DIMENSIONS",
        value_parser = clap::builder::BoolishValueParser::new()
    )]
    pub embedder_ask_dimensions: bool,
    /// Texts in one request to the service, 1 to 2048.
    #[arg(
        long,
        env = "ARCHWAY_EMBEDDER_BATCH",
        value_name = "N",
        default_value_t = EmbedderConfig::DEFAULT.0
    )]
    pub embedder_batch: NonZeroUsize,
    /// Characters of a text that are sent to the service; longer texts are cut. Use fewer for models
    /// that take fewer than 8192 tokens.
    #[arg(
        long,
        env = "ARCHWAY_EMBEDDER_TEXT_CHARS",
        value_name = "N",
        default_value_t = EmbedderConfig::DEFAULT.1
    )]
    pub embedder_text_chars: NonZeroUsize,
    /// Prefixes of texts.
    #[command(flatten)]
    pub prefixes: Prefixes,
    /// Timeout of one request to the service, in seconds.
    #[arg(
        long,
        env = "ARCHWAY_EMBEDDER_TIMEOUT",
        value_name = "S",
        default_value_t = EmbedderConfig::DEFAULT.2,
        value_parser = clap::value_parser!(u64).range(1..=600)
    )]
    pub embedder_timeout: u64,
}

/// The source of vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum EmbedderKind {
    /// A table that is built in.
    Table,
    /// A service.
    Service,
    /// No source: texts are ranked by words only.
    None,
}

/// The options of a service, checked.
pub(super) struct ServiceConfig {
    pub(super) endpoint: Endpoint,
    pub(super) dimensions: usize,
    pub(super) ask_dimensions: bool,
    pub(super) batch: usize,
    pub(super) text_chars: usize,
    pub(super) query_prefix: String,
    pub(super) document_prefix: String,
    pub(super) timeout: Duration,
}

impl Default for EmbedderConfig {
    fn default() -> Self {
        let (embedder_batch, embedder_text_chars, embedder_timeout) = EmbedderConfig::DEFAULT;
        EmbedderConfig {
            embedder: None,
            embedder_url: None,
            embedder_key_file: None,
            embedder_key: None,
            embedder_ca_file: None,
            embedder_model: None,
            embedder_dimensions: None,
            embedder_ask_dimensions: false,
            embedder_batch,
            embedder_text_chars,
            prefixes: Prefixes::default(),
            embedder_timeout,
        }
    }
}

impl EmbedderConfig {
    /// Defaults: texts per request, characters per text, seconds per request.
    const DEFAULT: (NonZeroUsize, NonZeroUsize, u64) = (
        NonZeroUsize::new(64).unwrap(),
        NonZeroUsize::new(8000).unwrap(),
        30,
    );

    /// Checks the options without opening the embedder.
    ///
    /// # Errors
    /// If something is missing or invalid.
    pub fn check(&self) -> Result<(), EmbedderConfigError> {
        match self.kind() {
            EmbedderKind::Table | EmbedderKind::None => Ok(()),
            EmbedderKind::Service => self.service().map(drop),
        }
    }

    /// The configured or inferred kind.
    pub(super) fn kind(&self) -> EmbedderKind {
        let inferred = if non_blank(self.embedder_url.as_ref()).is_some() {
            EmbedderKind::Service
        } else {
            EmbedderKind::Table
        };
        self.embedder.unwrap_or(inferred)
    }

    /// Checks the service's options, and reads the files they name.
    pub(super) fn service(&self) -> Result<ServiceConfig, EmbedderConfigError> {
        let options = EndpointOptions {
            which: ServiceKind::Embedder,
            url: self.embedder_url.as_ref(),
            key: self.embedder_key.as_ref(),
            key_file: self.embedder_key_file.as_ref(),
            ca_file: self.embedder_ca_file.as_ref(),
            model: self.embedder_model.as_ref(),
        };
        let endpoint = options.check()?;
        let dimensions = self
            .embedder_dimensions
            .ok_or(EmbedderConfigError::Missing(
                "the model's dimensions: --embedder-dimensions (ARCHWAY_EMBEDDER_DIMENSIONS)",
            ))?;
        let text_chars = self.embedder_text_chars.get();
        let (query_prefix, document_prefix) = self.prefixes.check(text_chars)?;
        Ok(ServiceConfig {
            endpoint,
            dimensions: at_most("--embedder-dimensions", dimensions, MOST_DIMENSIONS)?,
            ask_dimensions: self.embedder_ask_dimensions,
            batch: at_most("--embedder-batch", self.embedder_batch, MOST_TEXTS)?,
            text_chars,
            query_prefix,
            document_prefix,
            timeout: Duration::from_secs(self.embedder_timeout.max(1)),
        })
    }
}

fn at_most(
    option: &'static str,
    number: NonZeroUsize,
    most: usize,
) -> Result<usize, EmbedderConfigError> {
    let number = number.get();
    (number <= most)
        .then_some(number)
        .ok_or(EmbedderConfigError::TooMany(option, most))
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use secrecy::ExposeSecret as _;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        config: EmbedderConfig,
    }

    fn service() -> EmbedderConfig {
        EmbedderConfig {
            embedder_url: Some("https://api.openai.com/v1/".to_owned()),
            embedder_model: Some("text-embedding-3-small".to_owned()),
            embedder_dimensions: NonZeroUsize::new(1536),
            ..EmbedderConfig::default()
        }
    }

    fn refusal(change: impl FnOnce(&mut EmbedderConfig)) -> String {
        let mut config = service();
        change(&mut config);
        let rejected = config.service().err().expect("it is rejected");
        format!("{rejected} {rejected:?}")
    }

    #[test]
    fn the_defaults_of_command_line_and_program_agree() {
        let parsed = Line::try_parse_from(["worker"]).unwrap().config;
        assert_eq!(
            format!("{parsed:?}"),
            format!("{:?}", EmbedderConfig::default())
        );
    }

    #[test]
    fn a_url_selects_the_service_unless_a_kind_is_named() {
        assert_eq!(EmbedderConfig::default().kind(), EmbedderKind::Table);
        assert_eq!(service().kind(), EmbedderKind::Service);
        let empty = EmbedderConfig {
            embedder_url: Some(" ".to_owned()),
            ..service()
        };
        assert_eq!(empty.kind(), EmbedderKind::Table);
        let named = EmbedderConfig {
            embedder: Some(EmbedderKind::None),
            ..service()
        };
        assert_eq!(named.kind(), EmbedderKind::None);
        assert_eq!(
            service().service().unwrap().endpoint.base,
            "https://api.openai.com/v1"
        );
    }

    #[test]
    fn errors_name_the_missing_or_invalid_option() {
        assert!(refusal(|c| c.embedder_url = None).contains("--embedder-url"));
        assert!(refusal(|c| c.embedder_model = Some(String::new())).contains("--embedder-model"));
        assert!(
            refusal(|c| c.embedder_model = Some("a b".to_owned())).contains("--embedder-model")
        );
        assert!(refusal(|c| c.embedder_dimensions = None).contains("--embedder-dimensions"));
        let many = NonZeroUsize::new(16_385);
        assert!(refusal(|c| c.embedder_dimensions = many).contains("at most 16384"));
        let many = NonZeroUsize::new(2049).unwrap();
        assert!(refusal(|c| c.embedder_batch = many).contains("at most 2048"));
        let long = Some("x".repeat(4001));
        let message = refusal(|c| c.prefixes.embedder_document_prefix = long);
        assert!(
            message.contains("--embedder-document-prefix is longer"),
            "{message}"
        );
        let nowhere = Some(PathBuf::from("/nowhere/at/all"));
        assert!(refusal(|c| c.embedder_key_file = nowhere.clone()).contains("/nowhere/at/all"));
        assert!(refusal(|c| c.embedder_ca_file = nowhere).contains("--embedder-ca-file"));
    }

    #[test]
    fn a_url_with_a_secret_is_rejected_and_not_shown() {
        for url in [
            "https://user:sesame@host/v1",
            "https://sesame@host/v1",
            "https://host/v1?key=sesame",
            "https://host/v1#sesame",
            "ftp://sesame/v1",
            "sesame",
            "https:///sesame v1",
            "unix:/sesame",
        ] {
            let message = refusal(|config| config.embedder_url = Some(url.to_owned()));
            assert!(
                message.contains("--embedder-url") && !message.contains("sesame"),
                "{message}"
            );
        }
    }

    #[test]
    fn a_key_comes_from_a_file_or_a_variable_and_is_never_shown() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, "sk-sesame\n").unwrap();
        let mut config = service();
        config.embedder_key_file = Some(path.clone());
        let read = config.service().unwrap().endpoint.key.unwrap();
        assert_eq!(read.expose_secret(), "sk-sesame");
        config.embedder_key = Some("sk-sesame".into());
        assert!(!format!("{config:?}").contains("sesame"));
        assert!(refusal(|other| *other = config).contains("leave one out"));
        for unfit in ["sesame\nother", "se same", "sesäme", ""] {
            std::fs::write(&path, unfit).unwrap();
            let message = refusal(|config| config.embedder_key_file = Some(path.clone()));
            assert!(message.contains("key is empty or has"), "{message}");
            assert!(!message.contains("same"), "{message}");
        }
    }

    #[test]
    fn a_file_without_certificates_is_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("authorities");
        for text in ["", "no certificate", "-----BEGIN CERTIFICATE-----\n"] {
            std::fs::write(&path, text).unwrap();
            let message = refusal(|config| config.embedder_ca_file = Some(path.clone()));
            assert!(message.contains("--embedder-ca-file"), "{message}");
        }
    }
}
