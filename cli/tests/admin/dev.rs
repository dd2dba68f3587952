//! Administration of a running `archway dev`, found by its data folder.

mod default_project;

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, SystemTime};

use archway_gateway::secrets::RootSecret;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::installation::{CommandResult, bare};

/// Longer than any wait takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// A data folder, and folders to serve, all readable by PostgreSQL's user.
pub(crate) struct Home(TempDir);

/// A running `archway dev`.
pub(crate) struct Dev {
    child: Child,
    pub(crate) ready: Value,
}

impl Home {
    pub(crate) fn new() -> Home {
        let home = tempfile::Builder::new()
            .prefix("archway-test-")
            .tempdir_in("/tmp")
            .unwrap();
        for folder in ["site", "handbook"] {
            std::fs::create_dir(home.path().join(folder)).unwrap();
        }
        Home(home)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn start(&self, repo: &str) -> Dev {
        let mut command = bare();
        command
            .args(["dev", "--json", "--port", "0", "--repo"])
            .arg(self.path(repo));
        command.arg("--data").arg(self.path("data"));
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        let ready = serde_json::from_str(&line).unwrap();
        Dev { child, ready }
    }

    pub(crate) fn run(&self, line: &str) -> CommandResult {
        let mut command = bare();
        command.args(line.split_whitespace());
        CommandResult::of(command.arg("--data").arg(self.path("data")))
    }

    /// The slugs of the projects that are not removed.
    fn served(&self) -> Vec<String> {
        let list = self.run("project list dev --json").json();
        let projects = list["projects"].as_array().unwrap().iter();
        let served = projects.filter(|project| project["removed_at"].is_null());
        served
            .map(|project| project["slug"].as_str().unwrap().to_owned())
            .collect()
    }

    /// The workers that see the first project.
    fn workers(&self) -> Value {
        let list = self.run("project list dev --json").json();
        list["projects"][0]["workers"].clone()
    }
}

impl Dev {
    pub(crate) fn key(&self) -> &str {
        self.ready["api_key"].as_str().unwrap()
    }

    /// Ends it without a chance to write anything.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn stop(mut self) {
        let pid = Pid::from_raw(self.child.id().try_into().unwrap()).unwrap();
        kill_process(pid, Signal::TERM).unwrap();
        assert!(self.child.wait().unwrap().success());
    }
}

#[test]
fn a_running_dev_is_administered_without_naming_a_database_or_a_secret() {
    let home = Home::new();
    let dev = home.start("site");
    assert_eq!(home.served(), ["site"]);
    let deadline = SystemTime::now() + PATIENCE;
    while home.workers() != json!(["dev"]) {
        assert!(SystemTime::now() < deadline, "its worker was not reported");
    }
    let list = home.run("key list dev --json").json();
    assert_eq!(list["keys"][0]["label"], "archway dev");
    assert_eq!(list["keys"][0]["id"], dev.key().split('_').nth(1).unwrap());

    let issued = home.run("key issue dev --label mine --json").json();
    assert!(issued["api_key"].as_str().unwrap().starts_with("awy_"));
    RootSecret::load(&home.path("data/root-secret")).unwrap();
    assert_eq!(home.run("status --json").json()["keys"]["live"], 2);

    // Its own secret is used, whatever the environment names, unless a secret is typed.
    let other = home.path("other");
    let line = CommandResult::of(bare().args(["secret", "generate"])).ok();
    std::fs::write(&other, line).unwrap();
    let issue = |options: &[&str]| {
        let mut command = bare();
        command.env("ARCHWAY_SECRET_FILE", &other);
        command.env("ARCHWAY_MIGRATE_DATABASE_URL", "postgres://127.0.0.1:1/no");
        command.args(["key", "issue", "dev"]).args(options);
        CommandResult::of(command.arg("--data").arg(home.path("data")))
    };
    issue(&["--label", "yours"]).ok();
    let typed = issue(&["--secret-file", other.to_str().unwrap()]).refusal();
    assert!(typed.contains("not the gateways'"), "{typed}");
    assert_eq!(home.run("status --json").json()["keys"]["live"], 3);
    dev.stop();
    let refusal = home.run("key list dev").refusal();
    assert!(refusal.contains("start `archway dev`"), "{refusal}");
}

#[test]
fn settings_made_by_command_outlive_a_restart() {
    let home = Home::new();
    let first = home.start("site");
    let (key, handbook) = (first.key().to_owned(), home.path("handbook"));
    let add = format!("project add dev docs --path {}", handbook.display());
    assert!(home.run(&add).ok().contains("within seconds"));
    home.run("project set dev site --close private/").ok();
    let id = key.split('_').nth(1).unwrap().to_owned();
    first.stop();

    let second = home.start("site");
    assert_eq!(
        (second.key(), home.served()),
        (key.as_str(), vec!["docs".into(), "site".into()])
    );
    let list = home.run("project list dev --json").json();
    assert_eq!(list["projects"][1]["close"][0], "private/");
    home.run("project remove dev docs").ok();
    home.run("project remove dev site").ok();
    second.stop();

    // `--repo` restores its own project; the other removed project stays removed.
    let third = home.start("site");
    assert_eq!(
        (third.key(), home.served()),
        (key.as_str(), vec!["site".into()])
    );
    home.run(&format!("key revoke {id}")).ok();
    third.stop();

    let fourth = home.start("site");
    assert_ne!(fourth.key(), key);
    fourth.stop();
}

#[test]
fn names_are_the_folders_until_a_command_sets_others() {
    let home = Home::new();
    std::fs::create_dir(home.path("My Site")).unwrap();
    let first = home.start("My Site");
    let name = || {
        let list = home.run("project list dev --json").json();
        list["projects"][0]["name"].clone()
    };
    assert_eq!(name(), "My Site");
    home.run("project set dev my-site --name Shop").ok();
    let tenants = home.path("tenants.yaml");
    std::fs::write(&tenants, "tenants: [{slug: dev, name: Ours}]").unwrap();
    home.run(&format!("apply -f {}", tenants.display())).ok();
    first.stop();

    let second = home.start("My Site");
    assert_eq!(name(), "Shop");
    let list = home.run("tenant list --json").json();
    assert_eq!(list["tenants"][0]["name"], "Ours");
    home.run("project set dev my-site --clear-name").ok();
    second.stop();

    let third = home.start("My Site");
    assert_eq!(name(), Value::Null);
    third.stop();
}

#[test]
fn a_project_that_dev_does_not_serve_is_listed_with_the_reason() {
    let home = Home::new();
    let first = home.start("handbook");
    first.stop();
    std::fs::remove_dir(home.path("handbook")).unwrap();
    let second = home.start("site");
    let docs = home.path("docs");
    std::fs::create_dir(&docs).unwrap();
    home.run(&format!("project add dev docs --path {}", docs.display()))
        .ok();
    home.run("project add dev nowhere").ok();
    let deadline = SystemTime::now() + PATIENCE;
    let states = loop {
        let list = home.run("project list dev --json").json();
        let rows = list["projects"].as_array().unwrap().iter();
        let states: Vec<Value> = rows.map(|row| row["state"].clone()).collect();
        let are_served = states[0] == "served" && states[3] == "served";
        if are_served || SystemTime::now() > deadline {
            break states;
        }
    };
    assert_eq!(states, ["served", "folder_gone", "no_folder", "served"]);
    let text = home.run("project list dev").ok();
    for said in [
        "not served: its folder is gone",
        "not served: it has no folder",
        "bring the folder back and start `archway dev` again",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    second.stop();
}

#[test]
fn a_key_that_names_a_removed_project_does_not_keep_dev_from_starting() {
    let home = Home::new();
    home.start("handbook").stop();
    let first = home.start("site");
    let tenants = home.path("tenants.yaml");
    let narrow = "tenants: [{slug: dev, keys: [{label: archway dev, from_env: KEY, \
                  projects: [site, handbook], default_project: site}]}]";
    std::fs::write(&tenants, narrow).unwrap();
    let mut command = bare();
    command.env("KEY", first.key()).args(["apply", "-f"]);
    command.arg(&tenants).arg("--data").arg(home.path("data"));
    CommandResult::of(&mut command).ok();
    home.run("project remove dev handbook").ok();
    let key = first.key().to_owned();
    first.stop();

    let second = home.start("site");
    assert_eq!(second.key(), key);
    let list = home.run("key list dev --json").json();
    assert_eq!(
        list["keys"][0]["projects"],
        serde_json::json!(["handbook", "site"])
    );
    second.stop();
}

#[test]
fn a_folder_that_can_not_be_served_is_refused_and_no_project_is_added() {
    let home = Home::new();
    let dev = home.start("site");
    let site = home.path("site");
    let refusal = home
        .run(&format!("project add dev again --path {}", site.display()))
        .refusal();
    assert!(refusal.contains("project site is the folder"), "{refusal}");
    let refusal = home
        .run("project add dev nowhere --path /nowhere")
        .refusal();
    assert!(refusal.contains("/nowhere is not a folder"), "{refusal}");
    home.run("tenant create other").ok();
    let refusal = home.run("project add other docs --path /tmp").refusal();
    assert!(refusal.contains("tenant dev"), "{refusal}");
    assert_eq!(home.served(), ["site"]);
    dev.stop();
}
