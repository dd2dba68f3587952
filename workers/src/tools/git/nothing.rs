//! What is added to an answer in which nothing was found: an agent takes it for a fact, and it may
//! be a misspelt path.

use gix::ObjectId;

use archway_history::{EmptyLogReason, History, HistoryError, LogQuery};
use archway_repo::{Cancel, RepoPath, text};

/// How many commits are named.
const MAX_NAMED: usize = 2;

/// Why a log has no commits.
pub(super) fn of_log(
    history: &History,
    why: EmptyLogReason,
    query: &LogQuery,
    cancel: &Cancel,
) -> String {
    match (why, &query.path) {
        (EmptyLogReason::Absent(commits), Some(path)) => absent(history, path, &commits, cancel),
        (EmptyLogReason::Reversed | EmptyLogReason::Absent(_), _) => {
            "since is after until: no commit lies between them.".to_owned()
        }
    }
}

/// Why nothing differs at a path: that none of the commits has it. `None` if one has.
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
    Ok((!commits.is_empty()).then(|| absent(history, path, commits, cancel)))
}

fn absent(history: &History, path: &RepoPath, commits: &[ObjectId], cancel: &Cancel) -> String {
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
        None => ". Names are compared letter by letter; list_files tells those of now.".to_owned(),
    };
    format!("{shown} is not in commit {}{hint}", named.join(" nor in "))
}
