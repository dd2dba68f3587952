//! A file in a commit's list, as answers show it.

use archway_repo::RepoPath;
use schemars::JsonSchema;
use serde::Serialize;

/// A file in a commit's list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFile {
    /// The path after the commit, or before it if the commit deleted the file.
    pub path: RepoPath,
    /// The source path of a rename or copy.
    pub old_path: Option<RepoPath>,
    /// The kind of change.
    pub status: Status,
}

/// What a commit did to a file.
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
    // The source still exists. Only found for a followed file.
    Copied,
    // Between file, link and submodule.
    TypeChanged,
}
