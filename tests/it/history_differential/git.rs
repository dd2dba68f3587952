//! git, run as a process.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    io::Write,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

pub(super) use super::output::{ChangedFile, CommitText, FileDifference, LoggedCommit};
use super::output::{read_diff, read_log, text, tokens};

/// Pathspecs that hide from git what the path rules block in these histories.
const BLOCKED: [&str; 3] = [
    ".",
    ":(exclude,icase,glob)**/secrets*",
    ":(exclude,icase,glob)**/secrets*/**",
];

/// Whether Archway hides this path.
pub(super) fn is_blocked(path: &[u8]) -> bool {
    path.split(|&byte| byte == b'/').any(|name| {
        let name = name.to_ascii_lowercase();
        name.starts_with(b"secrets")
    })
}

/// git in one folder.
pub(super) struct Git {
    folder: PathBuf,
}

impl Git {
    pub(super) fn of(folder: PathBuf) -> Git {
        Git { folder }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Every commit reachable from a branch or tag.
    pub(super) fn commits(&self) -> Vec<String> {
        self.lines(&["rev-list", "--branches", "--tags", "--remotes", "HEAD"])
    }

    /// Branches and tags, by the names that a user would type.
    pub(super) fn names(&self) -> Vec<String> {
        let names = [
            "for-each-ref",
            "--format=%(refname:short)",
            "refs/heads",
            "refs/tags",
        ];
        self.lines(&names)
    }

    /// The commit of a revision, if it names one.
    pub(super) fn commit(&self, revision: &str) -> Option<String> {
        let revision = format!("{revision}^{{commit}}");
        let ask = [
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &revision,
        ];
        let output = self.command(&ask).output().expect("git runs");
        output
            .status
            .success()
            .then(|| text(&output.stdout).trim().to_owned())
    }

    /// Every path that any commit has had.
    pub(super) fn paths(&self) -> Vec<Vec<u8>> {
        let names = self.run(&[
            "log",
            "--all",
            "-m",
            "--format=",
            "--name-only",
            "-z",
            "--no-renames",
        ]);
        let mut paths: Vec<Vec<u8>> = tokens(&names).map(<[u8]>::to_vec).collect();
        paths.sort();
        paths.dedup();
        paths.retain(|path| !is_blocked(path));
        paths
    }

    /// The regular files of a commit.
    pub(super) fn files(&self, commit: &str) -> Vec<Vec<u8>> {
        let list = self.run(&["ls-tree", "-r", "-z", commit]);
        let files = tokens(&list).filter(|entry| entry.starts_with(b"100"));
        let paths = files.map(|entry| {
            entry
                .splitn(2, |&byte| byte == b'\t')
                .nth(1)
                .unwrap()
                .to_vec()
        });
        paths.filter(|path| !is_blocked(path)).collect()
    }

    /// The content of a file in a commit.
    pub(super) fn content(&self, commit: &str, path: &[u8]) -> Vec<u8> {
        let object = [commit.as_bytes(), b":", path].concat();
        self.run(&[
            OsStr::new("cat-file"),
            OsStr::new("blob"),
            OsStr::from_bytes(&object),
        ])
    }

    /// Author and message of every commit.
    pub(super) fn said(&self) -> BTreeMap<String, CommitText> {
        let format = "--format=%H%x02%an%x02%ae%x02%at%x02%B";
        let all = self.run(&["log", "--all", "-z", format]);
        let commits = tokens(&all).map(|commit| {
            let fields: Vec<String> = commit.splitn(5, |&byte| byte == 2).map(text).collect();
            let [sha, author, email, seconds, message] = fields.try_into().unwrap();
            let said = CommitText {
                author,
                email,
                seconds: seconds.parse().unwrap(),
                message: message.trim().to_owned(),
            };
            (sha, said)
        });
        commits.collect()
    }

    /// A log with these arguments and the files of each commit. Blocked files are left out.
    pub(super) fn log(&self, arguments: &[&OsStr]) -> Vec<LoggedCommit> {
        let mut log = self.log_as_it_is(arguments);
        for commit in &mut log {
            let named = commit
                .files
                .iter()
                .flat_map(|file| [Some(&file.path), file.old_path.as_ref()]);
            if named.flatten().any(|path| is_blocked(path)) {
                commit.files = self.files_of(&commit.sha, b".");
            }
        }
        log
    }

    /// The log of a folder, without commits that only touch blocked paths. The changes of merges are
    /// queried separately: asked to show them, git would list merges that it otherwise simplifies away.
    pub(super) fn log_of_folder(&self, arguments: &[&OsStr], folder: &[u8]) -> Vec<LoggedCommit> {
        let mut arguments = arguments.to_vec();
        arguments.extend([OsStr::new("--"), OsStr::from_bytes(folder)]);
        arguments.extend(BLOCKED[1..].iter().map(OsStr::new));
        let mut log = self.log_as_it_is(&arguments);
        for commit in log.iter_mut().filter(|commit| commit.files.is_empty()) {
            commit.files = self.files_of(&commit.sha, folder);
        }
        log
    }

    /// Like [`Git::log`], with blocked paths.
    pub(super) fn log_as_it_is(&self, arguments: &[&OsStr]) -> Vec<LoggedCommit> {
        let mut command = self.command(&["log", "-z", "--name-status", "-M", "--format=%x01%H"]);
        read_log(&run(command.args(arguments)))
    }

    /// The changes of a commit in a folder against its first parent, without blocked paths.
    fn files_of(&self, commit: &str, folder: &[u8]) -> Vec<ChangedFile> {
        let show = [
            "show",
            "-z",
            "--name-status",
            "-M",
            "--diff-merges=first-parent",
            "--format=%x01%H",
        ];
        let mut command = self.command(&show);
        let log = read_log(&run(command
            .args([commit, "--"])
            .arg(OsStr::from_bytes(folder))
            .args(&BLOCKED[1..])));
        log.into_iter()
            .next()
            .map(|commit| commit.files)
            .unwrap_or_default()
    }

    /// The differences between the sides that the arguments name.
    pub(super) fn diff(&self, between: &[&str]) -> Vec<FileDifference> {
        let mut command = self.command(&["diff", "--raw", "--numstat", "-z", "-M", "--no-abbrev"]);
        let output = run(command.args(between).arg("--").args(BLOCKED));
        read_diff(&output)
    }

    /// The commit of each line of a file, or of a range of its lines.
    pub(super) fn blame(
        &self,
        commit: &str,
        path: &[u8],
        range: Option<(usize, usize)>,
    ) -> Vec<String> {
        let mut command = self.command(&["blame", "--porcelain"]);
        if let Some((start, end)) = range {
            command.arg(format!("-L{start},{end}"));
        }
        let output = run(command.arg(commit).arg("--").arg(OsStr::from_bytes(path)));
        let mut lines = Vec::new();
        let mut sha = String::new();
        for line in output.split(|&byte| byte == b'\n') {
            match line.first() {
                Some(b'\t') => lines.push(sha.clone()),
                _ if line
                    .iter()
                    .take_while(|byte| byte.is_ascii_hexdigit())
                    .count()
                    == 40 =>
                {
                    sha = text(&line[..40]);
                }
                _ => {}
            }
        }
        lines
    }

    /// The output of this command.
    pub(super) fn run(&self, arguments: &[impl AsRef<OsStr>]) -> Vec<u8> {
        run(&mut self.command(arguments))
    }

    /// The output of this command, or nothing if it fails.
    pub(super) fn try_run(&self, arguments: &[impl AsRef<OsStr>]) -> Option<Vec<u8>> {
        let output = self.command(arguments).output().expect("git runs");
        output.status.success().then_some(output.stdout)
    }

    /// Runs a command with this input. Returns its output, or its error.
    pub(super) fn feed(
        &self,
        index: &Path,
        arguments: &[&str],
        input: &[u8],
    ) -> Result<Vec<u8>, String> {
        let mut command = self.command(arguments);
        command.env("GIT_INDEX_FILE", index);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("git runs");
        let mut stdin = child.stdin.take().expect("stdin is piped");
        // git may refuse before it has read all of it.
        stdin.write_all(input).ok();
        drop(stdin);
        let output = child.wait_with_output().expect("git ends");
        match output.status.success() {
            true => Ok(output.stdout),
            false => Err(text(&output.stderr)),
        }
    }

    fn lines(&self, arguments: &[&str]) -> Vec<String> {
        text(&self.run(arguments))
            .lines()
            .map(str::to_owned)
            .collect()
    }

    fn command(&self, arguments: &[impl AsRef<OsStr>]) -> Command {
        let mut command = Command::new("git");
        command.current_dir(&self.folder).args(arguments);
        command
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1");
        command
    }
}

fn run(command: &mut Command) -> Vec<u8> {
    let output = command.output().expect("git runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
    output.stdout
}
