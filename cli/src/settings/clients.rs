//! The settings of each client, in the order of `docs/src/clients.md`. A test compares them.

use std::borrow::Cow;

use secrecy::{ExposeSecret, SecretString};

/// The call in the curl line.
const CURL_REQUEST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_repo_overview","arguments":{"max_depth":1}}}"#;

/// The note for a file with the key, for clients that cannot read variables.
const DO_NOT_COMMIT: &str = "Do not commit this file.";
/// The note for clients that can.
const DO_NOT_COMMIT_OR_USE_VARIABLE: &str =
    "Do not commit this file, or write ${env:ARCHWAY_API_KEY} in place of the key.";

/// A client and its settings.
pub(super) struct Client {
    /// The client's name, and the file that it reads.
    pub(super) name: &'static str,
    /// A command, or the file's content.
    pub(super) text: String,
    /// A warning about the key in the file, or how to read the key from the environment.
    pub(super) note: Option<&'static str>,
}

impl Client {
    fn new(name: &'static str, text: String, note: Option<&'static str>) -> Client {
        Client { name, text, note }
    }
}

/// All clients. Neither URL nor key contains anything to escape.
pub(super) fn all(url: &str, key: &SecretString) -> Vec<Client> {
    let key = key.expose_secret();
    let shell_url = shell_word(url);
    let claude_code = Client::new(
        "Claude Code",
        format!(
            "claude mcp add --transport http archway {shell_url} \\\n  \
             --header \"Authorization: Bearer {key}\""
        ),
        Some("In a .mcp.json to commit, write ${ARCHWAY_API_KEY} in place of the key."),
    );
    let inspector = Client::new(
        "MCP Inspector",
        format!(
            "npx @modelcontextprotocol/inspector@latest --cli {shell_url} --transport http \\\n  \
             --header \"Authorization: Bearer {key}\" --method tools/list"
        ),
        None,
    );
    let curl = Client::new(
        "curl",
        format!(
            "curl {shell_url} \\\n  -H \"Authorization: Bearer {key}\" \\\n  \
             -H \"Content-Type: application/json\" \\\n  \
             -H \"Accept: application/json, text/event-stream\" \\\n  -d '{CURL_REQUEST}'"
        ),
        None,
    );
    let files = with_files(url, key);
    let first = std::iter::once(claude_code);
    first.chain(files).chain([inspector, curl]).collect()
}

/// The URL as a shell reads it. zsh expands brackets, as in `http://[::1]:7676/mcp`.
fn shell_word(url: &str) -> Cow<'_, str> {
    match url.contains('[') {
        true => format!("\"{url}\"").into(),
        false => url.into(),
    }
}

/// Clients that read servers from a file.
fn with_files(url: &str, key: &str) -> [Client; 7] {
    let file = |servers, url_field| file(servers, url_field, url, key);
    [
        Client::new(
            "Claude Desktop, in claude_desktop_config.json",
            claude_desktop(url, key),
            Some(DO_NOT_COMMIT),
        ),
        Client::new("Codex, in ~/.codex/config.toml", codex(url), None),
        Client::new(
            "Cursor, in .cursor/mcp.json",
            file("mcpServers", r#""url""#),
            Some(DO_NOT_COMMIT_OR_USE_VARIABLE),
        ),
        Client::new(
            "Gemini CLI, in .gemini/settings.json",
            file("mcpServers", r#""httpUrl""#),
            Some("Do not commit this file, or write ${ARCHWAY_API_KEY} in place of the key."),
        ),
        Client::new(
            "VS Code, in .vscode/mcp.json",
            file("servers", r#""type": "http", "url""#),
            Some(DO_NOT_COMMIT_OR_USE_VARIABLE),
        ),
        Client::new(
            "Windsurf, in ~/.codeium/windsurf/mcp_config.json",
            file("mcpServers", r#""serverUrl""#),
            Some(DO_NOT_COMMIT_OR_USE_VARIABLE),
        ),
        Client::new(
            "Zed, in settings.json",
            file("context_servers", r#""url""#),
            Some(DO_NOT_COMMIT),
        ),
    ]
}

/// The file format of most clients, with each client's own names.
fn file(servers: &str, url_field: &str, url: &str, key: &str) -> String {
    format!(
        r#"{{
  "{servers}": {{
    "archway": {{
      {url_field}: "{url}",
      "headers": {{ "Authorization": "Bearer {key}" }}
    }}
  }}
}}"#
    )
}

/// Claude Desktop accepts a key only through a separate program, which refuses plain HTTP to other machines
/// unless `--allow-http` is given. On some systems, blanks in arguments are lost.
fn claude_desktop(url: &str, key: &str) -> String {
    let plain = match url.starts_with("http:") {
        true => r#", "--allow-http""#,
        false => "",
    };
    format!(
        r#"{{
  "mcpServers": {{
    "archway": {{
      "command": "npx",
      "args": ["-y", "mcp-remote@latest", "{url}"{plain}, "--header", "Authorization:${{AUTHORIZATION}}"],
      "env": {{ "AUTHORIZATION": "Bearer {key}" }}
    }}
  }}
}}"#
    )
}

/// Codex reads the key only from the environment.
fn codex(url: &str) -> String {
    format!("[mcp_servers.archway]\nurl = \"{url}\"\nbearer_token_env_var = \"ARCHWAY_API_KEY\"")
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn each_file_is_json_with_one_server_except_codex_toml() {
        for url in [
            "http://127.0.0.1:7676/mcp",
            "https://archway.example.com/mcp",
        ] {
            for client in all(url, &"awy_key".into()) {
                let (name, text) = (client.name, client.text);
                if text.starts_with('{') {
                    let value: Value = serde_json::from_str(&text).unwrap();
                    let servers = value.as_object().unwrap().values().next().unwrap();
                    let server = servers["archway"].to_string();
                    assert!(
                        server.contains(url) && server.contains("Bearer awy_key"),
                        "{name}"
                    );
                    assert_eq!(
                        server.contains("--allow-http"),
                        server.contains("npx") && url.starts_with("http:")
                    );
                } else {
                    assert_eq!(text.starts_with('['), name.starts_with("Codex"), "{name}");
                }
            }
        }
        serde_json::from_str::<Value>(CURL_REQUEST).unwrap();
    }

    #[test]
    fn a_url_with_brackets_is_quoted_in_shell_commands() {
        let url = "http://[::1]:7676/mcp";
        let commands = all(url, &"awy_key".into()).into_iter();
        let commands: Vec<_> = commands.filter(|one| !one.name.contains(", in ")).collect();
        assert_eq!(commands.len(), 3);
        for command in commands {
            assert!(
                command.text.contains(&format!(" \"{url}\" ")),
                "{}",
                command.name
            );
        }
    }
}
