//! The family `search`: two tools with two contracts and one search.
//!
//! Both find the same lines. They differ in exclusions, defaults, and the names of their fields.
//! They share [`run::Search`].

mod grep_codebase;
mod search_files;

mod run;
mod every_project;
mod collected;
mod no_match;

pub(super) use grep_codebase::GrepCodebase;
pub(super) use search_files::SearchFiles;
