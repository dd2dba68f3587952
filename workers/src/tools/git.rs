//! The family `git`: who changed what, and when. Markdown for readers, the same as data beside it.

mod log;
mod blame;
mod diff;
mod nothing;
mod markdown;

pub(super) use blame::GitBlame;
pub(super) use diff::GitDiff;
pub(super) use log::GitLog;
