//! Notes for answers without results. An agent takes an empty answer for a fact, while the path may
//! be misspelt.

use gix::ObjectId;

use archway_history::{EmptyLogReason, History, HistoryError, LogQuery};
use archway_repo::{Cancel, RepoPath, text};

/// Maximum number of commits that a note names.
const MAX_NAMED: usize = 2;

/// Explains why a log has no commits.
pub(super) fn of_log(
    history: &History,
    reason: EmptyLogReason,
    query: &LogQuery,
    cancel: &Cancel,
) -> String {
    match (reason, &query.path) {
        (EmptyLogReason::Absent(commits), Some(path)) => {
            path_is_absent(history, path, &commits, cancel)
        }
        (EmptyLogReason::Reversed | EmptyLogReason::Absent(_), _) => {
            "since is after until: no commit lies between them.".to_owned()
        }
    }
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
    let near = commits
        .iter()
        .take(MAX_NAMED)
        .find_map(|&commit| history.nearest_file(commit, path, cancel));
    let hint = match near {
        Some(near) => format!(": did you mean {near}?"),
        None => {
            ". Names are compared letter by letter; list_files lists the current ones.".to_owned()
        }
    };
    format!("{shown} is not in commit {}{hint}", named.join(" nor in "))
}
