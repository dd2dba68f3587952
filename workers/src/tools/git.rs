//! The family `git`: who changed what, and when.

mod blame;
mod markdown;

pub(super) use blame::GitBlame;
