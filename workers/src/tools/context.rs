//! The family `context`: what a project's code, discoveries and memory say about a subject.

mod search;

pub(super) use search::ContextSearch;
