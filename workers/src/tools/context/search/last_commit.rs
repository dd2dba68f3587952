//! The last commits that changed the files of results: why the code is as it is.

use archway_history::{Histories, History, HistoryError};
use archway_repo::{Cancel, Repo, RepoPath};
use gix::ObjectId;
use schemars::JsonSchema;
use serde::Serialize;
use tokio::time::Duration;

use crate::tools::git::subject;

/// How long the history of a project is searched.
const TIMEOUT: Duration = Duration::from_millis(10);
/// Digits of a commit's id.
const ID_DIGITS: usize = 12;
/// Longest subject, in characters.
const MAX_SUBJECT: usize = 100;

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct LastCommit {
    pub(super) id: String,
    pub(super) subject: String,
}

/// The last commit of each file, which is a path and a blob. A commit that is not found in time is left out:
/// it decorates the answer.
pub(super) fn last_commits(
    repo: &Repo,
    histories: &Histories,
    files: &[(&RepoPath, ObjectId)],
    cancel: &Cancel,
) -> Vec<Option<LastCommit>> {
    search(repo, histories, files, cancel).unwrap_or_else(|_decoration| vec![None; files.len()])
}

fn search(
    repo: &Repo,
    histories: &Histories,
    files: &[(&RepoPath, ObjectId)],
    cancel: &Cancel,
) -> Result<Vec<Option<LastCommit>>, HistoryError> {
    let history = History::of(repo, histories, cancel)?;
    let changes = history.last_changes(files, TIMEOUT, cancel)?.into_iter();
    let commit = |id: ObjectId| {
        let message = history.commit_info(id)?.message;
        let subject = subject(message.as_ref());
        Ok(LastCommit {
            id: id.to_hex_with_len(ID_DIGITS).to_string(),
            subject: subject.chars().take(MAX_SUBJECT).collect(),
        })
    };
    changes
        .map(|change| change.map(|it| commit(it.commit)).transpose())
        .collect()
}
