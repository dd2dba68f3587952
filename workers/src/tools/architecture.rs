//! The architecture family: what a project decided, and how it wants to be built.

mod search;
mod validate;

pub(super) use search::SearchArchitecture;
pub(super) use validate::ValidatePattern;
