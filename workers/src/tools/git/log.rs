//! `git_log`: commits with author, date, message and changed files.

mod page;

use archway_history::{History, HistoryError, Log, LogCursor, LogQuery};
use archway_proto::{failure::Failure, fault::Fault};
use archway_repo::{Cancel, RepoPath};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::{Duration, Instant};

use self::page::{LogPage, LoggedCommit};
use super::not_found_notes;
use crate::blocking::Load;
use crate::tools::{Reply, Tool, ToolContext, refusal};

/// How long a full page looks for another one: a rare text would take the whole history.
const LOOK_AHEAD: Duration = Duration::from_millis(100);

/// Lists commits and the files they changed.
pub(in crate::tools) struct GitLog;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tools) struct LogArgs {
    /// Only commits that changed this file, followed through renames, or this folder.
    #[schemars(length(min = 1, max = 4096))]
    file_path: Option<String>,
    /// From this date on ("2025-01-01", "30 days ago"), or what this commit, tag or branch lacks.
    #[schemars(length(min = 1, max = 64))]
    since: Option<String>,
    /// Up to this date, its day included, or up to this commit, tag or branch.
    #[schemars(length(min = 1, max = 64))]
    until: Option<String>,
    /// Part of the author's name or email, in any case.
    #[schemars(length(min = 1, max = 256))]
    author: Option<String>,
    /// Only commits with a line of the message that matches this regular expression, in any case.
    #[schemars(length(min = 1, max = 200))]
    grep: Option<String>,
    /// Only commits that add or remove this text, as `git log -S`. Merges, and files over 16 MiB, are left out.
    #[schemars(length(min = 1, max = 1000))]
    changed: Option<String>,
    /// Most commits to return.
    #[serde(default = "default_max_count")]
    #[schemars(range(min = 1, max = 100))]
    max_count: usize,
    /// Commit, tag or branch to begin at.
    #[serde(rename = "ref")]
    #[schemars(length(min = 1, max = 256), extend("default" = "HEAD"))]
    revision: Option<String>,
    /// The cursor of the previous page.
    cursor: Option<String>,
    /// Project slug; see `list_projects`.
    #[schemars(length(min = 1, max = 63))]
    project: Option<String>,
}

fn default_max_count() -> usize {
    10
}

#[derive(Serialize, JsonSchema)]
pub(in crate::tools) struct LogAnswer {
    commits: Vec<LoggedCommit>,
    /// More commits follow.
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
    /// Why no commits were found, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl Tool for GitLog {
    const NAME: &'static str = "git_log";
    const TITLE: &'static str = "Commit history";
    const DESCRIPTION: &'static str = "List commits, newest first, with author, date, message and \
        the files each changed: of a repository, a folder, or a file through its renames. git_diff \
        shows what changed in them, git_blame who wrote a line.";
    const FAMILY: &'static str = "git";
    const PER_MINUTE: Option<u32> = None;
    const WEIGHT: u32 = 2;
    const ASKS_FOR_MORE: &'static [(&'static str, u64)] = &[("max_count", 10)];
    const UNTRUSTED: bool = true;
    type Args = LogArgs;
    type Output = LogAnswer;

    fn load(args: &LogArgs) -> Load {
        // These read every message, or the changes of every commit.
        match args.grep.is_some() || args.changed.is_some() {
            true => Load::Heavy,
            false => Load::Light,
        }
    }

    async fn run(cx: &ToolContext, args: LogArgs) -> Result<Reply<LogAnswer>, Failure> {
        let project = cx.project(args.project.as_deref()).await?;
        let (histories, budget) = (cx.histories(), cx.max_result_bytes());
        let now = jiff::Timestamp::now();
        let snapshot = cx
            .read(&project, move |repo, cancel| {
                let path = args.file_path.as_deref().map(RepoPath::parse);
                let query = LogQuery {
                    path: path.transpose()?,
                    since: args.since.clone(),
                    until: args.until.clone(),
                    author: args.author.clone(),
                    grep: args.grep.clone(),
                    changed: args.changed.clone(),
                    revision: args.revision.clone(),
                    now,
                };
                let history = History::of(repo, &histories, cancel)?;
                let cursor = match &args.cursor {
                    Some(text) => Some(find_cursor(&history, &query, text, cancel)?),
                    None => None,
                };
                let log = history.log(&query, cursor, cancel)?;
                let start = log.cursor();
                let mut page = fill(log, args.max_count, budget, cancel)?;
                if page.commits.is_empty() && page.next.is_none() {
                    let why = history.empty_log_reason(&start, query.path.as_ref())?;
                    page.note = not_found_notes::of_log(&history, why, &query, cancel);
                }
                let next = page.next.take();
                let next = next.map(|cursor| history.save_cursor(&query, cursor));
                Ok((page, next))
            })
            .await
            .map_err(refusal::in_terms_of_git_log)?;
        let (page, next) = &snapshot.value;
        let (markdown, next) = (page.markdown(next.is_some()), next.clone());
        let (is_incomplete, truncated) = (page.is_incomplete, next.is_some());
        let reply = Reply::from_snapshot(snapshot, |(page, _)| LogAnswer {
            truncated,
            commits: page.commits,
            cursor: None,
            note: page.note,
        });
        Ok(reply
            .markdown(markdown)
            .cursor(next)
            .incomplete(is_incomplete))
    }
}

/// The position that a cursor means.
fn find_cursor(
    history: &History,
    query: &LogQuery,
    text: &str,
    cancel: &Cancel,
) -> Result<LogCursor, Failure> {
    history.find_cursor(query, text, cancel)?.ok_or_else(|| {
        Failure::new(
            Fault::InvalidArguments,
            "the cursor is not from git_log",
            "start again without a cursor",
        )
    })
}

/// Reads commits until the page has `max_count`, is full, or the deadline passes.
fn fill(
    mut log: Log<'_>,
    max_count: usize,
    budget: usize,
    cancel: &Cancel,
) -> Result<LogPage, HistoryError> {
    let mut page = LogPage::new(budget);
    let start = log.cursor();
    while page.commits.len() < max_count {
        let position = log.cursor();
        match log.next(cancel) {
            Ok(Some(entry)) => {
                if !page.add(&entry) {
                    page.next = Some(position);
                    return Ok(page);
                }
            }
            Ok(None) => return Ok(page),
            // A cursor that did not advance would repeat this page for ever.
            Err(error) if error.is_deadline() && log.cursor() != start => {
                page.is_incomplete = true;
                page.next = Some(log.cursor());
                return Ok(page);
            }
            Err(error) => return Err(error),
        }
    }
    let position = log.cursor();
    let brief = cancel.until(Instant::now() + LOOK_AHEAD);
    match log.has_more(&brief) {
        Ok(true) => page.next = Some(position),
        Ok(false) => {}
        // The page is complete. The next call finds out whether another follows.
        Err(error) if error.is_deadline() => page.next = Some(log.cursor()),
        Err(error) => return Err(error),
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use archway_history::{Histories, HistoryMetrics};
    use archway_repo::testing::{Sandbox, cancel};
    use prometheus_client::registry::Registry;

    use super::*;

    /// Sixty commits to one file. The last one adds a second `needle`, and the second one removes `origin`.
    fn sixty_commits() -> Sandbox {
        let app = Sandbox::new();
        app.git(&["init", "-q", "-b", "main"]);
        let mut stream = String::new();
        for at in 1..=60 {
            let words = match at {
                1 => "needle origin",
                60 => "needle needle",
                _ => "needle",
            };
            let (text, message) = (format!("{words} {at}\n"), format!("commit {at}"));
            write!(
                stream,
                "commit refs/heads/main\ncommitter A <a@b.c> {at} +0000\ndata {}\n{message}\n\
                 M 644 inline a.txt\ndata {}\n{text}\n",
                message.len(),
                text.len()
            )
            .unwrap();
        }
        app.import(&stream);
        app
    }

    /// A page of the commits that add or remove a text, read with empty caches.
    fn page(
        app: &Sandbox,
        changed: &str,
        cursor: Option<LogCursor>,
        until: &Cancel,
    ) -> Result<LogPage, HistoryError> {
        let metrics = HistoryMetrics::registered(&mut Registry::default());
        let histories = Histories::start(None, metrics).unwrap();
        let history = History::of(&app.repo(), &histories, &cancel())?;
        let query = LogQuery {
            path: None,
            since: None,
            until: None,
            author: None,
            grep: None,
            changed: Some(changed.to_owned()),
            revision: None,
            now: jiff::Timestamp::UNIX_EPOCH,
        };
        let log = history.log(&query, cursor, &cancel())?;
        fill(log, default_max_count(), 64 << 10, until)
    }

    fn messages(page: &LogPage) -> Vec<String> {
        let commits = serde_json::to_value(&page.commits).unwrap();
        let commits = commits.as_array().unwrap().iter();
        let message = |commit: &serde_json::Value| commit["message"].as_str().unwrap().to_owned();
        commits.map(message).collect()
    }

    #[test]
    fn a_page_that_runs_out_of_time_has_what_was_found_and_goes_on() {
        let (app, whole) = (sixty_commits(), cancel());
        let all = page(&app, "needle", None, &whole).unwrap();
        assert_eq!(messages(&all), ["commit 60", "commit 1"]);
        assert!(!all.is_incomplete && all.next.is_none());
        let half = cancel().late_from_check(whole.checks() / 2);
        let first = page(&app, "needle", None, &half).unwrap();
        assert_eq!(messages(&first), ["commit 60"]);
        assert!(first.is_incomplete && first.next.is_some());
        let rest = page(&app, "needle", first.next, &cancel()).unwrap();
        assert_eq!(messages(&rest), ["commit 1"]);
        assert!(!rest.is_incomplete && rest.next.is_none());
    }

    #[test]
    fn an_empty_page_out_of_time_is_no_end_and_one_without_progress_fails() {
        let (app, whole) = (sixty_commits(), cancel());
        let all = page(&app, "origin", None, &whole).unwrap();
        assert_eq!(messages(&all), ["commit 2", "commit 1"]);
        let half = cancel().late_from_check(whole.checks() / 2);
        let none = page(&app, "origin", None, &half).unwrap();
        assert!(none.commits.is_empty() && none.next.is_some());
        assert!(none.markdown(true).contains("the time was up"));
        let at_once = page(&app, "origin", None, &cancel().late_from_check(1));
        assert!(at_once.err().unwrap().is_deadline());
    }
}
