//! The family `architecture`: the decisions, patterns and guidelines of a project.

mod vectors;
mod search;
mod align;
mod validate;

pub(super) use align::CheckAdrAlignment;
pub(super) use search::SearchArchitecture;
pub(super) use validate::ValidatePattern;
