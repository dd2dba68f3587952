//! The family `search`: two tools, two contracts, one engine.
//!
//! Both find the same lines; they differ in what they skip, in their defaults and in the names of
//! their answer's fields. What they share is [`run::Search`].

mod grep_codebase;
mod search_files;

mod run;
mod hits;

pub(super) use grep_codebase::GrepCodebase;
pub(super) use search_files::SearchFiles;
