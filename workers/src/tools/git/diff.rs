//! `git_diff`: the differences between two revisions, or between one and the work tree.
//!
//! A patch begins with its first `@@`. `git apply` accepts it after these lines, which follow from
//! the entry's other fields: `diff --git a/old b/new`, then `old mode`/`new mode`, `new file mode`
//! or `deleted file mode`, then `rename from`/`rename to`, then `--- a/old`, `+++ b/new`
//! (`/dev/null` for a file that does not exist). In a `type_changed` entry, the part before the
//! last hunk header with `-0,0` deletes the old file, and the rest adds the new one.

// In the order of the steps of a call.
mod measure;
mod answer;
mod markdown;

use archway_history::{Change, Comparison, Histories, History};
use archway_proto::{failure::Failure, fault::Fault};
use archway_repo::{Cancel, Kind, Repo, RepoPath, Rules};
use gix::ObjectId;
use schemars::JsonSchema;
use serde::Deserialize;

use self::answer::GitDiffAnswer;
use self::measure::{DiffOptions, MeasuredDiff};
use super::not_found_notes;
use crate::blocking::Load;
use crate::tools::{Reply, Tool, ToolContext};

/// The name of the work tree in titles.
const WORK_TREE: &str = "working tree";

/// Compares revisions, with patches.
pub(in crate::tools) struct GitDiff;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tools) struct GitDiffArgs {
    /// Revision to compare from: sha, branch, tag, "HEAD~3". Default HEAD.
    #[schemars(length(max = 256))]
    ref1: Option<String>,
    /// Revision to compare to; without it, the working tree.
    #[schemars(length(max = 256))]
    ref2: Option<String>,
    /// Only this file (by its new or old name) or folder.
    #[schemars(length(min = 1, max = 4096))]
    file_path: Option<String>,
    /// List files with counts only, no patches.
    #[serde(default)]
    summary: bool,
    /// Unchanged lines around each change.
    #[serde(default = "default_context")]
    #[schemars(range(min = 0, max = 100))]
    context_lines: u32,
    /// Project slug.
    #[schemars(length(min = 1, max = 63))]
    project: Option<String>,
}

fn default_context() -> u32 {
    3
}

impl Tool for GitDiff {
    const NAME: &'static str = "git_diff";
    const TITLE: &'static str = "Compare revisions";
    const DESCRIPTION: &'static str = "What differs between two commits, branches or tags, or \
        between one and the working tree (uncommitted changes by default): files, renames, \
        counts and patches; only counts if over 1,000 lines changed. A commit's own change is \
        ref1 \"X~1\", ref2 \"X\"; for who changed what when, use git_log.";
    const FAMILY: &'static str = "git";
    const PER_MINUTE: Option<u32> = None;
    const WEIGHT: u32 = 5;
    const ASKS_FOR_MORE: &'static [(&'static str, u64)] = &[("file_path", 0), ("context_lines", 3)];
    const UNTRUSTED: bool = true;
    type Args = GitDiffArgs;
    type Output = GitDiffAnswer;

    fn load(_: &Self::Args) -> Load {
        Load::Heavy
    }

    async fn run(cx: &ToolContext, args: GitDiffArgs) -> Result<Reply<GitDiffAnswer>, Failure> {
        let GitDiffArgs { ref1, ref2, .. } = args;
        let compared = ComparedRevisions::parse(ref1, ref2)?;
        let project = cx.project(args.project.as_deref()).await?;
        let path = args.file_path.as_deref().map(RepoPath::parse).transpose()?;
        let call = Call {
            compared,
            path,
            options: DiffOptions {
                summary: args.summary,
                context: args.context_lines,
                budget: cx.max_result_bytes(),
            },
            histories: cx.histories(),
        };
        let read = move |repo: &Repo, cancel: &Cancel| call.answer(repo, cancel);
        let snapshot = cx.read(&project, read).await?;
        let (answer, markdown) = &snapshot.value;
        let (markdown, shown) = (markdown.clone(), answer.shown());
        let reply = Reply::from_snapshot(snapshot, |(answer, _)| answer);
        Ok(reply.markdown(markdown).of_files(shown))
    }
}

/// The two states to compare, as requested.
#[derive(Clone, Debug)]
struct ComparedRevisions {
    /// `None` means HEAD.
    base: Option<String>,
    /// `None` means the work tree.
    head: Option<String>,
}

impl ComparedRevisions {
    fn parse(ref1: Option<String>, ref2: Option<String>) -> Result<ComparedRevisions, Failure> {
        let given = |text: Option<String>| text.filter(|text| !text.is_empty());
        let (base, head) = (given(ref1), given(ref2));
        if base.is_none() && head.is_some() {
            return Err(Failure::new(
                Fault::InvalidArguments,
                "ref2 is given without ref1",
                "give both, or ref1 alone to compare it with the working tree",
            ));
        }
        Ok(ComparedRevisions { base, head })
    }

    fn title(&self) -> String {
        let base = self.base.as_deref().unwrap_or("HEAD");
        let head = self.head.as_deref().unwrap_or(WORK_TREE);
        format!("{base}...{head}")
    }
}

/// One call, as it runs on a blocking thread.
struct Call {
    compared: ComparedRevisions,
    path: Option<RepoPath>,
    options: DiffOptions,
    histories: Histories,
}

impl Call {
    /// Returns the answer as data and as markdown.
    fn answer(&self, repo: &Repo, cancel: &Cancel) -> Result<(GitDiffAnswer, String), Failure> {
        let measured = self.measure(repo, cancel)?;
        Ok(measured.fit(&self.compared.title(), self.options.budget))
    }

    fn measure(&self, repo: &Repo, cancel: &Cancel) -> Result<MeasuredDiff, Failure> {
        let rules = repo.rules();
        if let Some(path) = &self.path {
            rules.admit(path, path, Kind::Directory)?;
        }
        let history = History::of(repo, &self.histories, cancel)?;
        if self.compared.head.is_none() && repo.is_bare() {
            return Err(no_work_tree());
        }
        let base = match &self.compared.base {
            Some(revision) => Some(history.resolve(revision, cancel)?),
            None => history.head(),
        };
        let head = match &self.compared.head {
            Some(revision) => Some(history.resolve(revision, cancel)?),
            None => None,
        };
        let comparison = self.compare(&history, repo, (base, head), cancel)?;
        let all = comparison.changes.files.as_slice();
        let changes = match &self.path {
            Some(path) => Self::changes_of(all, path, &rules)?,
            None => all.iter().collect(),
        };
        let mut measured = measure::all(&comparison, &changes, &self.options, cancel)?;
        if let Some(path) = self.path.as_ref().filter(|_| changes.is_empty()) {
            let commits: Vec<ObjectId> = head.into_iter().chain(base).collect();
            let mut note = not_found_notes::of_path(&history, path, &commits, cancel)?;
            if let (Some(note), None) = (&mut note, head) {
                note.push_str(" Files that are not tracked are left out.");
            }
            measured.not_found_note = note;
        }
        measured.base = base.map(|id| id.to_string());
        measured.head = head.map(|id| id.to_string());
        Ok(measured)
    }

    /// The changes of the requested file, or beneath the requested folder. A folder may have a name
    /// that is blocked for files, so such a path is denied only if nothing in it changed.
    fn changes_of<'c>(
        changes: &'c [Change],
        path: &RepoPath,
        rules: &Rules,
    ) -> Result<Vec<&'c Change>, Failure> {
        let found = measure::changes_of(changes, path);
        if found.is_empty() {
            rules.admit(path, path, Kind::File)?;
        }
        Ok(found)
    }

    fn compare<'h>(
        &self,
        history: &'h History,
        repo: &Repo,
        (base, head): (Option<ObjectId>, Option<ObjectId>),
        cancel: &Cancel,
    ) -> Result<Comparison<'h>, Failure> {
        let tree = |id: Option<ObjectId>| id.map(|id| history.node(id)).transpose();
        let old = tree(base)?.map(|commit| commit.tree);
        Ok(match &self.compared.head {
            Some(_) => {
                let new = tree(head)?.map(|commit| commit.tree);
                history.compare(old, new, cancel)?
            }
            None => history.compare_with_work_tree(repo, old, cancel)?,
        })
    }
}

fn no_work_tree() -> Failure {
    Failure::new(
        Fault::InvalidArguments,
        "the project is a bare repository: it has no working tree to compare with",
        "give ref1 and ref2, such as \"HEAD~1\" and \"HEAD\"",
    )
}
