//! `archway settings`: what to paste into a client, for whoever is handed a key.
//!
//! `archway dev` prints the same. Nothing is asked: neither whether the address answers, nor
//! whether the key is good.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use archway_gateway::tenants::key_id;
use secrecy::{ExposeSecret, SecretString};

use crate::call;

/// What the curl line asks.
const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_repo_overview","arguments":{"max_depth":1}}}"#;

/// What `archway settings` is told.
#[derive(Debug, clap::Args)]
pub struct SettingsArgs {
    /// The endpoint as clients reach it: `https://archway.example.com/mcp`.
    #[arg(long, value_name = "URL", value_parser = endpoint)]
    url: String,
    /// File with the API key.
    #[arg(long, value_name = "FILE")]
    key_file: PathBuf,
    /// Print one line of JSON, `{"url", "api_key"}`.
    #[arg(long)]
    json: bool,
}

/// Why there are no settings.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The key can't be read.
    #[error("reading the API key from {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The operating system's answer.
        #[source]
        source: io::Error,
    },
    /// There is something else in its file.
    #[error("{} holds no API key: `archway key issue` makes one", .0.display())]
    NoKey(PathBuf),
    /// Nowhere to print.
    #[error("writing to standard output")]
    Output(#[source] io::Error),
}

/// Runs the command.
pub fn run(args: &SettingsArgs) -> Result<(), SettingsError> {
    let path = &args.key_file;
    let text = fs::read_to_string(path).map_err(|source| SettingsError::Read {
        path: path.clone(),
        source,
    })?;
    let key = SecretString::from(text.trim_end());
    key_id(&key).ok_or_else(|| SettingsError::NoKey(path.clone()))?;
    let answer = match args.json {
        true => serde_json::json!({ "url": args.url, "api_key": key.expose_secret() }).to_string(),
        false => format!("Archway is at {}\n{}", args.url, text_of(&args.url, &key)),
    };
    writeln!(io::stdout().lock(), "{answer}").map_err(SettingsError::Output)
}

/// The endpoint as `archway call` takes it, if it can stand in a shell's line and in JSON as it is.
fn endpoint(text: &str) -> Result<String, String> {
    let url = call::endpoint(text)?.to_string();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/[]%".contains(&byte);
    match url.bytes().all(is_plain) {
        true => Ok(url),
        false => Err("an endpoint has neither query nor quotes: https://host/mcp".to_owned()),
    }
}

/// The settings of every client, each under its name.
pub(crate) fn text_of(url: &str, key: &SecretString) -> String {
    let mut text = String::new();
    for (client, settings) in clients(url, key) {
        text.push_str(&format!("\n{client}\n{}\n", indented(&settings)));
    }
    text
}

/// In the order of the README. Neither URL nor key holds anything to escape.
fn clients(url: &str, key: &SecretString) -> [(&'static str, String); 5] {
    let key = key.expose_secret();
    [
        (
            "Claude Code",
            format!(
                "claude mcp add --transport http archway {url} \\\n  \
                 --header \"Authorization: Bearer {key}\""
            ),
        ),
        (
            "VS Code, in .vscode/mcp.json",
            file("servers", r#""type": "http", "#, url, key),
        ),
        (
            "Cursor, in .cursor/mcp.json",
            file("mcpServers", "", url, key),
        ),
        (
            "MCP Inspector",
            format!(
                "npx @modelcontextprotocol/inspector --cli {url} --transport http \\\n  \
                 --header \"Authorization: Bearer {key}\" --method tools/list"
            ),
        ),
        (
            "curl",
            format!(
                "curl {url} \\\n  -H \"Authorization: Bearer {key}\" \\\n  \
                 -H \"Content-Type: application/json\" \\\n  \
                 -H \"Accept: application/json, text/event-stream\" \\\n  -d '{CALL}'"
            ),
        ),
    ]
}

/// The file that editors keep MCP servers in, as JSON.
fn file(servers: &str, transport: &str, url: &str, key: &str) -> String {
    format!(
        r#"{{
  "{servers}": {{
    "archway": {{
      {transport}"url": "{url}",
      "headers": {{ "Authorization": "Bearer {key}" }}
    }}
  }}
}}"#
    )
}

fn indented(text: &str) -> String {
    text.lines()
        .map(|line| format!("  {line}"))
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    const URL: &str = "http://127.0.0.1:7676/mcp";

    #[test]
    fn what_editors_get_is_json() {
        let key = "awy_key".into();
        let clients = clients(URL, &key);
        let files = clients.iter().filter(|(_, text)| text.starts_with('{'));
        for (client, settings) in files {
            let value: Value = serde_json::from_str(settings).unwrap();
            assert!(
                value.as_object().is_some_and(|servers| servers.len() == 1),
                "{client}"
            );
        }
        serde_json::from_str::<Value>(CALL).unwrap();
    }

    #[test]
    fn each_client_gets_the_url_and_the_key() {
        for (client, settings) in clients(URL, &"awy_key".into()) {
            assert!(settings.contains(URL), "{client}: {settings}");
            assert!(settings.contains("Bearer awy_key"), "{client}: {settings}");
        }
    }

    #[test]
    fn an_address_is_one_of_the_web_and_a_key_is_a_key() {
        assert_eq!(endpoint(URL), Ok(URL.to_owned()));
        for bad in ["127.0.0.1:8080", "/mcp", "ftp://host/mcp", "http://", ""] {
            assert!(endpoint(bad).is_err(), "{bad}");
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
