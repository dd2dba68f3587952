//! `archway call`: one tool call, made as an agent makes it.
//!
//! For `helm test`, for scripts, and for seeing an answer without a client: it exercises the whole path,
//! from the URL to a worker and back.
//!
//! A retried call (`--wait`) may have run before. All attempts carry one
//! idempotency key, so a write happens once.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::Url;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};
use tokio::time::{Instant, sleep};

use crate::output;
use error::CallFailure;
use exchange::Exchange;

pub use error::CallError;

mod exchange;
mod tool_result;
mod error;

/// The variable with the key itself. Not an option, because other users can see command lines.
pub(crate) const API_KEY_VARIABLE: &str = "ARCHWAY_API_KEY";
/// Between two attempts.
const PAUSE: Duration = Duration::from_secs(1);

/// Arguments of `archway call`.
#[derive(Debug, clap::Args)]
pub struct CallArgs {
    /// The tool.
    #[arg(value_name = "TOOL", default_value = "hello")]
    tool: String,
    /// The endpoint, as clients use it: `https://archway.example.com/mcp`.
    #[arg(long, env = "ARCHWAY_URL", value_name = "URL", value_parser = endpoint)]
    url: Url,
    /// File with the API key. It wins over the variable `ARCHWAY_API_KEY`, which holds the key
    /// itself.
    #[arg(long, env = "ARCHWAY_API_KEY_FILE", value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// The tool's arguments: a JSON object.
    #[arg(long, value_name = "JSON", default_value = "{}", value_parser = arguments)]
    arguments: Map<String, Value>,
    /// Retry once a second for this long, while the endpoint is unreachable, the key is not known
    /// yet, or the tool is unavailable; at most 600.
    #[arg(
        long,
        value_name = "SECONDS",
        default_value = "0",
        value_parser = clap::value_parser!(u64).range(..=600)
    )]
    wait: u64,
    /// Print the whole result as one line of JSON, even if the tool failed.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub async fn run(args: CallArgs) -> Result<(), CallError> {
    let key = key(args.key_file.as_deref())?;
    let exchange = Exchange::new(&args.url, &key, &args.tool, &args.arguments)?;
    let until = Instant::now() + Duration::from_secs(args.wait);
    let answer = loop {
        let answer = exchange.ask().await;
        let may_retry = match &answer {
            Ok(answer) => answer.is_temporary(),
            Err(failure) => failure.is_temporary(),
        };
        // The next attempt would begin too late.
        if !may_retry || Instant::now() + PAUSE > until {
            break answer?;
        }
        sleep(PAUSE).await;
    };
    if args.json {
        output::print(&answer.json(), true).map_err(CallError::Output)?;
    }
    if let Some(said) = answer.failure() {
        let tool = args.tool;
        return Err(CallFailure::Tool { tool, said }.into());
    }
    if !args.json {
        output::print(&answer.text(), false).map_err(CallError::Output)?;
    }
    Ok(())
}

/// The credential: from the file if one is named, else from the environment.
fn key(file: Option<&Path>) -> Result<SecretString, CallError> {
    let text = SecretString::from(match file {
        Some(path) => fs::read_to_string(path).map_err(|source| CallError::KeyFile {
            path: path.to_owned(),
            source,
        })?,
        None => std::env::var_os(API_KEY_VARIABLE)
            .and_then(|key| key.into_string().ok())
            .ok_or(CallError::NoKey)?,
    });
    let key = text.expose_secret().trim();
    if key.is_empty() {
        return Err(CallError::NoKey);
    }
    Ok(key.into())
}

/// Parses the endpoint. A URL without a path means the gateway's `/mcp`.
pub(crate) fn endpoint(text: &str) -> Result<Url, String> {
    const FORM: &str = "write it as https://host/mcp";
    let mut url: Url = text.parse().map_err(|_bad| FORM.to_owned())?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(FORM.to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(format!(
            "the URL must not contain a credential: the key comes from {API_KEY_VARIABLE}"
        ));
    }
    if url.path() == "/" {
        url.set_path("/mcp");
    }
    Ok(url)
}

fn arguments(text: &str) -> Result<Map<String, Value>, String> {
    serde_json::from_str(text).map_err(|error| format!("not a JSON object: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_a_web_address_without_a_credential() {
        let url = |text: &str| endpoint(text).map(String::from);
        let mcp = "http://gateway:8080/mcp";
        assert_eq!(url("http://gateway:8080").as_deref(), Ok(mcp));
        assert_eq!(url(mcp).as_deref(), Ok(mcp));
        let elsewhere = "https://host/tools/mcp";
        assert_eq!(url(elsewhere).as_deref(), Ok(elsewhere));
        for bad in ["gateway:8080", "unix:/a", "http://", "https://a:b@host", ""] {
            assert!(url(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn arguments_are_an_object() {
        assert_eq!(arguments(r#"{"path": "a"}"#).unwrap()["path"], "a");
        for bad in ["", "[]", "1", "{"] {
            assert!(arguments(bad).is_err(), "{bad}");
        }
    }
}
