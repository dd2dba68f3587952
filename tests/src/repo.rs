//! Builder of a project's folder: files, links and commits, in the given order.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use crate::{GeneratedHistory, git};

/// The steps that make a project's folder. Without [`Repo::commit`] the folder has no git repository.
#[derive(Clone, Debug, Default)]
pub struct Repo {
    steps: Vec<Step>,
}

#[derive(Clone, Debug)]
enum Step {
    File(String, Vec<u8>),
    Link(String, String),
    CopyOf(PathBuf),
    CloneOf(PathBuf),
    History(GeneratedHistory),
    Commit(String),
}

impl Repo {
    /// An empty folder.
    pub fn new() -> Repo {
        Repo::default()
    }

    /// Writes a file and creates its parent folders.
    pub fn file(self, path: &str, content: impl AsRef<[u8]>) -> Repo {
        self.step(Step::File(path.to_owned(), content.as_ref().to_owned()))
    }

    /// Writes many files.
    pub fn files<'a>(self, files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Repo {
        files
            .into_iter()
            .fold(self, |repo, (path, content)| repo.file(path, content))
    }

    /// Creates a symbolic link from `path` to `target`.
    pub fn link(self, path: &str, target: &str) -> Repo {
        self.step(Step::Link(path.to_owned(), target.to_owned()))
    }

    /// Copies the files of the work tree `original` that git tracks or would track.
    pub fn copy_of(self, original: &Path) -> Repo {
        self.step(Step::CopyOf(original.to_owned()))
    }

    /// Clones the repository `original` with all branches and tags.
    pub fn clone_of(self, original: &Path) -> Repo {
        self.step(Step::CloneOf(original.to_owned()))
    }

    /// Generates a history.
    pub fn history(self, history: GeneratedHistory) -> Repo {
        self.step(Step::History(history))
    }

    /// Commits all files. The first commit creates the git repository.
    pub fn commit(self) -> Repo {
        self.commit_as("a commit")
    }

    /// Commits all files with this message.
    pub fn commit_as(self, message: &str) -> Repo {
        self.step(Step::Commit(message.to_owned()))
    }

    fn step(mut self, step: Step) -> Repo {
        self.steps.push(step);
        self
    }

    /// Runs the steps in `folder`, which it creates.
    pub fn build(&self, folder: &Path) {
        fs::create_dir_all(folder).unwrap();
        for step in &self.steps {
            match step {
                Step::File(path, content) => write(&folder.join(path), content),
                Step::Link(path, target) => {
                    make_parent(&folder.join(path));
                    symlink(target, folder.join(path)).unwrap();
                }
                Step::CopyOf(original) => copy(original, folder),
                Step::CloneOf(original) => {
                    let original = original.to_str().expect("a path of UTF-8");
                    git(folder, &["clone", "--quiet", "--no-local", original, "."]);
                }
                Step::History(history) => history.build(folder),
                Step::Commit(message) => commit(folder, message),
            }
        }
    }
}

fn write(path: &Path, content: &[u8]) {
    make_parent(path);
    fs::write(path, content).unwrap();
}

fn make_parent(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
}

fn commit(folder: &Path, message: &str) {
    if !folder.join(".git").exists() {
        git(folder, &["init", "--quiet"]);
    }
    git(folder, &["add", "--all"]);
    git(
        folder,
        &["commit", "--quiet", "--allow-empty", "--message", message],
    );
}

fn copy(original: &Path, folder: &Path) {
    let list = [
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ];
    for path in git(original, &list)
        .split('\0')
        .filter(|path| !path.is_empty())
    {
        let from = original.join(path);
        if from.is_file() {
            write(&folder.join(path), &fs::read(from).unwrap());
        }
    }
}
