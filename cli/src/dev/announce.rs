//! What `dev` prints when it is ready: settings to paste into clients for people, or one line of JSON
//! (`--json`).

use std::io;
use std::net::SocketAddr;
use std::path::Path;

use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;

use super::served::{Mirror, Served};
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
    /// All projects.
    pub(super) served: &'a Served,
    /// Whether git is there, which mirrors need.
    pub(super) has_git: bool,
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
    /// The project that the first `--repo` names. It differs from `project` if the key's default is another.
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
            repo_project: &self.served.first,
            projects: self.places().map(|(slug, _)| slug).collect(),
            admin_url: &admin_url,
        })
    }

    fn text(&self) -> String {
        let mut text = format!("\nArchway is ready at {}\n\n{}", self.url, self.facts());
        text.push_str(&self.default_hint());
        text.push_str(&self.clone_hint());
        text.push_str("\nPaste into your client. The key stays valid across restarts.\n");
        text.push_str(&settings::client_settings(self.url, self.api_key));
        text.push_str("\nCtrl-C stops everything.\n");
        text
    }

    fn facts(&self) -> String {
        let shown = |(slug, place): (&str, String)| format!("{slug}  ({place})");
        let is_default = |(slug, _): &(&str, String)| *slug == self.default;
        let mut facts = match self.places().find(is_default) {
            Some(default) => format!("  project   {}\n", shown(default)),
            None => format!(
                "  project   {}  (its folder is missing: calls must name another)\n",
                self.default
            ),
        };
        for other in self.places().filter(|it| !is_default(it)) {
            facts.push_str(&format!("  also      {}\n", shown(other)));
        }
        for gone in self.served.gone.iter().filter(|it| it.slug != self.default) {
            facts.push_str(&format!(
                "  gone      {}  ({}: no such folder, so it is not served)\n",
                gone.slug,
                gone.path.display()
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

    /// Slug and place of each project that is served, or will be once it is cloned.
    fn places(&self) -> impl Iterator<Item = (&str, String)> {
        let folders = self.served.folders.iter();
        let folders = folders.map(|it| (it.slug.as_str(), it.path.display().to_string()));
        let mirrors = self.served.mirrors.iter();
        folders.chain(mirrors.map(|it| (it.slug.as_str(), self.place(it))))
    }

    /// The URL, and how it is with a mirror that cannot be read, or is not kept up to date.
    fn place(&self, mirror: &Mirror) -> String {
        let url = &mirror.url;
        match (mirror.was_fetched, mirror.state.as_str()) {
            (true, _) if !self.has_git => format!("{url}, not fetched: git is missing"),
            (false, _) if !self.has_git => format!("{url}, not cloned: git is missing"),
            (true, "ok") => url.clone(),
            (true, state) => format!("{url}, not fetched lately: {state}"),
            (false, "new" | "cloning" | "ok") => format!("{url}, being cloned"),
            (false, state) => format!("{url}, not cloned yet: {state}"),
        }
    }

    /// A hint for when a repository is not cloned yet.
    fn clone_hint(&self) -> String {
        if self.served.mirrors.iter().all(|mirror| mirror.was_fetched) {
            return String::new();
        }
        let data = self.data.display();
        format!(
            "\nHow the clone goes:\n  archway sync status {} --data {data}\n",
            self.tenant
        )
    }

    /// A hint for when the first `--repo` names another project than calls use by default.
    fn default_hint(&self) -> String {
        let (default, repo) = (self.default, &self.served.first);
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
    use crate::dev::projects::Project;

    fn folder(slug: &str) -> Project {
        Project {
            slug: slug.into(),
            path: format!("/src/{slug}").into(),
        }
    }

    fn served() -> Served {
        Served {
            first: "site".into(),
            folders: vec![folder("docs"), folder("site")],
            ..Served::default()
        }
    }

    fn with<T>(served: &Served, check: impl FnOnce(&Announcement<'_>) -> T) -> T {
        check(&Announcement {
            url: "http://127.0.0.1:7676/mcp",
            open_url: None,
            admin: "127.0.0.1:40001".parse().unwrap(),
            console: true,
            api_key: &"awy_key".into(),
            tenant: "dev",
            default: "site",
            served,
            has_git: true,
            data: Path::new("/data"),
        })
    }

    fn text(served: &Served) -> String {
        with(served, |it| it.text())
    }

    /// Started for another repository than the key was made for.
    fn another() -> Served {
        Served {
            first: "docs".into(),
            ..served()
        }
    }

    fn mirror(state: &str, was_fetched: bool) -> Mirror {
        Mirror {
            slug: "wiki".into(),
            url: "https://example.com/wiki".into(),
            state: state.into(),
            was_fetched,
        }
    }

    #[test]
    fn json_is_one_line() {
        let expected = concat!(
            r#"{"url":"http://127.0.0.1:7676/mcp","api_key":"awy_key","tenant":"dev","#,
            r#""project":"site","repo_project":"site","projects":["docs","site"],"#,
            r#""admin_url":"http://127.0.0.1:40001"}"#
        );
        let line = |served: &Served| with(served, |it| it.line().unwrap());
        assert_eq!(line(&served()), expected);
        let other = expected.replace(r#""repo_project":"site""#, r#""repo_project":"docs""#);
        assert_eq!(line(&another()), other);
    }

    #[test]
    fn another_repository_is_announced_with_the_argument_for_it() {
        assert!(!text(&served()).contains("name no project"));
        let text = text(&another());
        for said in [
            "project   site  (/src/site)",
            "also      docs  (/src/docs)",
            "made for site, and calls that name no",
            r#"calls pass "project": "docs""#,
        ] {
            assert!(text.contains(said), "{said}: {text}");
        }
        let gone = with(&served(), |it| {
            let default = "gone";
            Announcement { default, ..*it }.text()
        });
        assert!(
            gone.contains("project   gone  (its folder is missing"),
            "{gone}"
        );
    }

    #[test]
    fn each_project_whose_folder_is_gone_is_named_once() {
        let served = Served {
            gone: vec![folder("wiki"), folder("shop")],
            ..served()
        };
        let text = with(&served, |it| {
            let default = "wiki";
            Announcement { default, ..*it }.text()
        });
        assert!(
            text.contains("project   wiki  (its folder is missing"),
            "{text}"
        );
        assert!(
            text.contains("gone      shop  (/src/shop: no such"),
            "{text}"
        );
        assert!(!text.contains("gone      wiki"), "{text}");
    }

    #[test]
    fn a_mirror_is_announced_with_its_url_and_what_keeps_it_from_being_read() {
        for (state, was_fetched, said) in [
            ("ok", true, "(https://example.com/wiki)"),
            ("new", false, "wiki, being cloned)"),
            ("cloning", false, "wiki, being cloned)"),
            ("not_found", false, "wiki, not cloned yet: not_found)"),
            (
                "backing_off",
                true,
                "wiki, not fetched lately: backing_off)",
            ),
        ] {
            let served = Served {
                mirrors: vec![mirror(state, was_fetched)],
                ..served()
            };
            let text = text(&served);
            assert!(text.contains(said), "{state}: {text}");
            let is_hinted = text.contains("archway sync status dev --data /data");
            assert_eq!(is_hinted, !was_fetched, "{state}: {text}");
            let without_git = with(&served, |it| {
                let has_git = false;
                Announcement { has_git, ..*it }.text()
            });
            assert!(without_git.contains("git is missing)"), "{without_git}");
        }
    }

    #[test]
    fn the_help_names_every_member_of_the_line() {
        use clap::Args;

        let command = crate::dev::DevArgs::augment_args(clap::Command::new("dev"));
        let option = command
            .get_arguments()
            .find(|it| it.get_long() == Some("json"));
        let help = option.unwrap().get_help().unwrap().to_string();
        let line = with(&served(), |it| it.line().unwrap());
        let line: serde_json::Value = serde_json::from_str(&line).unwrap();
        let named = help.split(['{', '}']).nth(1).unwrap().split(", ");
        let named: std::collections::BTreeSet<&str> = named.collect();
        let members = line.as_object().unwrap().keys().map(String::as_str);
        assert_eq!(named, members.collect());
    }

    #[test]
    fn text_has_the_projects_and_client_settings() {
        let text = text(&served());
        let settings = with(&served(), |it| {
            settings::client_settings(it.url, it.api_key)
        });
        assert!(text.contains(&settings), "{text}");
        assert!(text.contains("project   site  (/src/site)"), "{text}");
        assert!(text.contains("also      docs  (/src/docs)"), "{text}");
        assert_eq!(text.matches("/src/site").count(), 1, "{text}");
    }
}
