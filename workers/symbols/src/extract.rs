//! Walks a syntax tree once and collects definitions and uses.

use archway_repo::{
    Cancel,
    syntax::{Language, SyntaxError, Walk},
};

use crate::{
    Definition, Kind, Receiver, Symbols, Use, UseKind,
    adopt::adopt,
    binding, classify,
    columns::Columns,
    define,
    define::Found,
    describe,
    names::Names,
    naming::{self, Open, Scope, name_text, row},
    path::{Path, Step, walk},
    receiver::Before,
    separator, separators,
    shared::Shared,
};

/// Definitions of one text, at most; a mebibyte of ordinary code has a tenth.
const MAX_DEFINITIONS: usize = 20_000;
/// Uses of one text, at most.
const MAX_USES: usize = 400_000;
/// A longer name is data, in bytes.
const MAX_NAME: usize = 200;
/// Definitions around another that are told apart; deeper ones count as part of the innermost of these.
const MAX_DEPTH: usize = 32;

/// The symbols of a text.
///
/// # Errors
/// If it cannot be parsed, or `cancel` stops the work.
pub(crate) fn symbols(
    language: Language,
    text: &str,
    cancel: &Cancel,
) -> Result<Symbols, SyntaxError> {
    let mut extractor = Extractor::new(language, text);
    separators::parsed(language, text, cancel, |syntax| {
        walk(syntax, cancel, |path| extractor.visit(path))
    })?;
    Ok(extractor.done())
}

struct Extractor<'a> {
    language: Language,
    text: &'a str,
    open: Vec<Open>,
    symbols: Symbols,
    names: Names<'a>,
    /// Names that an export list names.
    exported: Vec<&'a str>,
    shared: Shared<'a>,
    /// Where the present import ends.
    import_end: usize,
    columns: Columns<'a>,
}

impl<'a> Extractor<'a> {
    fn new(language: Language, text: &'a str) -> Extractor<'a> {
        Extractor {
            language,
            text,
            open: Vec::new(),
            symbols: Symbols::default(),
            names: Names::default(),
            exported: Vec::new(),
            shared: Shared::default(),
            import_end: 0,
            columns: Columns::of(text),
        }
    }

    fn visit(&mut self, path: Path<'_, '_>) -> Walk {
        let Some(step) = path.last() else {
            return Walk::Past;
        };
        if !step.node.is_named() {
            return Walk::Past;
        }
        let start = step.node.start_byte();
        self.open.retain(|open| open.end > start);
        if let Some(walk) = self.visit_structure(path, step) {
            return walk;
        }
        if !naming::is_name(path) {
            return Walk::Into;
        }
        let is_defined = define::found(self.language, self.text, path, self.scope())
            .is_some_and(|found| self.define(path, found));
        if !is_defined {
            self.add_use(path);
        }
        Walk::Past
    }

    /// Handles nodes that are no names. `None` if the node is to be looked at as a name.
    fn visit_structure(&mut self, path: Path<'_, '_>, step: &Step<'_>) -> Option<Walk> {
        if classify::is_import(self.language, self.text, path) {
            self.import_end = step.node.end_byte();
        }
        if classify::is_skipped(self.language, path) {
            return Some(Walk::Past);
        }
        if let Some((name, exports)) = define::extended(self.language, self.text, step.node) {
            let outer = self.open.last();
            let is_test = outer.is_some_and(|outer| outer.is_test);
            self.open(Open {
                end: step.node.end_byte(),
                definition: None,
                name,
                kind: Kind::Class,
                exports,
                is_test,
            });
        }
        None
    }

    fn scope(&self) -> Scope<'_> {
        let Some(open) = self.open.last() else {
            return Scope::default();
        };
        Scope {
            kind: Some(open.kind),
            name: &open.name,
            is_local: self.open.iter().any(|open| open.kind.is_callable()),
            exports: open.exports,
        }
    }

    /// Adds a definition. Returns false if it is none after all.
    fn define(&mut self, path: Path<'_, '_>, found: Found<'_>) -> bool {
        let Some(name_node) = path.last().map(|step| step.node) else {
            return false;
        };
        let name = name_text(self.text, name_node);
        if name.is_empty() || name.len() > MAX_NAME || name == "_" {
            return false;
        }
        let container = self.container(found.owner.as_deref());
        let is_repeated = found.is_assignment && self.has(name, container.as_deref());
        if is_repeated || self.symbols.definitions.len() >= MAX_DEFINITIONS {
            return false;
        }
        let described = describe::describe(self.language, self.text, &found);
        let is_in_test = self.open.last().is_some_and(|open| open.is_test);
        let is_test = is_in_test || described.is_test;
        self.symbols.definitions.push(Definition {
            name: name.into(),
            kind: found.kind,
            container: container.map(Into::into),
            parent: self.within(),
            lines: described.lines,
            name_line: row(name_node.start_position().row),
            signature: described.signature,
            doc: described.doc,
            is_exported: found.is_exported,
            visible: found.visible,
            is_test,
            is_whole: found.body.is_some() || !found.kind.is_callable(),
        });
        if found.end == 0 {
            return true;
        }
        let at = self.symbols.definitions.len() - 1;
        self.open(Open {
            end: found.end,
            definition: u32::try_from(at).ok(),
            name: name.to_owned(),
            kind: found.kind,
            exports: define::exports_members(self.language, found.kind),
            is_test,
        });
        true
    }

    fn open(&mut self, opened: Open) {
        if self.open.len() < MAX_DEPTH {
            self.open.push(opened);
        }
    }

    /// The names around a definition; `owner` is the one that it names itself.
    fn container(&self, owner: Option<&str>) -> Option<String> {
        let names = self.open.iter().map(|open| open.name.as_str()).chain(owner);
        naming::container(names.collect(), separator(self.language))
    }

    fn has(&self, name: &str, container: Option<&str>) -> bool {
        let mut known = self.symbols.definitions.iter().rev().take(500);
        known.any(|it| *it.name == *name && it.container.as_deref() == container)
    }

    fn within(&self) -> Option<u32> {
        self.open.iter().rev().find_map(|open| open.definition)
    }

    fn add_use(&mut self, path: Path<'_, '_>) {
        let Some(node) = path.last().map(|step| step.node) else {
            return;
        };
        let name = name_text(self.text, node);
        let is_full = self.symbols.uses.len() >= MAX_USES;
        if name.is_empty() || name.len() > MAX_NAME || is_full {
            return;
        }
        let is_import = node.start_byte() < self.import_end;
        let is_local = self.shared.is_local(&self.open, path, name);
        let Some((kind, before)) =
            classify::classify(self.language, self.text, path, (is_import, is_local))
        else {
            return;
        };
        if kind == UseKind::Other && classify::is_exported_name(path) {
            self.exported.extend(self.text.get(node.byte_range()));
        }
        let receiver = self.receiver(before);
        let Some(number) = self.names.number(name) else {
            return;
        };
        let used = Use {
            name: number,
            line: row(node.start_position().row),
            column: self.columns.next(node),
            kind,
            receiver,
            within: self.within(),
        };
        self.symbols.uses.push(used);
        if kind == UseKind::Local {
            let last_line = binding::last_line(self.language, path);
            self.symbols.last_lines.push(last_line);
        }
        // `{ name }` is a member of the object as well.
        if let Some(kind) = classify::shorthand(path) {
            let receiver = Receiver::Unknown;
            self.symbols.uses.push(Use {
                kind,
                receiver,
                ..used
            });
        }
    }

    fn receiver(&mut self, before: Before<'_>) -> Receiver {
        let node = match before {
            Before::Nothing => return Receiver::None,
            Before::Own if self.language == Language::Rust => return self.own_type(),
            // The module outside of one in the same text.
            Before::OuterModule if !self.is_in_module() => return Receiver::Unknown,
            // No member, but a name in scope.
            Before::Module | Before::OuterModule => return Receiver::None,
            Before::Own => return Receiver::Own,
            Before::Unknown => return Receiver::Unknown,
            Before::Name(node) => node,
        };
        // A module may stand there as a string.
        let name = name_text(self.text, node).trim_matches(['"', '\'']);
        let number = self.names.number(name).filter(|_| name.len() <= MAX_NAME);
        number.map_or(Receiver::Unknown, Receiver::Name)
    }

    fn is_in_module(&self) -> bool {
        self.open.iter().any(|open| open.kind == Kind::Module)
    }

    /// The type around, by its name.
    fn own_type(&mut self) -> Receiver {
        let own = self.open.iter().rev().find(|open| open.kind.is_type());
        let name = own.map(|own| own.name.clone());
        let number = name.and_then(|name| self.names.number(name));
        number.map_or(Receiver::Unknown, Receiver::Name)
    }

    fn done(mut self) -> Symbols {
        adopt(&mut self.symbols, self.language);
        for definition in &mut self.symbols.definitions {
            let is_top = definition.container.is_none();
            definition.is_exported |= is_top && self.exported.contains(&&*definition.name);
        }
        self.symbols.names = self.names.into_texts();
        self.symbols.is_generated = describe::is_generated(self.text);
        self.symbols.uses.shrink_to_fit();
        self.symbols.definitions.shrink_to_fit();
        self.symbols
    }
}
