//! What an installation consists of.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::generate;

/// The parts of a [`Stack`](crate::Stack).
#[derive(Clone, Debug)]
pub struct Layout {
    /// Slugs of tenants. Each gets the project `site`.
    pub tenants: Vec<String>,
    /// How many of the tenants, from the first, get a key.
    pub keys: usize,
    /// The content of each project.
    pub project: Project,
    /// How many gateways.
    pub gateways: usize,
    /// How many workers, all in the shared pool.
    pub workers: usize,
    /// The cores of gateways and workers, as `taskset --cpu-list` takes them; `None` for all.
    pub cores: Option<String>,
    /// Additional arguments of every gateway.
    pub gateway_arguments: Vec<String>,
    /// Additional arguments of every worker.
    pub worker_arguments: Vec<String>,
}

/// The content of a project.
#[derive(Clone, Debug)]
pub enum Project {
    /// This many generated files of about 4 KiB.
    Generated(usize),
    /// A bare clone of as many.
    GeneratedMirror(usize),
    /// A clone of the last commit of a repository on this machine.
    CloneOf(PathBuf),
    /// A bare clone of the last commit of a repository on this machine.
    MirrorOf(PathBuf),
}

impl Default for Layout {
    /// One tenant with a key and an empty repository, a gateway and a worker.
    fn default() -> Layout {
        Layout {
            tenants: vec!["bench".to_owned()],
            keys: usize::MAX,
            project: Project::Generated(1),
            gateways: 1,
            workers: 1,
            cores: None,
            gateway_arguments: Vec::new(),
            worker_arguments: Vec::new(),
        }
    }
}

impl Project {
    /// Makes the same project in each of these folders: the others are copies of the first.
    pub(crate) fn make(&self, mut folders: impl Iterator<Item = PathBuf>) {
        let Some(first) = folders.next() else {
            return;
        };
        self.make_one(&first);
        for folder in folders {
            fs::create_dir_all(folder.parent().expect("a tenant's folder")).expect("a folder");
            let done = Command::new("cp")
                .arg("-r")
                .args([&first, &folder])
                .status();
            assert!(done.expect("cp runs").success(), "{}", folder.display());
        }
    }

    fn make_one(&self, folder: &Path) {
        match self {
            Project::Generated(files) => generate(folder, *files),
            Project::GeneratedMirror(files) => {
                let source = tempfile::tempdir().expect("a folder");
                generate(source.path(), *files);
                clone(source.path(), &["--bare"], folder);
            }
            Project::CloneOf(repository) => clone(repository, &[], folder),
            Project::MirrorOf(repository) => clone(repository, &["--bare"], folder),
        }
    }
}

/// Clones the last commit of a repository.
fn clone(repository: &Path, arguments: &[&str], folder: &Path) {
    let from = format!("file://{}", repository.display());
    let mut clone = Command::new("git");
    clone.args(["clone", "--quiet", "--depth", "1"]);
    let done = clone
        .args(arguments)
        .args([from.as_ref(), folder.as_os_str()]);
    let done = done.status().expect("git runs");
    assert!(done.success(), "{clone:?}");
}
