//! The git command: its answers and its cost.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use archway_benches::Usage;

use crate::questions::Question;

/// git in a separate clone, with a commit-graph and Bloom filters.
pub(crate) struct Git {
    folder: PathBuf,
}

impl Git {
    /// Clones `repo` into `folder`, sharing its objects.
    pub(crate) fn beside(repo: &Path, folder: &Path) -> Git {
        let clone = ["clone", "--quiet", "--no-checkout", "--bare"];
        let mut command = Command::new("git");
        command.args(clone).arg(repo).arg(folder);
        assert!(command.status().expect("git runs").success());
        let git = Git {
            folder: folder.to_owned(),
        };
        git.run(&[
            "commit-graph",
            "write",
            "--reachable",
            "--changed-paths",
            "--no-progress",
        ]);
        git
    }

    pub(crate) fn count_commits(&self) -> usize {
        self.lines(&["rev-list", "--all"]).len()
    }

    pub(crate) fn count_files(&self) -> usize {
        self.lines(&["ls-tree", "-r", "--name-only", "HEAD"]).len()
    }

    /// The output lines of a command.
    pub(crate) fn lines(&self, arguments: &[&str]) -> Vec<String> {
        let output = self.run(arguments);
        String::from_utf8_lossy(&output)
            .lines()
            .map(str::to_owned)
            .collect()
    }

    /// Whether the commit has this file.
    pub(crate) fn has(&self, revision: &str, file: &str) -> bool {
        !self.lines(&["ls-tree", revision, "--", file]).is_empty()
    }

    /// CPU seconds per question, over all of these.
    pub(crate) fn cpu(&self, questions: &[Question]) -> f64 {
        let before = children_cpu();
        for question in questions {
            let arguments: Vec<&str> = question.git.iter().map(String::as_str).collect();
            self.run(&arguments);
        }
        (children_cpu() - before) / questions.len() as f64
    }

    /// The peak memory of git during a blame. It prints everything at the end, and more than a pipe
    /// buffers, so after the first byte it still runs and can be measured.
    pub(crate) fn peak_mib(&self, question: &Question) -> f64 {
        let mut command = self.command(&["blame", "--line-porcelain"]);
        let mut child: Child = command
            .args(&question.git[2..])
            .stdout(Stdio::piped())
            .spawn()
            .expect("git runs");
        let mut stdout = child.stdout.take().expect("stdout is piped");
        stdout.read_exact(&mut [0]).expect("a first byte");
        let peak = Usage::of(child.id()).peak_mib;
        std::io::copy(&mut stdout, &mut std::io::sink()).expect("the rest");
        child.wait().expect("git ends");
        peak
    }

    fn run(&self, arguments: &[&str]) -> Vec<u8> {
        let output = self.command(arguments).output().expect("git runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {arguments:?}: {said}");
        output.stdout
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        command.current_dir(&self.folder).args(arguments);
        command
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1");
        command
    }
}

/// CPU seconds of all ended child processes, as the kernel reports (a tick is 10 ms).
fn children_cpu() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").expect("a process of its own");
    let fields = stat.rsplit_once(')').expect("a name").1.split_whitespace();
    let ticks: f64 = fields
        .skip(13)
        .take(2)
        .map(|ticks| ticks.parse::<f64>().expect("a number"))
        .sum();
    ticks / 100.0
}
