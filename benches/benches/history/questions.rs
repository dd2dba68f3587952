//! What both are asked: the same, in our words and in git's.

use serde_json::{Value, json};

use crate::git::Git;

/// So many files are looked at for the ones to ask about.
const LOOKED_AT: usize = 150;
/// The commit before.
const BEFORE: &str = "HEAD~1";

/// One question.
pub(crate) struct Question {
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
    /// So many pages are asked for.
    pub(crate) pages: usize,
    /// Arguments of git.
    pub(crate) git: Vec<String>,
}

impl Question {
    /// One that only we are asked.
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

/// All of them.
pub(crate) struct Questions {
    /// By kind, in the order of the bench's table.
    kinds: [Vec<Question>; 4],
    /// Blames of the same files one commit before: none of the others.
    untimed: Vec<Question>,
}

impl Questions {
    /// So many of each kind.
    pub(crate) fn about(git: &Git, count: usize) -> Questions {
        let mut files = by_age(git);
        let newest = files.split_off(files.len() / 2);
        let old = files.iter().take(count);
        let long = longest(git, newest, count);
        Questions {
            kinds: [
                logs(git, count),
                old.map(|file| old_file(file)).collect(),
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

    /// Some that take long: of each tool one.
    pub(crate) fn long(&self) -> [Question; 3] {
        let [_, _, blames, diffs] = &self.kinds;
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

    /// Blames that are in no list that is timed, those of the most lines first.
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

fn old_file(file: &str) -> Question {
    Question::new(
        "git_log",
        json!({ "file_path": file, "max_count": 10 }),
        ["log", "-10", "--name-status", "-M", "HEAD", "--", file],
    )
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

/// Tags that stand some way apart.
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

/// Some text files of HEAD, those first that were not changed for longest.
fn by_age(git: &Git) -> Vec<String> {
    let files = git.lines(&["grep", "-I", "--name-only", "-e", "", "HEAD"]);
    let names: Vec<&str> = files
        .iter()
        .filter_map(|file| file.strip_prefix("HEAD:"))
        .filter(|file| file.is_ascii() && !file.contains('"'))
        .collect();
    let step = (names.len() / LOOKED_AT).max(1);
    let mut aged: Vec<(i64, String)> = names
        .iter()
        .step_by(step)
        .map(|file| {
            let time = git.lines(&["log", "-1", "--format=%ct", "HEAD", "--", file]);
            (time[0].parse().expect("seconds"), (*file).to_owned())
        })
        .collect();
    aged.sort();
    aged.into_iter().map(|(_, file)| file).collect()
}

/// Those with the most lines first.
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
