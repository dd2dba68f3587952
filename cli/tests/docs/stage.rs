//! The surroundings of a scenario's commands: a folder, a database, programs, resolvable names.
//!
//! | kind | what exists before its first command |
//! |---|---|
//! | `hosts` | two empty databases, files of passwords, repositories; nothing runs |
//! | `prepared` | a migrated database, all secrets; the roles don't run, their options are variables |
//! | `installation` | a migrated database, its root secret; a worker and a gateway run |
//! | `called` | an installation with the tenant `acme`, whose key made calls |
//! | `alerted` | the same, and the gateway runs again: the key `bu6mltErMopy` of pages is the one that called |
//! | `mirrored` | an installation with `archway sync`, and a host with GitHub's API, whose organisation `acme` has three repositories |
//! | `dev` | two repositories, and a host with a third; no role runs |
//! | `samples` | `archway dev` runs on a repository that is always the same (`stage/pass.rs.txt`), and its key is in `ARCHWAY_API_KEY` |
//! | `clients` | `archway dev` runs, and its key is in `ARCHWAY_API_KEY` |
//! | `cluster` | a double of Kubernetes' API |
//! | `release` | an installation with the tenant `acme`, as if the chart had started it in the double |
//! | `shared` | a double of Kubernetes' API, with a release whose repositories are on a shared volume |
//! | `compose` | an installation, as if Compose had started it |
//!
//! Programs of a page are found in `bin/` first, then in their real folders. Host names in pages don't
//! exist; they are replaced by addresses of the stage's processes.

mod github;
mod kinds;
mod names;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use tempfile::TempDir;

use crate::installation::Installation;
use crate::pages::root;
use crate::shell::Shell;
use names::{Ports, Role};

/// A scenario's surroundings, removed when it ends.
pub(crate) struct Stage {
    pub(crate) shell: Shell,
    /// Texts of pages, and what replaces them here.
    names: Vec<(String, String)>,
    folder: TempDir,
    _cluster: Option<Cluster>,
    _databases: Vec<Installation>,
}

/// The double, which ends when its input is closed.
struct Cluster(Child);

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        self.0.wait().ok();
    }
}

/// Why a scenario cannot be run on this machine.
pub(crate) struct Absent(pub(crate) &'static str);

impl Stage {
    /// Sets one up. Panics if the kind does not exist.
    pub(crate) fn set(kind: &str) -> Result<Stage, Absent> {
        kinds::set(kind)
    }

    /// A page's text with its names replaced.
    pub(crate) fn substitute(&self, text: &str) -> String {
        let names = self.names.iter();
        names.fold(text.to_owned(), |text, (shown, here)| {
            text.replace(shown, here)
        })
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Runs a command that must succeed before the page's first command.
    fn prepare(&mut self, command: &str) -> String {
        let answer = self.shell.run(command);
        assert_eq!(answer.code, 0, "{command}: {}", answer.said);
        answer.said
    }
}

/// An empty folder with a repository at `repos/acme/site` and another at `site`.
fn folder() -> TempDir {
    let mut folder = tempfile::Builder::new();
    let folder = folder.prefix("archway-docs-").tempdir_in("/tmp").unwrap();
    for name in ["helm", "deploy", "docker-compose.yml"] {
        symlink(root().join(name), folder.path().join(name)).unwrap();
    }
    for site in ["repos/acme/site", "site"] {
        repository(&folder.path().join(site));
    }
    for role in ["gateway", "worker"] {
        fs::write(folder.path().join(format!("{role}.pw")), "correct-horse\n").unwrap();
    }
    folder
}

fn repository(installation: &Path) {
    fs::create_dir_all(installation.join("src")).unwrap();
    fs::write(
        installation.join("src/greeting.txt"),
        "the word is sesame\n",
    )
    .unwrap();
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-C", installation.to_str().unwrap(), "-c", "user.name=a"]);
        git.args(["-c", "user.email=a@example.com"]).args(arguments);
        git.env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1");
        let done = git.output().unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    git(&["init", "--quiet", "--initial-branch=main"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "--message=first"]);
}

/// A shell in a folder, whose environment has only what these tests need.
fn shell(folder: &Path, ports: &Ports, variables: &[(&str, String)]) -> Shell {
    let mut bash = Command::new("bash");
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let ours = text.starts_with("ARCHWAY_") && !text.starts_with("ARCHWAY_TEST_");
        if ours || text.starts_with("OTEL_") || text.starts_with("PG") {
            bash.env_remove(name);
        }
    }
    bash.current_dir(folder).env("HOME", folder);
    bash.env("PATH", programs());
    bash.env("DOCS_ARCHWAY", env!("CARGO_BIN_EXE_archway"));
    bash.env("DOCS_ROOT", root()).env("DOCS_STAGE", folder);
    bash.env("DOCS_PORT", ports.of(Role::Dev).to_string());
    for (name, role) in [
        ("ARCHWAY_LISTEN", Role::Gateway),
        ("ARCHWAY_ADMIN_LISTEN", Role::GatewayAdmin),
        ("ARCHWAY_WORKER_LISTEN", Role::Worker),
        ("ARCHWAY_WORKER_ADMIN_LISTEN", Role::WorkerAdmin),
        ("ARCHWAY_SYNC_ADMIN_LISTEN", Role::SyncAdmin),
        ("ARCHWAY_HOOKS_LISTEN", Role::Hooks),
    ] {
        bash.env(name, format!("127.0.0.1:{}", ports.of(role)));
    }
    for (name, value) in variables {
        bash.env(name, value);
    }
    Shell::start(bash)
}

/// The stand-ins first, then PostgreSQL's programs: those in PATH may be of another version.
fn programs() -> String {
    let stand_ins = root().join("cli/tests/docs/bin");
    let path = std::env::var_os("PATH").unwrap();
    let path = path.to_str().unwrap();
    format!(
        "{}:{}:{path}",
        stand_ins.display(),
        postgres_bin().display()
    )
}

fn postgres_bin() -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let versions = versions.map(|it| it.unwrap().path().join("bin"));
    versions.max().unwrap_or_default()
}
