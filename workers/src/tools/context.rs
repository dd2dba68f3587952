//! The family `context`: search of a project's code, discoveries and memory by meaning.

mod search;

pub(super) use search::ContextSearch;
