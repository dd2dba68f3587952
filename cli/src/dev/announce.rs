//! What `dev` says once it is ready: to a person, everything to paste into a client; to a program
//! (`--json`), one line.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::Path;

use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;

use super::projects::Project;

/// What the curl line asks.
const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_repo_overview","arguments":{"max_depth":1}}}"#;

/// A running `dev`, as its user needs to know it.
pub(super) struct Announcement<'a> {
    /// The MCP endpoint on this machine.
    pub(super) url: &'a str,
    /// The same for other machines, where it is open to them.
    pub(super) open_url: Option<&'a str>,
    pub(super) admin: SocketAddr,
    pub(super) api_key: &'a SecretString,
    pub(super) tenant: &'a str,
    /// What a call without `project` means.
    pub(super) project: &'a Project,
    /// All that can be asked, that one included.
    pub(super) served: &'a [Project],
    pub(super) data: &'a Path,
}

/// The answer to `--json`.
#[derive(Serialize)]
struct Line<'a> {
    url: &'a str,
    api_key: &'a str,
    tenant: &'a str,
    project: &'a str,
    /// Where `/healthz`, `/readyz` and `/metrics` are.
    admin_url: &'a str,
}

impl Announcement<'_> {
    /// Writes it to standard output: for people, or as one line of JSON.
    pub(super) fn print(&self, as_json: bool) -> io::Result<()> {
        let text = if as_json {
            format!("{}\n", self.line()?)
        } else {
            self.text()
        };
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    fn line(&self) -> serde_json::Result<String> {
        let admin_url = format!("http://{}", self.admin);
        serde_json::to_string(&Line {
            url: self.url,
            api_key: self.api_key.expose_secret(),
            tenant: self.tenant,
            project: &self.project.slug,
            admin_url: &admin_url,
        })
    }

    fn text(&self) -> String {
        let mut text = format!("\nArchway is ready at {}\n\n{}", self.url, self.facts());
        text.push_str("\nPaste into your client. The key in it stays good across restarts.\n");
        for (client, settings) in self.clients() {
            text.push_str(&format!("\n{client}\n{}\n", indented(&settings)));
        }
        text.push_str("\nCtrl-C stops everything.\n");
        text
    }

    fn facts(&self) -> String {
        let Project { slug, path } = self.project;
        let mut facts = format!("  project   {slug}  ({})\n", path.display());
        for other in self.served.iter().filter(|other| *other != self.project) {
            facts.push_str(&format!(
                "  also      {}  ({})\n",
                other.slug,
                other.path.display()
            ));
        }
        facts.push_str(&format!("  api key   {}\n", self.api_key.expose_secret()));
        facts.push_str(&format!("  data      {}\n", self.data.display()));
        facts.push_str(&format!("  metrics   http://{}/metrics\n", self.admin));
        if let Some(url) = self.open_url {
            facts.push_str(&format!(
                "  network   {url}  (not encrypted: anybody on the way can read the key)\n"
            ));
        }
        facts
    }

    /// In the order of the README. Neither URL nor key holds anything to escape.
    fn clients(&self) -> [(&'static str, String); 5] {
        let (url, key) = (self.url, self.api_key.expose_secret());
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
                settings("servers", r#""type": "http", "#, url, key),
            ),
            (
                "Cursor, in .cursor/mcp.json",
                settings("mcpServers", "", url, key),
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
}

/// The file that editors keep MCP servers in, as JSON.
fn settings(servers: &str, transport: &str, url: &str, key: &str) -> String {
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

    fn with<T>(check: impl FnOnce(&Announcement<'_>) -> T) -> T {
        let project = |slug: &str| Project {
            slug: slug.into(),
            path: format!("/src/{slug}").into(),
        };
        let (site, docs) = (project("site"), project("docs"));
        check(&Announcement {
            url: "http://127.0.0.1:7676/mcp",
            open_url: None,
            admin: "127.0.0.1:40001".parse().unwrap(),
            api_key: &"awy_key".into(),
            tenant: "dev",
            project: &site,
            served: &[docs, site.clone()],
            data: Path::new("/data"),
        })
    }

    #[test]
    fn for_programs_it_is_one_line() {
        let expected = concat!(
            r#"{"url":"http://127.0.0.1:7676/mcp","api_key":"awy_key","tenant":"dev","#,
            r#""project":"site","admin_url":"http://127.0.0.1:40001"}"#
        );
        assert_eq!(with(|it| it.line().unwrap()), expected);
    }

    #[test]
    fn what_editors_get_is_json() {
        with(|it| {
            for (client, settings) in it
                .clients()
                .iter()
                .filter(|(_, text)| text.starts_with('{'))
            {
                let value: Value = serde_json::from_str(settings).unwrap();
                assert!(
                    value.as_object().is_some_and(|servers| servers.len() == 1),
                    "{client}"
                );
            }
        });
        serde_json::from_str::<Value>(CALL).unwrap();
    }

    #[test]
    fn for_people_each_client_gets_the_url_and_the_key() {
        with(|it| {
            for (client, settings) in it.clients() {
                assert!(settings.contains(it.url), "{client}: {settings}");
                assert!(settings.contains("Bearer awy_key"), "{client}: {settings}");
            }
            let text = it.text();
            assert!(text.contains("project   site  (/src/site)"), "{text}");
            assert!(text.contains("also      docs  (/src/docs)"), "{text}");
            assert_eq!(text.matches("/src/site").count(), 1, "{text}");
        });
    }
}
