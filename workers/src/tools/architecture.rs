//! The architecture family: what a project decided, and how it wants to be built.

mod search;

pub(super) use search::SearchArchitecture;
