//! The family `git`: who changed what, and when.

mod log;
mod blame;
mod markdown;

pub(super) use blame::GitBlame;
pub(super) use log::GitLog;
