//! What a use is inside of: the scope of a bare name, and the type of a member.

use archway_symbols::{Definition, Local, Receiver, Use, UseKind};

use super::{
    confidence::{Target, UsingFile},
    modules::{SCRIPT, family},
};

impl UsingFile<'_> {
    /// Whether a parameter or a local variable of the name is meant.
    pub(super) fn is_hidden(&self, used: &Use) -> bool {
        if used.receiver != Receiver::None || used.kind.is_import() {
            return false;
        }
        // A call where the local begins is none of it: `let size = size();`
        let is_before = |local: &Local| {
            used.kind == UseKind::Call && local.line == used.line && family(self.language) != SCRIPT
        };
        let is_it = |local: &Local| {
            (local.line..=local.last_line).contains(&used.line) && !is_before(local)
        };
        self.locals.iter().any(is_it)
    }

    /// Whether a definition of this file is the one that its bare name means where it is used: it
    /// stands in the innermost function or block around that has one.
    pub(super) fn is_in_scope(&self, definition: &Definition, used: &Use) -> bool {
        self.scopes.at(&definition.name, used.line) == definition.visible
    }

    /// Whether a use is inside of the type that a member is of: by the definition of that type if both
    /// stand in one, else by its name.
    pub(super) fn is_inside(&self, used: &Use, target: &Target) -> bool {
        let around = || self.symbols.around(used.within);
        let is_type = |at: u32| {
            let definition = self.symbols.definition(Some(at));
            definition.is_some_and(|it| it.kind.is_type())
        };
        match target.definition.parent.filter(|at| is_type(*at)) {
            Some(of) if around().any(|(at, _)| is_type(at)) => around().any(|(at, _)| at == of),
            _ => around().any(|(_, it)| {
                let container = it.container.as_deref().unwrap_or_default();
                let last = container.rsplit([':', '.']).next().unwrap_or_default();
                target.is_owner(last) || target.is_owner(&it.name)
            }),
        }
    }
}
