//! The git tools where something is unusual: what must stay hidden, repositories that are not as
//! one expects, heads that move, calls that are left.

mod hidden;
mod kinds;
mod moving;

use std::path::Path;

use e2e::git;

/// Commits all that is in the folder, as somebody did at some time.
pub(crate) fn commit(folder: &Path, who: &str, date: &str, message: &str) -> String {
    git(folder, &["add", "--all"]);
    let (author, date) = (format!("--author={who}"), format!("--date={date}"));
    git(
        folder,
        &[
            "commit",
            "--quiet",
            "--allow-empty",
            &author,
            &date,
            "--message",
            message,
        ],
    );
    git(folder, &["rev-parse", "HEAD"])
}
