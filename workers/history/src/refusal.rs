//! Maps this crate's errors to faults and the suggestions that agents read.

use archway_proto::{failure::Failure, fault::Fault};

use super::HistoryError;

const DATE_OR_REVISION: &str = "give a date, such as \"2025-01-01\", \"30 days ago\" or \
    \"yesterday\", or a revision, such as \"HEAD~3\"";

const REACHABLE_REVISION: &str =
    "give a commit that HEAD, a branch or a tag reaches; git_log shows commits";

/// Suggestion for a path that was not a file at a revision: no tool lists the files of one.
pub const ABSENT_AT_REVISION: &str = "call git_log with it as file_path: it follows renames, and \
    shows the file's name at that time";
/// Suggestion for a folder at a revision.
pub const FOLDER_AT_REVISION: &str = "give a file in it; git_log with it as file_path lists \
    its changed files";

const NO_REPOSITORY: &str =
    "call list_projects for projects with a commit, or read_file and search_files here";
const UNUSABLE_REPOSITORY: &str =
    "its files can still be read; an operator must repair the repository";

impl From<HistoryError> for Failure {
    fn from(error: HistoryError) -> Failure {
        let message = error.to_string();
        let failure = |fault, suggestion: &str| Failure::new(fault, &*message, suggestion);
        match error {
            HistoryError::NotARepository => failure(Fault::NotAGitRepository, NO_REPOSITORY),
            HistoryError::UnusableRepository { .. } => {
                failure(Fault::NotAGitRepository, UNUSABLE_REPOSITORY)
            }
            HistoryError::InvalidRevision { .. } => failure(
                Fault::InvalidArguments,
                "give one commit, branch or tag, such as \"HEAD~3\"",
            ),
            HistoryError::RevisionNotFound { hint, .. } => failure(
                Fault::RevisionNotFound,
                &with_hint(hint, REACHABLE_REVISION),
            ),
            HistoryError::InvalidBound { reason, hint, .. } => {
                failure(bound_fault(reason), &with_hint(hint, DATE_OR_REVISION))
            }
            HistoryError::NoCommits => failure(
                Fault::RevisionNotFound,
                "the checked-out branch has no commits; try another one",
            ),
            HistoryError::CursorExpired => failure(
                Fault::InvalidArguments,
                "start again without a cursor: the history was rewritten meanwhile",
            ),
            HistoryError::Ambiguous { candidates, .. } => failure(
                Fault::InvalidArguments,
                "give more characters of the id; the candidates are in details",
            )
            .detail("candidates", candidates),
            HistoryError::NotTracked {
                revision,
                is_folder,
                ..
            } => failure(
                Fault::FileNotTracked,
                not_tracked(is_folder, revision.is_some()),
            ),
            HistoryError::Binary { .. } => failure(
                Fault::BinaryFile,
                "a binary file has no lines to blame; git_log lists the commits that changed it",
            ),
            HistoryError::TooLarge { size, .. } => failure(
                Fault::FileTooLarge,
                "git_log lists the commits that changed it",
            )
            .detail("size", size),
            HistoryError::Repo(error) => error.into(),
        }
    }
}

/// Puts the near match before the general suggestion.
fn with_hint(hint: Option<String>, otherwise: &str) -> String {
    match hint {
        Some(hint) => format!("{hint} Or {otherwise}"),
        None => otherwise.to_owned(),
    }
}

fn not_tracked(is_folder: bool, is_past: bool) -> &'static str {
    match (is_folder, is_past) {
        (true, _) => FOLDER_AT_REVISION,
        (false, true) => ABSENT_AT_REVISION,
        (false, false) => "give a file that is committed; call list_files or git_log for its name",
    }
}

/// The fault of a bound that is neither a date nor a revision.
fn bound_fault(reason: Option<&str>) -> Fault {
    match reason {
        Some(_invalid_form) => Fault::InvalidArguments,
        None => Fault::RevisionNotFound,
    }
}
