//! What `dev` prints when it is ready: settings to paste into clients for people, or one line of JSON
//! (`--json`).

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;

use super::projects::Project;
use crate::output::{self, OutputError};
use crate::settings;

/// The facts about a running `dev` that its user needs.
pub(super) struct Announcement<'a> {
    /// The MCP endpoint on this machine.
    pub(super) url: &'a str,
    /// The endpoint for other machines, if it is open to them.
    pub(super) open_url: Option<&'a str>,
    pub(super) admin: SocketAddr,
    /// Whether the admin port serves the console.
    pub(super) console: bool,
    pub(super) api_key: &'a SecretString,
    pub(super) tenant: &'a str,
    /// The slug of the project of calls that name none. Its folder may be missing.
    pub(super) default: &'a str,
    /// The project that `--repo` names.
    pub(super) repo: &'a Project,
    /// All served projects, that one included.
    pub(super) served: &'a [Project],
    /// The folders that are gone, by slug.
    pub(super) gone: &'a [(String, PathBuf)],
    pub(super) data: &'a Path,
}

/// The answer to `--json`.
#[derive(Serialize)]
struct ReadyLine<'a> {
    url: &'a str,
    api_key: &'a str,
    tenant: &'a str,
    /// The project of calls that name none.
    project: &'a str,
    /// The project that `--repo` names. It differs from `project` if the key's default is another.
    repo_project: &'a str,
    /// All served projects.
    projects: Vec<&'a str>,
    /// The base URL of `/healthz`, `/readyz` and `/metrics`.
    admin_url: &'a str,
}

impl Announcement<'_> {
    /// Writes it to standard output: for people, or as one line of JSON.
    pub(super) fn print(&self, as_json: bool) -> Result<(), OutputError> {
        let text = if as_json {
            self.line().map_err(io::Error::from)?
        } else {
            self.text()
        };
        output::print(&text, as_json)
    }

    fn line(&self) -> serde_json::Result<String> {
        let admin_url = format!("http://{}", self.admin);
        serde_json::to_string(&ReadyLine {
            url: self.url,
            api_key: self.api_key.expose_secret(),
            tenant: self.tenant,
            project: self.default,
            repo_project: &self.repo.slug,
            projects: self.served.iter().map(|it| it.slug.as_str()).collect(),
            admin_url: &admin_url,
        })
    }

    fn text(&self) -> String {
        let mut text = format!("\nArchway is ready at {}\n\n{}", self.url, self.facts());
        text.push_str(&self.default_hint());
        text.push_str("\nPaste into your client. The key stays valid across restarts.\n");
        text.push_str(&settings::client_settings(self.url, self.api_key));
        text.push_str("\nCtrl-C stops everything.\n");
        text
    }

    fn facts(&self) -> String {
        let shown = |project: &Project| format!("{}  ({})", project.slug, project.path.display());
        let is_default = |project: &&Project| project.slug == self.default;
        let mut facts = match self.served.iter().find(is_default) {
            Some(default) => format!("  project   {}\n", shown(default)),
            None => format!(
                "  project   {}  (its folder is missing: calls must name another)\n",
                self.default
            ),
        };
        for other in self.served.iter().filter(|it| !is_default(it)) {
            facts.push_str(&format!("  also      {}\n", shown(other)));
        }
        for (slug, path) in self.gone.iter().filter(|(slug, _)| slug != self.default) {
            facts.push_str(&format!(
                "  gone      {slug}  ({}: no such folder, so it is not served)\n",
                path.display()
            ));
        }
        facts.push_str(&format!("  api key   {}\n", self.api_key.expose_secret()));
        facts.push_str(&format!("  data      {}\n", self.data.display()));
        facts.push_str(&format!("  metrics   http://{}/metrics\n", self.admin));
        if self.console {
            facts.push_str(&format!("  console   http://{}/console\n", self.admin));
        }
        if let Some(url) = self.open_url {
            facts.push_str(&format!(
                "  network   {url}  (not encrypted: the key can be read in transit)\n"
            ));
        }
        facts
    }

    /// A hint for when `--repo` names another project than calls use by default.
    fn default_hint(&self) -> String {
        let (default, repo) = (self.default, &self.repo.slug);
        if default == repo {
            return String::new();
        }
        format!(
            "\nThe key was first made for {default}, and calls that name no project still read that one.\n\
             For {repo}, calls pass \"project\": \"{repo}\". A key that reads it by default:\n  \
             archway key issue {} --default-project {repo} --data {}\n",
            self.tenant,
            self.data.display()
        )
    }
}

#[cfg(test)]
mod tests {
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
            console: true,
            api_key: &"awy_key".into(),
            tenant: "dev",
            default: "site",
            repo: &site,
            served: &[docs, site.clone()],
            gone: &[],
            data: Path::new("/data"),
        })
    }

    /// The same, started for another repository than the key was made for.
    fn with_another<T>(check: impl FnOnce(&Announcement<'_>) -> T) -> T {
        with(|it| {
            check(&Announcement {
                repo: &it.served[0],
                ..*it
            })
        })
    }

    #[test]
    fn json_is_one_line() {
        let expected = concat!(
            r#"{"url":"http://127.0.0.1:7676/mcp","api_key":"awy_key","tenant":"dev","#,
            r#""project":"site","repo_project":"site","projects":["docs","site"],"#,
            r#""admin_url":"http://127.0.0.1:40001"}"#
        );
        assert_eq!(with(|it| it.line().unwrap()), expected);
        let another = expected.replace(r#""repo_project":"site""#, r#""repo_project":"docs""#);
        assert_eq!(with_another(|it| it.line().unwrap()), another);
    }

    #[test]
    fn another_repository_is_announced_with_the_argument_for_it() {
        assert!(with(|it| !it.text().contains("name no project")));
        with_another(|it| {
            let text = it.text();
            assert!(text.contains("project   site  (/src/site)"), "{text}");
            assert!(text.contains("also      docs  (/src/docs)"), "{text}");
            assert!(
                text.contains("made for site, and calls that name no"),
                "{text}"
            );
            assert!(text.contains(r#"calls pass "project": "docs""#), "{text}");
        });
        with(|it| {
            let text = Announcement {
                default: "gone",
                ..*it
            }
            .text();
            assert!(
                text.contains("project   gone  (its folder is missing"),
                "{text}"
            );
        });
    }

    #[test]
    fn each_project_whose_folder_is_gone_is_named_once() {
        with(|it| {
            let gone =
                ["wiki", "shop"].map(|slug| (slug.to_owned(), format!("/src/{slug}").into()));
            let (default, gone) = ("wiki", gone.as_slice());
            let text = Announcement {
                default,
                gone,
                ..*it
            }
            .text();
            assert!(
                text.contains("project   wiki  (its folder is missing"),
                "{text}"
            );
            assert!(
                text.contains("gone      shop  (/src/shop: no such"),
                "{text}"
            );
            assert!(!text.contains("gone      wiki"), "{text}");
        });
    }

    #[test]
    fn the_help_names_every_member_of_the_line() {
        use clap::Args;

        let command = crate::dev::DevArgs::augment_args(clap::Command::new("dev"));
        let option = command
            .get_arguments()
            .find(|it| it.get_long() == Some("json"));
        let help = option.unwrap().get_help().unwrap().to_string();
        let line: serde_json::Value = with(|it| serde_json::from_str(&it.line().unwrap()).unwrap());
        let named = help.split(['{', '}']).nth(1).unwrap().split(", ");
        let named: std::collections::BTreeSet<&str> = named.collect();
        let members = line.as_object().unwrap().keys().map(String::as_str);
        assert_eq!(named, members.collect());
    }

    #[test]
    fn text_has_the_projects_and_client_settings() {
        with(|it| {
            let text = it.text();
            assert!(text.contains(&settings::client_settings(it.url, it.api_key)));
            assert!(text.contains("project   site  (/src/site)"), "{text}");
            assert!(text.contains("also      docs  (/src/docs)"), "{text}");
            assert_eq!(text.matches("/src/site").count(), 1, "{text}");
        });
    }
}
