//! `archway settings`: prints what to paste into a client that uses a given key.
//!
//! `archway dev` prints the same. Works offline: URL and key are checked
//! for their form only.

use std::fs;
use std::io;
use std::path::PathBuf;

use secrecy::{ExposeSecret, SecretString};

use crate::call;
use crate::output::{self, OutputError};
use crate::tenants::key_id;

mod clients;

/// Arguments of `archway settings`.
#[derive(Debug, clap::Args)]
pub struct SettingsArgs {
    /// The endpoint as clients reach it: `https://archway.example.com/mcp`.
    #[arg(long, value_name = "URL", value_parser = parse_endpoint)]
    url: String,
    /// File with the API key.
    #[arg(long, value_name = "FILE")]
    key_file: PathBuf,
    /// Print one line of JSON, `{"url", "api_key"}`.
    #[arg(long)]
    json: bool,
}

/// Why no settings were printed.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The key cannot be read.
    #[error("reading the API key from {}", path.display())]
    Read {
        /// File with the API key.
        path: PathBuf,
        /// The operating system's error.
        #[source]
        source: io::Error,
    },
    /// The file contains no API key.
    #[error("{} does not contain an API key; create one with `archway key issue`", .0.display())]
    NoKey(PathBuf),
    /// Standard output cannot be written.
    #[error("writing to standard output")]
    Output(#[source] OutputError),
}

/// Prints the settings.
pub fn run(args: &SettingsArgs) -> Result<(), SettingsError> {
    let path = &args.key_file;
    let text = fs::read_to_string(path).map_err(|source| SettingsError::Read {
        path: path.clone(),
        source,
    })?;
    let text = SecretString::from(text);
    let key = SecretString::from(text.expose_secret().trim_end());
    key_id(&key).ok_or_else(|| SettingsError::NoKey(path.clone()))?;
    let answer = match args.json {
        true => serde_json::json!({ "url": args.url, "api_key": key.expose_secret() }).to_string(),
        false => format!(
            "Archway is at {}\n{}",
            args.url,
            client_settings(&args.url, &key)
        ),
    };
    output::print(&answer, args.json).map_err(SettingsError::Output)
}

/// Parses the endpoint. It must contain nothing to escape in JSON or within quotes of a
/// shell.
fn parse_endpoint(text: &str) -> Result<String, String> {
    let url = call::endpoint(text)?.to_string();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/[]%".contains(&byte);
    match url.bytes().all(is_plain) {
        true => Ok(url),
        false => Err("an endpoint has no query and no quotes: https://host/mcp".to_owned()),
    }
}

/// The settings of every client, each under its name.
pub(crate) fn client_settings(url: &str, key: &SecretString) -> String {
    let mut text = format!(
        "\nIn a shell, for clients that read the key from the environment\n  export {}={}\n",
        call::API_KEY_VARIABLE,
        key.expose_secret()
    );
    for client in clients::all(url, key) {
        text.push_str(&format!("\n{}\n", client.name));
        for line in client.text.lines().chain(client.note) {
            text.push_str(&format!("  {line}\n"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "http://127.0.0.1:7676/mcp";

    #[test]
    fn each_block_with_the_key_has_a_warning() {
        let text = client_settings(URL, &"awy_key".into());
        let blocks: Vec<&str> = text.split("\n\n").collect();
        assert!(
            blocks[0].ends_with("export ARCHWAY_API_KEY=awy_key"),
            "{text}"
        );
        let (files, others): (Vec<&str>, Vec<&str>) = blocks[1..]
            .iter()
            .partition(|block| block.lines().next().unwrap().contains(", in "));
        assert_eq!(files.len(), 7, "{text}");
        for block in files {
            let (holds, warns) = (block.contains("awy_key"), block.contains("Do not commit"));
            assert_eq!(holds, warns, "{block}");
        }
        for block in others {
            assert!(block.contains("Bearer awy_key"), "{block}");
        }
    }

    #[test]
    fn an_invalid_address_or_key_is_refused() {
        assert_eq!(parse_endpoint(URL), Ok(URL.to_owned()));
        for bad in ["127.0.0.1:8080", "/mcp", "ftp://host/mcp", "http://", ""] {
            assert!(parse_endpoint(bad).is_err(), "{bad}");
        }
        let folder = tempfile::tempdir().unwrap();
        let key_file = folder.path().join("api.key");
        fs::write(&key_file, "hush\n").unwrap();
        let args = SettingsArgs {
            url: URL.to_owned(),
            key_file,
            json: false,
        };
        let refusal = run(&args).unwrap_err().to_string();
        assert!(refusal.contains("key issue") && !refusal.contains("hush"));
    }
}
