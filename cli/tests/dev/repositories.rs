//! Several repositories of one `archway dev`: folders and URLs, named at its start or added while it runs.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, SystemTime};

use rustix::process::Signal;
use serde_json::Value;

use crate::git_http::GitHttp;
use crate::session::Session;
use crate::{Dev, Workspace};

impl Workspace {
    /// A folder with a file.
    fn folder(&self, name: &str, text: &str) -> String {
        let folder = self.0.path().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("greeting.txt"), text).unwrap();
        folder.to_str().unwrap().to_owned()
    }

    fn host(&self, credential: Option<&'static str>) -> GitHttp {
        GitHttp::start(&self.0.path().join("host"), credential)
    }

    fn dev(&self, options: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_archway"));
        command
            .args(["dev", "--json", "--port", "0", "--data"])
            .arg(self.data());
        command.args(options);
        command
    }

    /// Runs a command beside the running `dev`.
    fn admin(&self, line: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_archway"));
        let command = command.args(line.split_whitespace()).arg("--data");
        let output = command.arg(self.data()).output().unwrap();
        assert!(output.status.success(), "{line}: {output:?}");
        output
    }

    fn states(&self) -> Vec<(String, String)> {
        let list = self.admin("project list dev --json").stdout;
        let list: Value = serde_json::from_slice(&list).unwrap();
        let rows = list["projects"].as_array().unwrap().iter();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        rows.map(|row| (text(&row["slug"]), text(&row["state"])))
            .collect()
    }
}

impl Dev {
    /// The slugs of all projects, in order.
    fn projects(&self) -> Vec<&str> {
        let projects = self.ready["projects"].as_array().unwrap().iter();
        let mut projects: Vec<&str> = projects.map(|it| it.as_str().unwrap()).collect();
        projects.sort_unstable();
        projects
    }
}

/// Waits until a call of the session finds a text in a project. It has 60 searches a minute.
fn until_found(session: &Session, project: Option<&str>, text: &str) {
    let deadline = SystemTime::now() + Duration::from_secs(30);
    while session.finds(project, text) != Some(true) {
        assert!(SystemTime::now() < deadline, "no {text} in {project:?}");
        std::thread::sleep(Duration::from_millis(500));
    }
}

#[test]
fn folders_and_urls_are_served_at_once_and_more_while_it_runs() {
    let workspace = Workspace::new();
    // `ada:sesame`.
    let host = workspace.host(Some("YWRhOnNlc2FtZQ=="));
    let wiki = host.add("wiki", "walrus\n");
    let credentials = workspace.folder("credentials", "");
    let credential = Path::new(&credentials).join("host");
    std::fs::write(&credential, "ada:sesame\n").unwrap();
    std::fs::set_permissions(&credential, Permissions::from_mode(0o600)).unwrap();
    let (docs, shop) = (
        workspace.folder("docs", "heron\n"),
        workspace.folder("shop", "otter\n"),
    );
    let site = workspace.folder("My Site", "sesame\n");
    let of_host = ["--credential", "host", "--credentials", &credentials];
    let repos = ["--repo", &site, "--repo", &docs, "--repo", &wiki];
    let dev = Dev::start(&mut workspace.dev(&[&repos[..], &of_host].concat()));
    assert_eq!(dev.projects(), ["docs", "my-site", "wiki"]);
    let session = Session::begin(&dev);
    assert_eq!(session.finds(None, "sesame"), Some(true));
    assert_eq!(session.finds(Some("docs"), "heron"), Some(true));
    until_found(&session, Some("wiki"), "walrus");

    // The same session sees what is added.
    workspace.admin(&format!("project add dev shop --repo {shop}"));
    let notes = host.add("notes", "badger\n");
    workspace.admin(&format!(
        "project add dev notes --git {notes} --credential host"
    ));
    until_found(&session, Some("shop"), "otter");
    until_found(&session, Some("notes"), "badger");
    for (project, text) in [("docs", "heron"), ("wiki", "walrus")] {
        assert_eq!(session.finds(Some(project), text), Some(true));
    }
    assert_eq!(session.finds(None, "sesame"), Some(true));
    crate::wait_until("all are listed as served", || {
        let states = workspace.states();
        states.len() == 5 && states.iter().all(|(_, state)| state == "served")
    });
    let metrics = dev.admin("/metrics");
    assert_eq!(metrics.matches("# EOF\n").count(), 1);
    assert!(metrics.contains("archway_sync_runs_total{state=\"ok\"}"));
    let log = dev.log.text();
    for said in [
        "sesame",
        "a worker",
        "worker lost",
        "cannot be",
        "could not",
    ] {
        assert!(!log.contains(said), "{said}: {log}");
    }
    assert!(dev.end(Signal::TERM).0.success());
}

#[test]
fn a_restart_for_another_repository_keeps_the_default_and_serves_all() {
    let workspace = Workspace::new();
    let host = workspace.host(None);
    let (url, folder) = (
        host.add("site", "walrus\n"),
        workspace.folder("site", "otter\n"),
    );
    let first = Dev::start(&mut workspace.dev(&["--repo", &url]));
    let key = first.text("api_key").to_owned();
    assert_eq!(first.projects(), ["site"]);
    until_found(&Session::begin(&first), None, "walrus");
    first.end(Signal::TERM);

    // A folder of the same name gets another slug, whichever is named first.
    for named in [
        vec!["--repo", &folder],
        vec!["--repo", &folder, "--repo", &url],
    ] {
        let next = Dev::start(&mut workspace.dev(&named));
        assert_eq!(next.text("api_key"), key);
        assert_eq!(
            (next.text("project"), next.text("repo_project")),
            ("site", "site-2")
        );
        assert_eq!(next.projects(), ["site", "site-2"]);
        let session = Session::begin(&next);
        assert_eq!(session.finds(None, "walrus"), Some(true));
        assert_eq!(session.finds(Some("site-2"), "otter"), Some(true));
        next.end(Signal::TERM);
    }

    // What was removed is not served any more, until it is named again.
    let third = Dev::start(&mut workspace.dev(&["--repo", &folder]));
    workspace.admin("project remove dev site");
    third.end(Signal::TERM);
    let fourth = Dev::start(&mut workspace.dev(&["--repo", &folder]));
    assert_eq!(fourth.projects(), ["site-2"]);
    assert_eq!(fourth.text("project"), "site-2");
    fourth.end(Signal::TERM);
    let fifth = Dev::start(&mut workspace.dev(&["--repo", &url]));
    assert_eq!(fifth.projects(), ["site", "site-2"]);
    assert_eq!(fifth.text("project"), "site-2");
    fifth.end(Signal::TERM);
}

#[test]
fn without_git_folders_and_mirrors_are_served_and_new_urls_refused() {
    let workspace = Workspace::new();
    let host = workspace.host(None);
    let (url, folder) = (
        host.add("wiki", "walrus\n"),
        workspace.folder("docs", "heron\n"),
    );
    let without_git: PathBuf = workspace.folder("empty", "").into();
    let without_git = ["--git-bin", without_git.to_str().unwrap()];
    let start =
        |options: &[&str]| Dev::start(&mut workspace.dev(&[&without_git, options].concat()));

    let folders = start(&["--repo", &folder]);
    let session = Session::begin(&folders);
    assert_eq!(session.finds(None, "heron"), Some(true));
    assert_eq!(folders.log.text(), "", "git is missed by nobody");
    folders.end(Signal::TERM);

    let mut refused = workspace.dev(&[&without_git[..], &["--repo", &url]].concat());
    let refused = refused.output().unwrap();
    let why = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success() && refused.stdout.is_empty());
    assert!(why.contains("apt-get install git"), "{why}");

    let mirrored = Dev::start(&mut workspace.dev(&["--repo", &url]));
    until_found(&Session::begin(&mirrored), Some("wiki"), "walrus");
    mirrored.end(Signal::TERM);
    let both = start(&["--repo", &folder]);
    let session = Session::begin(&both);
    assert_eq!(session.finds(Some("wiki"), "walrus"), Some(true));
    crate::wait_until("the log says that git is missing", || {
        both.log.says("repositories by URL are not fetched") == 1
    });
    both.end(Signal::TERM);
}

#[test]
fn a_url_that_can_not_be_mirrored_is_refused_before_anything_starts() {
    let workspace = Workspace::new();
    let folder = workspace.folder("docs", "heron\n");
    for (options, said) in [
        (vec!["--repo", "http://example.com/site"], "https://"),
        (
            vec!["--repo", "https://ada:walrus@example.com/site"],
            "a password",
        ),
        (
            vec!["--repo", &folder, "--credential", "host"],
            "names none",
        ),
        (
            vec!["--repo", "git@example.com:acme/site.git"],
            "--credential",
        ),
    ] {
        let refused = workspace.dev(&options).output().unwrap();
        let why = String::from_utf8(refused.stderr).unwrap();
        assert!(!refused.status.success(), "{options:?}");
        assert!(why.contains(said) && !why.contains("walrus"), "{why}");
    }
}
