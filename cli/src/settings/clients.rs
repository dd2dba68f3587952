//! What each client is given, in the order of `docs/src/clients.md`, which a test holds against it.

use secrecy::{ExposeSecret, SecretString};

/// What the curl line asks.
const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_repo_overview","arguments":{"max_depth":1}}}"#;

/// Beside a file with the key whose client reads no variables.
const KEEP: &str = "Do not commit this file.";
/// Beside one whose client does.
const KEEP_OR_NAME: &str =
    "Do not commit this file, or write ${env:ARCHWAY_API_KEY} in place of the key.";

/// One client.
pub(super) struct Client {
    /// What it is called, and the file that it reads.
    pub(super) name: &'static str,
    /// A command, or the file.
    pub(super) text: String,
    /// Where the key may stand, and how the client is told to read it from the environment.
    pub(super) note: Option<&'static str>,
}

impl Client {
    fn new(name: &'static str, text: String, note: Option<&'static str>) -> Client {
        Client { name, text, note }
    }
}

/// All of them. Neither URL nor key holds anything to escape.
pub(super) fn all(url: &str, key: &SecretString) -> Vec<Client> {
    let key = key.expose_secret();
    let claude_code = Client::new(
        "Claude Code",
        format!(
            "claude mcp add --transport http archway {url} \\\n  \
             --header \"Authorization: Bearer {key}\""
        ),
        Some("In a .mcp.json to commit, write ${ARCHWAY_API_KEY} in place of the key."),
    );
    let inspector = Client::new(
        "MCP Inspector",
        format!(
            "npx @modelcontextprotocol/inspector@latest --cli {url} --transport http \\\n  \
             --header \"Authorization: Bearer {key}\" --method tools/list"
        ),
        None,
    );
    let curl = Client::new(
        "curl",
        format!(
            "curl {url} \\\n  -H \"Authorization: Bearer {key}\" \\\n  \
             -H \"Content-Type: application/json\" \\\n  \
             -H \"Accept: application/json, text/event-stream\" \\\n  -d '{CALL}'"
        ),
        None,
    );
    let files = with_files(url, key);
    let first = std::iter::once(claude_code);
    first.chain(files).chain([inspector, curl]).collect()
}

/// Those that keep servers in a file.
fn with_files(url: &str, key: &str) -> [Client; 7] {
    let file = |servers, url_is| file(servers, url_is, url, key);
    [
        Client::new(
            "Claude Desktop, in claude_desktop_config.json",
            claude_desktop(url, key),
            Some(KEEP),
        ),
        Client::new("Codex, in ~/.codex/config.toml", codex(url), None),
        Client::new(
            "Cursor, in .cursor/mcp.json",
            file("mcpServers", r#""url""#),
            Some(KEEP_OR_NAME),
        ),
        Client::new(
            "Gemini CLI, in .gemini/settings.json",
            file("mcpServers", r#""httpUrl""#),
            Some("Do not commit this file, or write ${ARCHWAY_API_KEY} in place of the key."),
        ),
        Client::new(
            "VS Code, in .vscode/mcp.json",
            file("servers", r#""type": "http", "url""#),
            Some(KEEP_OR_NAME),
        ),
        Client::new(
            "Windsurf, in ~/.codeium/windsurf/mcp_config.json",
            file("mcpServers", r#""serverUrl""#),
            Some(KEEP_OR_NAME),
        ),
        Client::new(
            "Zed, in settings.json",
            file("context_servers", r#""url""#),
            Some(KEEP),
        ),
    ]
}

/// The file in which most clients keep MCP servers, each with names of its own.
fn file(servers: &str, url_is: &str, url: &str, key: &str) -> String {
    format!(
        r#"{{
  "{servers}": {{
    "archway": {{
      {url_is}: "{url}",
      "headers": {{ "Authorization": "Bearer {key}" }}
    }}
  }}
}}"#
    )
}

/// It takes a key through a program of its own alone, which refuses plain HTTP elsewhere than on this
/// machine unless it is told to. Blanks in arguments don't reach it on every system.
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

/// It reads the key from the environment alone.
fn codex(url: &str) -> String {
    format!("[mcp_servers.archway]\nurl = \"{url}\"\nbearer_token_env_var = \"ARCHWAY_API_KEY\"")
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn each_file_is_json_with_one_server_and_codex_alone_has_toml() {
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
        serde_json::from_str::<Value>(CALL).unwrap();
    }
}
