//! Notes for answers without results. An agent takes an empty answer for a fact, while the path may
//! be misspelt.

use gix::ObjectId;

use archway_history::{EmptyLogReason, History, HistoryError, LogQuery};
use archway_repo::{Cancel, Kind, RepoPath, text};

use crate::tools::files::near;

/// Maximum number of commits that a note names.
const MAX_NAMED: usize = 2;

/// Explains why a log has no commits. `None` if that is a fact that no other argument changes.
pub(super) fn of_log(
    history: &History,
    reason: Option<EmptyLogReason>,
    query: &LogQuery,
    cancel: &Cancel,
) -> Option<String> {
    let note = match (reason, &query.path, &query.grep, &query.changed) {
        (Some(EmptyLogReason::Absent(commits)), Some(path), ..) => {
            return Some(path_is_absent(history, path, &commits, cancel));
        }
        (Some(_), ..) => "since is after until: no commit lies between them.",
        (None, _, Some(_), None) => {
            "grep reads the messages of commits. For a text in their files use changed."
        }
        (None, _, None, Some(_)) => {
            "changed takes a text as it stands, in the case that it has. For words of messages use grep."
        }
        (None, ..) => return None,
    };
    Some(note.to_owned())
}

/// Explains that none of the commits has a path. Returns `None` if one has it.
///
/// # Errors
/// If a commit can't be read.
pub(super) fn of_path(
    history: &History,
    path: &RepoPath,
    commits: &[ObjectId],
    cancel: &Cancel,
) -> Result<Option<String>, HistoryError> {
    for &commit in commits {
        if history.has(commit, path)? {
            return Ok(None);
        }
    }
    Ok((!commits.is_empty()).then(|| path_is_absent(history, path, commits, cancel)))
}

fn path_is_absent(
    history: &History,
    path: &RepoPath,
    commits: &[ObjectId],
    cancel: &Cancel,
) -> String {
    let shown = path.display();
    let shown = text::shown(&shown);
    let named = commits.iter().take(MAX_NAMED);
    let named: Vec<String> = named.map(|&commit| history.short(commit)).collect();
    let cancel = &near::briefly(cancel);
    let near = commits.iter().take(MAX_NAMED);
    let mut near = near.map(|&commit| near_paths(history, (commit, path), |_| true, cancel));
    let hint = match near.find(|near| !near.is_empty()) {
        Some(near) => format!(": {}", near::question(&near)),
        None => {
            ". Names are compared letter by letter; list_files lists the current ones.".to_owned()
        }
    };
    format!("{shown} is not in commit {}{hint}", named.join(" nor in "))
}

/// Paths of a commit near one that it does not have, of the kinds that are meant. A suggestion is optional, so
/// failures are ignored.
pub(super) fn near_paths(
    history: &History,
    (commit, path): (ObjectId, &RepoPath),
    is_meant: impl Fn(Kind) -> bool,
    cancel: &Cancel,
) -> Vec<String> {
    let served = history.served_paths(commit, cancel).unwrap_or_default();
    let meant = served
        .iter()
        .filter(|(it, kind)| it != path && is_meant(*kind));
    near::among(path, meant.map(|(it, _)| it.as_bytes()))
}
