//! The options of the chat model.

use std::{path::PathBuf, time::Duration};

use secrecy::SecretString;

use archway_index::openai::{Endpoint, EndpointError, EndpointOptions, ServiceKind, non_blank};

/// A chat model that may correct what rules say about a proposal and a decision.
#[derive(Clone, Debug, clap::Args)]
pub struct ChatConfig {
    /// Base URL of a service with OpenAI's chat completions API, without `/chat/completions`:
    /// `https://api.openai.com/v1`. `check_adr_alignment` sends it the proposal, its context, and
    /// titles and sentences of the decisions it found. Within bounds, the model's verdict then
    /// replaces that of the rules. No other tool uses it, and without a URL nothing is sent.
    /// https:// uses the proxy in `HTTPS_PROXY`, if any; http:// is for trusted networks.
    #[arg(long, env = "ARCHWAY_CHAT_URL", value_name = "URL")]
    pub chat_url: Option<String>,
    /// File with the chat model's key.
    #[arg(long, env = "ARCHWAY_CHAT_KEY_FILE", value_name = "FILE")]
    pub chat_key_file: Option<PathBuf>,
    /// The chat model's key itself, instead of a file.
    #[arg(
        long,
        env = "ARCHWAY_CHAT_KEY",
        value_name = "KEY",
        hide_env_values = true
    )]
    pub chat_key: Option<SecretString>,
    /// PEM file with certificate authorities to trust for the chat model, in addition to the
    /// system's (which `SSL_CERT_FILE` replaces). Read once.
    #[arg(long, env = "ARCHWAY_CHAT_CA_FILE", value_name = "FILE")]
    pub chat_ca_file: Option<PathBuf>,
    /// Name of the model to use. Callers see it.
    #[arg(long, env = "ARCHWAY_CHAT_MODEL", value_name = "NAME")]
    pub chat_model: Option<String>,
    /// Seconds that the chat model has for an answer, and never more than half of a call's
    /// remaining time.
    #[arg(
        long,
        env = "ARCHWAY_CHAT_TIMEOUT",
        value_name = "S",
        default_value_t = ChatConfig::DEFAULT_TIMEOUT,
        value_parser = clap::value_parser!(u64).range(1..=60)
    )]
    pub chat_timeout: u64,
}

/// A validated configuration of a service.
pub(super) struct ServiceConfig {
    pub(super) endpoint: Endpoint,
    pub(super) timeout: Duration,
}

impl Default for ChatConfig {
    fn default() -> Self {
        ChatConfig {
            chat_url: None,
            chat_key_file: None,
            chat_key: None,
            chat_ca_file: None,
            chat_model: None,
            chat_timeout: ChatConfig::DEFAULT_TIMEOUT,
        }
    }
}

impl ChatConfig {
    /// In seconds.
    const DEFAULT_TIMEOUT: u64 = 8;

    /// Validates the configuration before the service is opened.
    ///
    /// # Errors
    /// If a setting is missing or can't be used.
    pub fn check(&self) -> Result<(), EndpointError> {
        self.service().map(drop)
    }

    /// The service, or `None` without a URL. Reads the files that are named.
    pub(super) fn service(&self) -> Result<Option<ServiceConfig>, EndpointError> {
        if non_blank(self.chat_url.as_ref()).is_none() {
            return Ok(None);
        }
        let options = EndpointOptions {
            which: ServiceKind::Chat,
            url: self.chat_url.as_ref(),
            key: self.chat_key.as_ref(),
            key_file: self.chat_key_file.as_ref(),
            ca_file: self.chat_ca_file.as_ref(),
            model: self.chat_model.as_ref(),
        };
        Ok(Some(ServiceConfig {
            endpoint: options.check()?,
            timeout: Duration::from_secs(self.chat_timeout.max(1)),
        }))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct CommandLine {
        #[command(flatten)]
        config: ChatConfig,
    }

    fn service() -> ChatConfig {
        ChatConfig {
            chat_url: Some("https://api.openai.com/v1/".to_owned()),
            chat_model: Some("some-model".to_owned()),
            ..ChatConfig::default()
        }
    }

    fn refusal(change: impl FnOnce(&mut ChatConfig)) -> String {
        let mut config = service();
        change(&mut config);
        let refused = config.check().expect_err("the configuration is invalid");
        format!("{refused} {refused:?}")
    }

    #[test]
    fn the_defaults_of_the_command_line_match_the_default_config() {
        let parsed = CommandLine::try_parse_from(["worker"]).unwrap().config;
        assert_eq!(
            format!("{parsed:?}"),
            format!("{:?}", ChatConfig::default())
        );
    }

    #[test]
    fn without_a_url_there_is_no_service() {
        for url in [None, Some(" ".to_owned())] {
            let config = ChatConfig {
                chat_url: url,
                ..service()
            };
            assert!(config.service().unwrap().is_none());
        }
        let endpoint = service().service().unwrap().unwrap().endpoint;
        assert_eq!(endpoint.base, "https://api.openai.com/v1");
    }

    #[test]
    fn errors_name_the_option_and_show_no_secret() {
        let model =
            |message: String| assert!(message.contains("--chat-model (ARCHWAY_CHAT_MODEL)"));
        model(refusal(|config| config.chat_model = None));
        model(refusal(|config| config.chat_model = Some("a b".to_owned())));
        let message = refusal(|config| config.chat_url = Some("https://sesame@host/v1".to_owned()));
        assert!(
            message.contains("--chat-key-file, not into the URL"),
            "{message}"
        );
        assert!(!message.contains("sesame"), "{message}");
        let message = refusal(|config| config.chat_key = Some("se same".into()));
        assert!(message.contains("the chat model's key"), "{message}");
        assert!(!message.contains("same\""), "{message}");
        let nowhere = Some(PathBuf::from("/nowhere/at/all"));
        let message = refusal(|config| config.chat_key_file = nowhere.clone());
        assert!(
            message.contains("--chat-key-file /nowhere/at/all"),
            "{message}"
        );
        let message = refusal(|config| config.chat_ca_file = nowhere);
        assert!(
            message.contains("--chat-ca-file /nowhere/at/all"),
            "{message}"
        );
    }
}
