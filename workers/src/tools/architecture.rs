//! The architecture family: what a project decided, and how it wants to be built.

mod search;
mod align;
mod validate;

pub(super) use align::CheckAdrAlignment;
pub(super) use search::SearchArchitecture;
pub(super) use validate::ValidatePattern;
