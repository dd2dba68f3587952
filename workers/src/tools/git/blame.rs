//! `git_blame`: which commit last changed each line of a file.

mod page;

use archway_history::{BlamedFile, History, HistoryError};
use archway_proto::{failure::Failure, fault::Fault};
use archway_repo::{Cancel, Kind, Repo, RepoPath};
use gix::ObjectId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::page::{BlamePage, BlamedCommit, BlamedLine};
use super::not_found_notes::near_paths;
use crate::blocking::Load;
use crate::tools::{Reply, Tool, ToolContext, files::near, schema::is_false};

/// Maximum number of lines in one answer.
const MAX_LINES: u32 = 2000;
/// Number of lines that are blamed ahead if more were requested, so that the next pages are fast.
const AHEAD_LINES: u32 = 2000;

/// Shows which commit last changed each line of a file.
pub(in crate::tools) struct GitBlame;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tools) struct BlameArgs {
    /// File path relative to the project root.
    #[schemars(length(min = 1, max = 4096))]
    file_path: String,
    /// First line, from 1.
    #[schemars(range(min = 1))]
    start_line: Option<u64>,
    /// Last line, inclusive.
    #[schemars(range(min = 1))]
    end_line: Option<u64>,
    /// Commit, tag or branch to blame the file at; default HEAD.
    #[serde(rename = "ref")]
    #[schemars(length(min = 1, max = 256))]
    revision: Option<String>,
    /// Project slug; see `list_projects`.
    #[schemars(length(min = 1, max = 63))]
    project: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(in crate::tools) struct BlameAnswer {
    file_path: String,
    lines: Vec<BlamedLine>,
    /// Each commit of `lines` once, in order of first appearance.
    commits: Vec<BlamedCommit>,
    /// Index or work tree differ from HEAD, whose lines these are.
    modified: bool,
    /// Lines of the whole file.
    total_lines: u64,
    /// Continue with `next_start_line`.
    #[serde(default, skip_serializing_if = "is_false")]
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_start_line: Option<u64>,
}

impl Tool for GitBlame {
    const NAME: &'static str = "git_blame";
    const TITLE: &'static str = "Blame a file";
    const DESCRIPTION: &'static str = "Show which commit last changed each line of a file, by whom \
        and when; renames are followed. Give a line range where you can. git_log tells a file's \
        whole history, git_diff what a commit changed.";
    const FAMILY: &'static str = "git";
    const PER_MINUTE: Option<u32> = None;
    const WEIGHT: u32 = 10;
    const ASKS_FOR_MORE: &'static [(&'static str, u64)] = &[("end_line", 0)];
    const UNTRUSTED: bool = true;
    type Args = BlameArgs;
    type Output = BlameAnswer;

    fn load(_: &Self::Args) -> Load {
        Load::Heavy
    }

    async fn run(cx: &ToolContext, args: BlameArgs) -> Result<Reply<BlameAnswer>, Failure> {
        let project = cx.project(args.project.as_deref()).await?;
        let (histories, budget) = (cx.histories(), cx.max_result_bytes());
        let snapshot = cx
            .read(&project, move |repo, cancel| {
                let path = RepoPath::parse(&args.file_path)?;
                repo.rules().admit(&path, &path, Kind::File)?;
                let history = History::of(repo, &histories, cancel)?;
                let revision = args.revision.as_deref();
                let commit = match revision {
                    Some(revision) => Some(history.resolve(revision, cancel)?),
                    None => history.head(),
                };
                let file = tracked_file(&history, commit, &path, revision);
                let file = file.map_err(|error| {
                    let near = || near_files(&history, commit, &path, cancel);
                    with_near_paths(error, repo, &path, near)
                })?;
                let page = page(&history, &file, &args, (budget, cancel))?;
                let modified =
                    args.revision.is_none() && history.is_modified(repo, &file, cancel)?;
                Ok((page, modified))
            })
            .await?;
        let (page, modified) = &snapshot.value;
        let (markdown, path) = (page.markdown(*modified), page.path.clone());
        let reply = Reply::from_snapshot(snapshot, |(page, modified)| BlameAnswer {
            file_path: page.path,
            lines: page.lines,
            commits: page.commits,
            modified,
            total_lines: page.total.into(),
            truncated: page.next.is_some(),
            next_start_line: page.next.map(u64::from),
        });
        Ok(reply.markdown(markdown).of_files([path]))
    }
}

/// Finds the file in a commit: HEAD, unless the caller named a revision.
fn tracked_file(
    history: &History,
    commit: Option<ObjectId>,
    path: &RepoPath,
    revision: Option<&str>,
) -> Result<BlamedFile, HistoryError> {
    let commit = commit.ok_or_else(|| HistoryError::NotTracked {
        path: path.clone(),
        revision: None,
        is_folder: false,
    })?;
    history
        .blamed_file(commit, path)
        .map_err(|error| match error {
            HistoryError::NotTracked {
                path, is_folder, ..
            } => HistoryError::NotTracked {
                path,
                revision: revision.map(str::to_owned),
                is_folder,
            },
            error => error,
        })
}

/// The files of a commit near a path of none.
fn near_files(
    history: &History,
    commit: Option<ObjectId>,
    path: &RepoPath,
    cancel: &Cancel,
) -> Vec<String> {
    let is_file = |kind: Kind| kind == Kind::File;
    commit.map_or_else(Vec::new, |commit| {
        near_paths(history, (commit, path), is_file, &near::briefly(cancel))
    })
}

/// Names near files where the path names nothing, or the submodule that is there today.
fn with_near_paths(
    error: HistoryError,
    repo: &Repo,
    path: &RepoPath,
    near: impl FnOnce() -> Vec<String>,
) -> Failure {
    let is_absent = matches!(
        error,
        HistoryError::NotTracked {
            is_folder: false,
            ..
        }
    );
    let is_of_today = matches!(error, HistoryError::NotTracked { revision: None, .. });
    if is_absent
        && is_of_today
        && let Some(submodule) = repo.submodule(path)
    {
        return submodule.into();
    }
    match is_absent {
        true => near::suggest(error.into(), near()),
        false => error.into(),
    }
}

fn page(
    history: &History,
    file: &BlamedFile,
    args: &BlameArgs,
    (budget, cancel): (usize, &Cancel),
) -> Result<BlamePage, Failure> {
    let total = u32::try_from(file.lines().count()).unwrap_or(u32::MAX);
    let (first, end) = range(args.start_line, args.end_line, total)?;
    let requested = (
        first,
        end.min(first.saturating_add(MAX_LINES + AHEAD_LINES)),
    );
    let blame = history
        .blame(file, requested, cancel)
        .map_err(ask_for_fewer_lines)?;
    let mut page = BlamePage::new(file.path(), total, budget);
    let shown = file.lines().zip(0..).skip(first as usize);
    for (text, line) in shown.take_while(|&(_, line)| line < end) {
        let Some(commit) = blame.of(line).filter(|_| line < first + MAX_LINES) else {
            page.next = Some(line + 1);
            break;
        };
        if !page.add(line + 1, text, commit) {
            page.next = Some(line + 1);
            break;
        }
    }
    Ok(page)
}

/// The requested lines, counted from 0: the first, and one past the last.
fn range(start: Option<u64>, end: Option<u64>, total: u32) -> Result<(u32, u32), Failure> {
    let whole = start.is_none() && end.is_none();
    let (start, end) = (start.unwrap_or(1), end.unwrap_or(total.into()));
    let first = u32::try_from(start.saturating_sub(1))
        .ok()
        .filter(|&first| first < total);
    match first {
        Some(first) if end >= start => {
            let end = u32::try_from(end).unwrap_or(u32::MAX);
            Ok((first, end.min(total)))
        }
        // A file without lines has no valid range, so it gets an empty answer.
        _ if whole => Ok((0, 0)),
        _ => {
            let message = format!("Invalid line range: {start}-{end}");
            let suggestion = format!("the file has {total} lines; begin within them");
            let failure = Failure::new(Fault::InvalidLineRange, message, suggestion);
            Err(failure.detail("total_lines", total))
        }
    }
}

/// If a blame took too long, one of fewer lines may succeed.
fn ask_for_fewer_lines(error: HistoryError) -> Failure {
    if !error.is_deadline() {
        return error.into();
    }
    Failure::new(
        Fault::DeadlineExceeded,
        "the time for this call was up before all lines were found",
        "ask for fewer lines with start_line and end_line",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_completed_and_clamped_to_the_file() {
        assert_eq!(range(None, None, 10).unwrap(), (0, 10));
        assert_eq!(range(Some(3), None, 10).unwrap(), (2, 10));
        assert_eq!(range(None, Some(4), 10).unwrap(), (0, 4));
        assert_eq!(range(Some(10), Some(99), 10).unwrap(), (9, 10));
        assert_eq!(range(None, None, 0).unwrap(), (0, 0));
        let refused = |start, end, total| range(start, end, total).unwrap_err();
        for (failure, expected_range) in [
            (refused(Some(7), None, 6), "7-6"),
            (refused(Some(7), Some(11), 6), "7-11"),
            (refused(Some(5), Some(4), 6), "5-4"),
            (refused(Some(1), None, 0), "1-0"),
            (refused(None, Some(3), 0), "1-3"),
        ] {
            assert_eq!(failure.code, Fault::InvalidLineRange);
            assert_eq!(
                failure.message,
                format!("Invalid line range: {expected_range}")
            );
        }
    }
}
