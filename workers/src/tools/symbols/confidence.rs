//! How far the use of a name was told apart: by scope, imports and receivers.

use std::collections::HashSet;

use archway_repo::{RepoPath, syntax::Language};
use archway_symbols::{Definition, Kind, Local, Receiver, Scopes, Symbols, Use, UseKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::modules::{family, file_and_folder, keeps_members, looks_among_members, may_be};

// How sure it is that a use means the definition. Comments here are in no schema, which has a bound.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub(super) enum Confidence {
    // In scope in the same file, or bound by an import that resolves to its file.
    Certain,
    // An import of its module stands in the file, or the receiver's type is written there.
    Likely,
    // The name is the same.
    Name,
}

/// A definition whose uses are looked for.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) path: RepoPath,
    /// Its position among the file's definitions.
    pub(super) at: u32,
    pub(super) definition: Definition,
    /// The name of the type or module around it; `None` at the top.
    pub(super) owner: Option<String>,
    /// Whether it can be used in the function around it alone.
    pub(super) is_nested: bool,
    /// Whether it is in a type.
    is_in_type: bool,
    pub(super) language: Language,
}

/// A file in which names are used.
pub(super) struct UsingFile<'a> {
    pub(super) path: &'a RepoPath,
    pub(super) language: Language,
    pub(super) symbols: &'a Symbols,
    /// The files that it imports.
    pub(super) imports: &'a HashSet<RepoPath>,
    /// The places where parameters and local variables of the name begin.
    pub(super) locals: &'a [Local],
    pub(super) scopes: Scopes<'a>,
}

impl Target {
    pub(super) fn new(
        path: &RepoPath,
        language: Language,
        symbols: &Symbols,
        at: u32,
    ) -> Option<Self> {
        let definition = symbols.definition(Some(at))?.clone();
        let parent = symbols.definition(definition.parent);
        let container = definition.container.as_deref();
        let owner = container.and_then(|it| it.rsplit([':', '.']).next());
        Some(Target {
            path: path.clone(),
            at,
            owner: owner.map(str::to_owned),
            is_nested: parent.is_some_and(|parent| parent.kind.is_callable()),
            is_in_type: parent.is_some_and(|it| it.kind.is_type() || it.kind == Kind::Type),
            definition,
            language,
        })
    }

    /// Whether it is reached through its type.
    fn is_member(&self) -> bool {
        matches!(self.definition.kind, Kind::Method | Kind::Field)
            || (self.definition.kind == Kind::Constant && self.owner.is_some())
    }

    pub(super) fn is_owner(&self, name: &str) -> bool {
        self.owner.as_deref() == Some(name)
    }
}

impl Confidence {
    fn of(is_certain: bool, is_likely: bool) -> Confidence {
        match (is_certain, is_likely) {
            (true, _) => Confidence::Certain,
            (false, true) => Confidence::Likely,
            (false, false) => Confidence::Name,
        }
    }
}

/// A target, and what a file says about it, whatever the use.
pub(super) struct Bound<'a> {
    target: &'a Target,
    is_imported: bool,
    /// Whether the bare name means the target.
    by_name: bool,
    /// Whether the name of its owner means its owner.
    by_owner: bool,
    names_owner: bool,
}

impl UsingFile<'_> {
    /// What the file says about a target.
    pub(super) fn bound<'t>(&self, target: &'t Target) -> Bound<'t> {
        let is_imported = self.imports.contains(&target.path);
        let owner = target.owner.as_deref().unwrap_or_default();
        let is_elsewhere = *self.path != target.path;
        let binds = |name: &str| is_elsewhere && self.binds(name, target, is_imported);
        Bound {
            target,
            is_imported,
            by_name: binds(&target.definition.name),
            by_owner: target.is_member() && binds(owner),
            names_owner: is_elsewhere && self.symbols.number(owner).is_some(),
        }
    }

    /// How sure it is that a use means a target. `None` if it means something else.
    pub(super) fn confidence(&self, used: &Use, bound: &Bound<'_>) -> Option<Confidence> {
        if self.is_hidden(used) {
            return None;
        }
        match *self.path == bound.target.path {
            true => self.in_same_file(used, bound.target),
            false => self.in_other_file(used, bound),
        }
    }

    fn in_same_file(&self, used: &Use, target: &Target) -> Option<Confidence> {
        if target.is_member() {
            return Some(self.member_in_same_file(used, target));
        }
        let is_bare = used.receiver == Receiver::None && !used.kind.is_import();
        if is_bare && !self.is_in_scope(&target.definition, used) {
            return None;
        }
        let is_within = |at: Option<u32>| {
            let mut around = self.symbols.around(used.within);
            around.any(|(around, _)| Some(around) == at)
        };
        if target.is_nested {
            let parent = target.definition.parent;
            return (used.receiver == Receiver::None && is_within(parent))
                .then_some(Confidence::Certain);
        }
        Some(match used.receiver {
            Receiver::None => Confidence::Certain,
            Receiver::Name(name) if target.is_owner(self.symbols.name(name)) => Confidence::Certain,
            _ => Confidence::Name,
        })
    }

    fn member_in_same_file(&self, used: &Use, target: &Target) -> Confidence {
        let is_inside = self.is_inside(used, target);
        let is_implicit = looks_among_members(self.language);
        let owner = self.symbols.definition(target.definition.parent);
        let owner = owner.filter(|it| target.is_owner(&it.name));
        match used.receiver {
            Receiver::Own if is_inside => Confidence::Certain,
            Receiver::None if is_inside && is_implicit => Confidence::Certain,
            Receiver::None if target.definition.kind == Kind::Constant => Confidence::Likely,
            Receiver::Name(name) if target.is_owner(self.symbols.name(name)) => {
                // A type of another function may have the same name.
                let is_it = owner.is_none_or(|owner| self.is_in_scope(owner, used));
                Confidence::of(is_it, false)
            }
            Receiver::Name(_) | Receiver::Unknown => Confidence::Likely,
            _ => Confidence::Name,
        }
    }

    fn in_other_file(&self, used: &Use, bound: &Bound<'_>) -> Option<Confidence> {
        let &Bound {
            target,
            is_imported,
            ..
        } = bound;
        if family(self.language) != family(target.language) {
            return None;
        }
        if target.is_member() {
            return Some(self.member_of_other_file(used, bound));
        }
        let is_bare = used.receiver == Receiver::None && !used.kind.is_import();
        let is_own = || self.scopes.at(&target.definition.name, used.line).is_some();
        if is_bare && is_own() {
            return None;
        }
        Some(match used.receiver {
            Receiver::Name(module) if used.kind.is_import() => {
                let is_from = self.may_be(module, target);
                Confidence::of(is_imported && is_from, is_imported)
            }
            Receiver::Name(module) => self.of_module(module, used.line, target, is_imported),
            Receiver::None if bound.by_name => Confidence::Certain,
            _ if is_imported => Confidence::Likely,
            _ => Confidence::Name,
        })
    }

    fn member_of_other_file(&self, used: &Use, bound: &Bound<'_>) -> Confidence {
        let &Bound {
            is_imported,
            names_owner,
            ..
        } = bound;
        match used.receiver {
            Receiver::Name(name) if bound.target.is_owner(self.symbols.name(name)) => {
                match bound.by_owner {
                    true => Confidence::Certain,
                    false => Confidence::Likely,
                }
            }
            // A bare name is an imported one, a field of a literal, or a member of a subclass.
            Receiver::None => {
                let is_of_type = bound.target.is_in_type && keeps_members(self.language);
                let is_bound = bound.by_name && is_imported && !is_of_type;
                let is_inherited =
                    looks_among_members(self.language) || used.kind == UseKind::Write;
                Confidence::of(is_bound, names_owner && is_inherited)
            }
            _ if names_owner || is_imported => Confidence::Likely,
            _ => Confidence::Name,
        }
    }

    /// Whether a bare name means the target here.
    fn binds(&self, name: &str, target: &Target, is_imported: bool) -> bool {
        let mut imports = self.imports_of(name);
        let is_from = |used: &Use| match used.receiver {
            Receiver::None => true,
            Receiver::Name(module) => self.may_be(module, target),
            Receiver::Own | Receiver::Unknown => false,
        };
        if is_imported && imports.any(is_from) {
            return true;
        }
        // Files of a package see each other's names.
        let is_same_folder = self.path.parent() == target.path.parent();
        is_same_folder && matches!(self.language, Language::Go | Language::Java)
    }

    /// Whether an imported module may be the target's file.
    fn may_be(&self, module: u32, target: &Target) -> bool {
        let path = target.path.display();
        may_be(self.symbols.name(module), &path, target.language)
    }

    fn imports_of(&self, name: &str) -> impl Iterator<Item = &Use> {
        let uses = self.symbols.uses_of(name);
        uses.filter(|it| it.kind == UseKind::Import)
    }

    /// A name behind one that may be the target's module: `module.name`.
    fn of_module(&self, module: u32, line: u32, target: &Target, is_imported: bool) -> Confidence {
        let module = self.symbols.name(module);
        let path = target.path.display();
        let (file, folder) = file_and_folder(&path);
        let is_module = match self.language {
            // A package is a folder.
            Language::Go => folder == module,
            _ => file == module || folder == module,
        };
        // `from .gate import gate` imports what the module defines, not the module.
        let is_object = |import: &Use| match import.receiver {
            Receiver::Name(from) if self.language != Language::JavaScript => {
                let from = self.symbols.name(from);
                from.rsplit(['.', '/']).next() == Some(module)
            }
            // In JavaScript it may be a `require`, which is the module.
            _ => false,
        };
        // Go's imports name no identifiers.
        let is_bound = || {
            let mut imports = self.imports_of(module).peekable();
            self.language == Language::Go || (imports.peek().is_some() && !imports.any(is_object))
        };
        let is_local = || {
            let mut locals = self.symbols.locals_of(module);
            locals.any(|local| (local.line..=local.last_line).contains(&line))
        };
        let is_certain = is_module && is_imported && is_bound() && !is_local();
        Confidence::of(is_certain, is_imported || is_module)
    }
}
