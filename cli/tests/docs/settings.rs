//! The output of `archway settings` for each client, and the page that shows it.

use std::process::Command;

use serde_json::Value;
use toml::de::{DeTable, DeValue};

use crate::pages::{Page, root};

const URL: &str = "http://127.0.0.1:7676/mcp";
const PAGE: &str = "docs/src/clients.md";
/// For each client with a file: where it reads the URL, and the credential that it sends.
const FILES: [(&str, &str, &str); 7] = [
    (
        "Claude Desktop",
        "/mcpServers/archway/args/2",
        "/mcpServers/archway/env/AUTHORIZATION",
    ),
    (
        "Codex",
        "/mcp_servers/archway/url",
        "/mcp_servers/archway/bearer_token_env_var",
    ),
    (
        "Cursor",
        "/mcpServers/archway/url",
        "/mcpServers/archway/headers/Authorization",
    ),
    (
        "Gemini CLI",
        "/mcpServers/archway/httpUrl",
        "/mcpServers/archway/headers/Authorization",
    ),
    (
        "VS Code",
        "/servers/archway/url",
        "/servers/archway/headers/Authorization",
    ),
    (
        "Windsurf",
        "/mcpServers/archway/serverUrl",
        "/mcpServers/archway/headers/Authorization",
    ),
    (
        "Zed",
        "/context_servers/archway/url",
        "/context_servers/archway/headers/Authorization",
    ),
];

/// The output for one client.
struct Printed {
    /// `Codex, in ~/.codex/config.toml`.
    name: String,
    /// A command or a file.
    text: String,
    note: Option<String>,
}

fn printed() -> Vec<Printed> {
    let folder = tempfile::tempdir().unwrap();
    let key_file = folder.path().join("api.key");
    let made = archway().args(["key", "generate"]).output().unwrap();
    std::fs::write(&key_file, &made.stdout).unwrap();
    let mut settings = archway();
    settings.args(["settings", "--url", URL, "--key-file"]);
    let said = settings.arg(&key_file).output().unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    let key = String::from_utf8(made.stdout).unwrap();
    let said = said.replace(key.trim_end(), "awy_…");
    let blocks = said.split("\n\n").skip(2);
    blocks.map(Printed::of).collect()
}

fn archway() -> Command {
    Command::new(env!("CARGO_BIN_EXE_archway"))
}

impl Printed {
    fn of(block: &str) -> Printed {
        let (name, rest) = block.split_once('\n').unwrap();
        let mut lines: Vec<&str> = rest.lines().filter_map(|line| line.get(2..)).collect();
        let is_note = lines.last().is_some_and(|line| line.ends_with('.'));
        let note = is_note.then(|| lines.pop().unwrap().to_owned());
        Printed {
            name: name.to_owned(),
            text: lines.join("\n"),
            note,
        }
    }

    fn parsed(&self) -> Option<Value> {
        match self.text.chars().next() {
            Some('{') => Some(serde_json::from_str(&self.text).unwrap()),
            Some('[') => Some(table(DeTable::parse(&self.text).unwrap().get_ref())),
            _ => None,
        }
    }
}

/// Converts tables and strings; Codex uses nothing else.
fn table(table: &DeTable<'_>) -> Value {
    let members = table.iter().map(|(name, value)| {
        let value = match value.get_ref() {
            DeValue::Table(inner) => self::table(inner),
            other => other.as_str().unwrap().into(),
        };
        (name.get_ref().to_string(), value)
    });
    Value::Object(members.collect())
}

#[test]
fn each_client_file_parses_and_has_url_and_key_where_they_are_read() {
    let printed = printed();
    let files = printed.iter().filter_map(|it| Some((it, it.parsed()?)));
    let files: Vec<_> = files.collect();
    assert_eq!(files.len(), FILES.len(), "each is in the table");
    for (client, url, credential) in FILES {
        let (it, parsed) = files
            .iter()
            .find(|(it, _)| it.name.starts_with(client))
            .unwrap();
        assert_eq!(parsed.pointer(url).unwrap(), URL, "{client}");
        let credential = parsed.pointer(credential).unwrap();
        let expected = match client {
            "Codex" => "ARCHWAY_API_KEY",
            _ => "Bearer awy_…",
        };
        assert_eq!(credential, expected, "{client}");
        let note = it.note.as_deref().unwrap_or_default();
        assert_eq!(
            it.text.contains("awy_"),
            note.contains("Do not commit this file"),
            "{client}"
        );
        // The placeholder for the key is a valid value as well.
        if let Some((_, rest)) = note.split_once("write ") {
            let variable = rest.split(' ').next().unwrap();
            assert!(variable.contains("ARCHWAY_API_KEY"), "{note}");
            let named: Value = serde_json::from_str(&it.text.replace("awy_…", variable)).unwrap();
            assert!(named.to_string().contains(variable), "{client}");
        }
    }
}

#[test]
fn the_page_shows_for_each_client_what_is_printed() {
    let page = Page::read(&root().join(PAGE));
    let sections: Vec<&str> = page.text.split("\n## ").collect();
    for it in printed() {
        let section = sections
            .iter()
            .find(|section| section.lines().next() == Some(&it.name));
        let section = section.unwrap_or_else(|| panic!("{PAGE} has no section {}", it.name));
        // These are run as the page shows them, with another call.
        if it.name == "curl" || it.name == "MCP Inspector" {
            continue;
        }
        assert!(
            section.contains(&format!("\n{}\n```", it.text)),
            "{}: {section}",
            it.name
        );
        if let Some(note) = &it.note {
            assert!(
                section.lines().any(|line| line == note),
                "{note}: {section}"
            );
        }
    }
}
