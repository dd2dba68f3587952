//! Walks a syntax tree once and collects definitions and uses.

mod uses;

use archway_repo::{
    Cancel,
    syntax::{Language, SyntaxError, Walk},
};

use crate::{
    Definition, Kind, Symbols,
    adopt::adopt,
    classify,
    columns::Columns,
    define,
    define::Found,
    describe,
    names::Names,
    naming::{self, Open, Scope, name_text, row},
    path::{Path, Step, walk},
    separator,
    shared::Shared,
    unread::Unread,
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
    let syntax = language.parse(text.as_bytes(), cancel)?;
    let mut unread = Unread::of(&syntax);
    walk(&syntax, cancel, |path| {
        let start = path.last().map_or(0, |it| it.node.start_byte());
        extractor.add_unread(&mut unread, start);
        extractor.visit(path)
    })?;
    extractor.add_unread(&mut unread, usize::MAX);
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
        // These are names only where they define: `operator bool`, `attr_reader :name`.
        if matches!(step.kind, "operator_cast" | "simple_symbol") {
            if let Some(found) = define::found(self.language, self.text, path, self.scope()) {
                self.define(path, found);
            }
            return Walk::Into;
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
        if classify::is_skipped(self.language, self.text, path) {
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
