//! Tools that tell a repository's history: markdown for readers, the same as data beside it.

mod blame;
mod diff;
mod markdown;

pub(super) use blame::GitBlame;
pub(super) use diff::GitDiff;

/// The family of all tools in here.
const FAMILY: &str = "git";
