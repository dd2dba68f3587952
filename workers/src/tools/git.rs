//! The family `git`: who changed what, and when. Answers have markdown for readers and the same as
//! data.

mod log;
mod blame;
mod diff;
mod not_found_notes;
mod markdown;

pub(super) use blame::GitBlame;
pub(super) use diff::GitDiff;
pub(super) use log::GitLog;
pub(super) use markdown::subject;
