//! The questions for both: the same, as tool calls and as git commands.

use serde_json::{Value, json};

use crate::git::Git;

/// How many files are considered for questions.
const LOOKED_AT: usize = 150;
/// How many kinds of questions there are.
pub(crate) const KINDS: usize = 6;
/// The kind for blame.
pub(crate) const BLAMES: usize = 4;
/// Logs are fast, so they are asked this many times as often. Otherwise the scan of the work tree, which
/// the first call pays, would dominate.
const LOGS: usize = 5;
/// The parent commit.
const BEFORE: &str = "HEAD~1";

/// One question.
pub(crate) struct Question {
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
    /// How many pages are requested.
    pub(crate) pages: usize,
    /// Arguments for git.
    pub(crate) git: Vec<String>,
}

impl Question {
    /// A question for Archway only.
    pub(crate) fn ours(tool: &'static str, arguments: Value) -> Question {
        Question {
            tool,
            arguments,
            pages: 1,
            git: Vec::new(),
        }
    }

    /// The request's body.
    pub(crate) fn call(&self) -> String {
        let params = json!({ "name": self.tool, "arguments": self.arguments });
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string()
    }

    fn new<const N: usize>(tool: &'static str, arguments: Value, git: [&str; N]) -> Question {
        let git = git.map(str::to_owned).to_vec();
        Question {
            tool,
            arguments,
            pages: 1,
            git,
        }
    }
}

/// All questions.
pub(crate) struct Questions {
    /// By kind, in the order of the bench's table.
    kinds: [Vec<Question>; KINDS],
    /// Blames of the same files at the parent commit, which are in no other list.
    untimed: Vec<Question>,
}

impl Questions {
    /// This many questions of each kind.
    pub(crate) fn about(git: &Git, count: usize) -> Questions {
        let mut files = by_age(git, text_files(git));
        let newest = files.split_off(files.len() / 2);
        // No file is used twice, because its origin would be known by then.
        let (followed, plain) = (files.iter().step_by(2), files.iter().skip(1).step_by(2));
        let long = longest(git, newest, count);
        Questions {
            kinds: [
                logs(git, LOGS * count),
                old_folders(git, count),
                followed
                    .take(count)
                    .map(|file| old_file(file, &["--follow"]))
                    .collect(),
                plain.take(count).map(|file| old_file(file, &[])).collect(),
                long.iter().map(|file| blame(file)).collect(),
                diffs(git, count),
            ],
            untimed: long
                .iter()
                .filter(|file| git.has(BEFORE, file))
                .map(|file| earlier_blame(file))
                .collect(),
        }
    }

    /// Slow questions, one per tool.
    pub(crate) fn long(&self) -> [Question; 3] {
        let [.., blames, diffs] = &self.kinds;
        let blame = blames.last().expect("a blame").arguments.clone();
        let [first, last] =
            [diffs.first(), diffs.last()].map(|diff| &diff.expect("a diff").arguments);
        [
            Question::ours("git_log", json!({ "author": "nobody at all" })),
            Question::ours(
                "git_blame",
                json!({ "file_path": blame["file_path"], "ref": BEFORE }),
            ),
            Question::ours(
                "git_diff",
                json!({ "ref1": first["ref1"], "ref2": last["ref2"] }),
            ),
        ]
    }

    pub(crate) fn of(&self, kind: usize) -> &[Question] {
        &self.kinds[kind]
    }

    /// Blames that are in no timed list, of the files with the most lines first.
    pub(crate) fn untimed_blames(&self) -> &[Question] {
        &self.untimed
    }
}

fn logs(git: &Git, count: usize) -> Vec<Question> {
    let commits = git.lines(&["rev-list", "--first-parent", "HEAD"]);
    let step = (commits.len() / count / 2).max(1);
    let starts = commits.iter().step_by(step).take(count);
    starts
        .map(|commit| {
            let arguments = json!({ "ref": commit, "max_count": 50 });
            let diff = "--diff-merges=first-parent";
            let git = ["log", "-100", "--name-status", "-M", diff, commit];
            Question {
                pages: 2,
                ..Question::new("git_log", arguments, git)
            }
        })
        .collect()
}

/// `more` are further arguments for git.
fn old_file(file: &str, more: &[&str]) -> Question {
    let log = [
        &["log", "-10", "--name-status", "-M"],
        more,
        &["HEAD", "--", file],
    ]
    .concat();
    Question {
        git: log.iter().map(|word| (*word).to_owned()).collect(),
        ..Question::ours("git_log", json!({ "file_path": file, "max_count": 10 }))
    }
}

/// Folders of HEAD, the least recently changed first.
fn old_folders(git: &Git, count: usize) -> Vec<Question> {
    let folders = git.lines(&["ls-tree", "-r", "-d", "--name-only", "HEAD"]);
    let folders = by_age(git, folders);
    let old = folders.iter().take(count);
    old.map(|folder| old_file(folder, &[])).collect()
}

fn blame(file: &str) -> Question {
    Question::new(
        "git_blame",
        json!({ "file_path": file }),
        ["blame", "--porcelain", "HEAD", "--", file],
    )
}

fn earlier_blame(file: &str) -> Question {
    Question::new(
        "git_blame",
        json!({ "file_path": file, "ref": BEFORE }),
        ["blame", "--porcelain", BEFORE, "--", file],
    )
}

/// Tags at some distance from one another.
fn diffs(git: &Git, count: usize) -> Vec<Question> {
    let tags = git.lines(&[
        "for-each-ref",
        "--sort=creatordate",
        "--format=%(refname:short)",
        "refs/tags",
    ]);
    assert!(tags.len() > 2, "the repository has no tags to compare");
    let step = (tags.len() / count).max(1);
    let pairs = tags
        .iter()
        .zip(tags.iter().skip(step))
        .step_by(step)
        .take(count);
    pairs
        .map(|(old, new)| {
            Question::new(
                "git_diff",
                json!({ "ref1": old, "ref2": new }),
                ["diff", "--numstat", "-M", old, new],
            )
        })
        .collect()
}

/// Text files of HEAD.
fn text_files(git: &Git) -> Vec<String> {
    let files = git.lines(&["grep", "-I", "--name-only", "-e", "", "HEAD"]);
    let names = files.iter().filter_map(|file| file.strip_prefix("HEAD:"));
    names.map(str::to_owned).collect()
}

/// Some of these paths of HEAD, the least recently changed first.
fn by_age(git: &Git, mut paths: Vec<String>) -> Vec<String> {
    paths.retain(|path| path.is_ascii() && !path.contains('"'));
    let step = (paths.len() / LOOKED_AT).max(1);
    let mut aged: Vec<(i64, String)> = paths
        .into_iter()
        .step_by(step)
        .map(|path| {
            let time = git.lines(&["log", "-1", "--format=%ct", "HEAD", "--", &path]);
            (time[0].parse().expect("seconds"), path)
        })
        .collect();
    aged.sort();
    aged.into_iter().map(|(_, path)| path).collect()
}

/// Files with the most lines first.
fn longest(git: &Git, files: Vec<String>, count: usize) -> Vec<String> {
    let mut sized: Vec<(usize, String)> = files
        .into_iter()
        .map(|file| {
            let lines = git
                .lines(&["cat-file", "blob", &format!("HEAD:{file}")])
                .len();
            (lines, file)
        })
        .collect();
    sized.sort_by(|a, b| b.cmp(a));
    sized
        .into_iter()
        .map(|(_, file)| file)
        .take(count)
        .collect()
}
