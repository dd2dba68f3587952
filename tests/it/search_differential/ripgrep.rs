//! ripgrep, run as a process, and its parsed output.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::Command,
};

use super::patterns::SearchQuery;

/// A matching line.
#[derive(Debug, PartialEq)]
pub(super) struct Line {
    pub(super) path: String,
    pub(super) number: u64,
    pub(super) text: String,
}

impl Line {
    /// Whether our tools show the line as it is: not truncated, escaped or replaced.
    pub(super) fn is_plain(&self) -> bool {
        self.text.len() <= 1000
            && self
                .text
                .chars()
                .all(|c| c == '\t' || (!c.is_control() && c.is_alphanumeric()) || c.is_ascii())
    }
}

/// ripgrep in one folder.
pub(super) struct Ripgrep {
    pub(super) program: PathBuf,
    pub(super) folder: PathBuf,
}

impl Ripgrep {
    /// The files that it would search without globs.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        let paths = self
            .paths(None)
            .into_iter()
            .filter(|path| !is_blocked(path));
        paths.map(|path| self.folder.join(path)).collect()
    }

    /// The number of files in scope of a query.
    pub(super) fn searched(&self, query: &SearchQuery, excluded: fn(&str) -> bool) -> usize {
        self.about(query, excluded).len()
    }

    /// The lines that match, by path and number.
    pub(super) fn search(&self, query: &SearchQuery, excluded: fn(&str) -> bool) -> Vec<Line> {
        let about = self.about(query, excluded);
        let mut command = self.command();
        command.args([
            "--line-number",
            "--no-heading",
            "--with-filename",
            "--null",
            "--crlf",
        ]);
        command.args(["--color=never", "--no-messages"]);
        if !query.is_regex {
            command.arg("--fixed-strings");
        }
        command.arg(if query.case_sensitive {
            "--case-sensitive"
        } else {
            "--ignore-case"
        });
        command.args(["-e", &query.pattern, "./"]);
        let mut lines: Vec<Line> = self.run(command).split('\n').filter_map(parse).collect();
        lines.retain(|line| about.contains(&line.path));
        lines.sort_by(|a, b| by_component(&a.path, &b.path).then(a.number.cmp(&b.number)));
        lines
    }

    /// A glob overrides .gitignore in ripgrep but not in Archway: hence both lists.
    fn about(&self, query: &SearchQuery, excluded: fn(&str) -> bool) -> BTreeSet<String> {
        let mut paths = self.paths(None);
        if let Some(glob) = query.glob {
            let fitting = self.paths(Some(glob));
            paths.retain(|path| fitting.contains(path));
        }
        paths.retain(|path| !is_blocked(path) && !excluded(path));
        paths
    }

    fn paths(&self, glob: Option<&str>) -> BTreeSet<String> {
        let mut command = self.command();
        command.args(["--files", "--null"]);
        if let Some(glob) = glob {
            command.args(["--glob", glob]);
        }
        command.arg("./");
        self.run(command)
            .split('\0')
            .filter(|path| !path.is_empty())
            .map(|path| path.trim_start_matches("./").to_owned())
            .collect()
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir(&self.folder);
        command.args([
            "--no-config",
            "--hidden",
            "--no-ignore-dot",
            "--no-ignore-global",
        ]);
        command.args(["--no-ignore-parent", "--no-require-git"]);
        command
    }

    fn run(&self, mut command: Command) -> String {
        let output = command.output().expect("ripgrep runs");
        // 1 means no match.
        let known = output.status.code().is_some_and(|code| code <= 1);
        assert!(
            known,
            "{command:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

fn parse(line: &str) -> Option<Line> {
    let (path, rest) = line.split_once('\0')?;
    let (number, text) = rest.split_once(':')?;
    Some(Line {
        path: path.trim_start_matches("./").to_owned(),
        number: number.parse().ok()?,
        text: text.trim_end_matches('\r').to_owned(),
    })
}

fn by_component(a: &str, b: &str) -> std::cmp::Ordering {
    a.split('/').cmp(b.split('/'))
}

/// Whether the path rules block a path, as far as these trees need.
fn is_blocked(path: &str) -> bool {
    path.split('/').any(|name| {
        let name = name.to_ascii_lowercase();
        name == ".git" || name == "node_modules" || name.starts_with("secrets")
    }) || Path::new(path)
        .extension()
        .is_some_and(|extension| extension == "key" || extension == "pem")
}

/// What the repo contract excludes from `search_files`.
pub(super) fn excluded_by_search(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let file = ["package-lock.json", "yarn.lock"].contains(&name)
        || [".min.js", ".min.css", ".map"]
            .iter()
            .any(|end| name.ends_with(end));
    file || beneath(path, &["node_modules", ".git", "dist", "build"])
}

/// What the context contract excludes from `grep_codebase`.
pub(super) fn excluded_by_grep(path: &str) -> bool {
    beneath(
        path,
        &["node_modules", ".git", "dist", "build", ".next", ".context"],
    )
}

fn beneath(path: &str, folders: &[&str]) -> bool {
    let mut names: Vec<&str> = path.split('/').collect();
    names.pop();
    names.iter().any(|name| folders.contains(name))
}
