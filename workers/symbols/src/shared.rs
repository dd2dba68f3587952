//! Names that a function of Python assigns though they are not its own: `global`, `nonlocal`.

use std::collections::HashSet;

use crate::{naming::Open, path::Path};

/// Such names, each with the function, by position in `Symbols::definitions`.
#[derive(Default)]
pub(crate) struct Shared<'a>(HashSet<(Option<u32>, &'a str)>);

impl<'a> Shared<'a> {
    /// Whether an assignment to a name makes a local variable, in languages where one does. Names are
    /// asked for in the order of the text.
    pub(crate) fn is_local(&mut self, open: &[Open], path: Path<'_, '_>, name: &'a str) -> bool {
        let mut around = open.iter().rev();
        let Some(function) = around.find(|open| open.kind.is_callable()) else {
            return false;
        };
        let shared = (function.definition, name);
        if matches!(path.up().kind(), "global_statement" | "nonlocal_statement") {
            self.0.insert(shared);
        }
        !self.0.contains(&shared)
    }
}
