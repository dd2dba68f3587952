//! A file in a commit's list, as answers say it.

use archway_repo::RepoPath;
use schemars::JsonSchema;
use serde::Serialize;

/// A file in a commit's list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFile {
    /// Where the file is after the commit, or was if it is gone.
    pub path: RepoPath,
    /// Where it came from, if it was renamed or copied.
    pub old_path: Option<RepoPath>,
    /// What became of it.
    pub status: Status,
}

/// What became of a file, as answers say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(
    missing_docs,
    reason = "their names say it, and a comment would become part of a tool's schema"
)]
pub enum Status {
    Added,
    Modified,
    Deleted,
    Renamed,
    /// Of a file that is still there; only found where a file is followed.
    Copied,
    /// Between file, link and submodule.
    TypeChanged,
}
