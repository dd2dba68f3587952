//! Members that stand beside their type, as those of an `impl` of Rust or a method of Go.

use std::collections::HashMap;

use archway_repo::syntax::Language;

use crate::{Definition, Kind, Symbols};

/// Puts members that stand beside their type inside of it.
pub(crate) fn adopt(symbols: &mut Symbols, language: Language) {
    let is_top = |it: &Definition| {
        let parent = symbols.definition(it.parent);
        parent.is_none_or(|parent| parent.kind == Kind::Module)
    };
    let mut types: HashMap<String, u32> = HashMap::new();
    for (at, it) in (0_u32..).zip(&symbols.definitions) {
        if it.kind != Kind::Module && !it.kind.is_callable() && is_top(it) {
            types.entry(it.qualified(language)).or_insert(at);
        }
    }
    let owner = |it: &Definition| {
        let container = it.container.as_deref().filter(|_| is_top(it))?;
        types.get(container).copied()
    };
    let owners: Vec<Option<u32>> = symbols.definitions.iter().map(owner).collect();
    for (definition, owner) in symbols.definitions.iter_mut().zip(owners) {
        definition.parent = owner.or(definition.parent);
    }
}
