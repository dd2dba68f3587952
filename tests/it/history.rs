//! The git tools in unusual situations: hidden content, uncommon repositories, moving heads, abandoned
//! calls.

mod hidden;
mod kinds;
mod moving;

use std::path::Path;

use e2e::git;

/// Commits all files in the folder, with this author, date and message.
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
