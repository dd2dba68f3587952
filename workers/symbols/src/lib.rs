//! Symbols of source code: what a text defines and which names it uses, from one parse.
//!
//! Nothing here knows projects or tenants but the cache, whose keys name both. A name is found in
//! its syntactic place: strings and comments have none. What a name refers to is decided by the
//! caller, who knows the other files.

// In the order in which a text passes through them.
mod cache;
mod headers;
mod extract;
mod unread;
mod columns;
mod adopt;
mod path;
mod naming;
mod names;
mod shared;
mod define;
mod modifiers;
mod declarator;
mod classify;
mod binding;
mod receiver;
mod places;
mod describe;
mod spelling;
mod scopes;
mod query;
#[cfg(test)]
mod tests;

use archway_repo::{
    Cancel,
    syntax::{Language, SyntaxError},
};

pub use cache::{Parsed, SymbolCache};
pub use query::{Match, NameQuery};
pub use scopes::Scopes;
pub use spelling::is_word;

/// What kind of thing a name is defined as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A function outside of types.
    Function,
    /// A function of a type.
    Method,
    /// A class or record.
    Class,
    /// An interface or annotation type.
    Interface,
    /// A struct or union.
    Struct,
    /// An enumeration.
    Enum,
    /// A trait.
    Trait,
    /// An alias or another named type.
    Type,
    /// A constant, or a value of an enumeration.
    Constant,
    /// A variable of a module.
    Variable,
    /// A module or namespace.
    Module,
    /// A macro.
    Macro,
    /// A field or property of a type.
    Field,
}

impl Kind {
    /// Whether its members are methods and fields.
    pub fn is_type(self) -> bool {
        use Kind::{Class, Enum, Interface, Struct, Trait};
        matches!(self, Class | Interface | Struct | Enum | Trait)
    }

    /// Whether names defined inside are local.
    pub fn is_callable(self) -> bool {
        matches!(self, Kind::Function | Kind::Method | Kind::Macro)
    }
}

/// The definition of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The identifier.
    pub name: Box<str>,
    /// What it is.
    pub kind: Kind,
    /// The names around it, joined by the language's separator.
    pub container: Option<Box<str>>,
    /// The definition around it, by position in [`Symbols::definitions`].
    pub parent: Option<u32>,
    /// First and last line, from 1, without the comment above.
    pub lines: (u32, u32),
    /// The line of the name itself.
    pub name_line: u32,
    /// On one line, at most 300 characters, without the body.
    pub signature: Box<str>,
    /// The first sentence of its comment.
    pub doc: Option<Box<str>>,
    /// Whether other files may use it, as far as its own declaration says.
    pub is_exported: bool,
    /// The first and last line in which its bare name is visible; `None` if it is a member, or the
    /// whole text is.
    pub visible: Option<(u32, u32)>,
    /// Whether it is test code by its place in the text.
    pub is_test: bool,
    /// Whether it has a body or value; a prototype has none.
    pub is_whole: bool,
}

/// How a name is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum UseKind {
    /// It is called, or an object of it is made.
    Call,
    /// An import names it, and binds the name.
    Import,
    /// An import or an export of another module names it, and binds no such name.
    Unbound,
    /// It stands as a type.
    Type,
    /// A value is assigned to it.
    Write,
    /// Anything else.
    Other,
    /// A parameter or local variable of this name begins: no use, but later ones mean it.
    Local,
}

impl UseKind {
    /// Whether an import names it.
    pub fn is_import(self) -> bool {
        matches!(self, UseKind::Import | UseKind::Unbound)
    }
}

/// What stands before a name, as `a` in `a.name`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receiver {
    /// Nothing: the name is looked up in scope.
    None,
    /// The object or type around: `self`, `this`. Not in Rust, where such a member has the name of its
    /// type before it, and `self::name` has nothing.
    Own,
    /// A single name, by its number.
    Name(u32),
    /// An expression.
    Unknown,
}

/// The use of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// The number of the name.
    pub name: u32,
    /// From 1.
    pub line: u32,
    /// In characters, from 1.
    pub column: u32,
    /// How it is used.
    pub kind: UseKind,
    /// What stands before it.
    pub receiver: Receiver,
    /// The definition around it, by position in [`Symbols::definitions`].
    pub within: Option<u32>,
}

/// Where a parameter or local variable of a name begins, and how far it is visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Local {
    /// Its first line, from 1.
    pub line: u32,
    /// The last line of the function or block around.
    pub last_line: u32,
}

/// What a text defines and uses.
#[derive(Debug, Default)]
pub struct Symbols {
    /// In the order of the text.
    pub definitions: Vec<Definition>,
    /// In the order of the text.
    pub uses: Vec<Use>,
    /// The names of uses, by number.
    names: Vec<Box<str>>,
    /// The last lines in which locals are visible, one for each use that is [`UseKind::Local`].
    last_lines: Vec<u32>,
    /// Whether the head of the text says that a program wrote it.
    pub is_generated: bool,
}

impl Symbols {
    /// The symbols of [`Parsed::of`].
    ///
    /// # Errors
    /// As [`Parsed::of`].
    pub fn of(language: Language, text: &[u8], cancel: &Cancel) -> Result<Symbols, SyntaxError> {
        Ok(Parsed::of(language, text, cancel)?.symbols)
    }

    /// The text of a name.
    pub fn name(&self, number: u32) -> &str {
        self.names.get(number as usize).map_or("", |name| name)
    }

    /// The number of a name; `None` if the text does not use it.
    pub fn number(&self, name: &str) -> Option<u32> {
        let at = self.names.iter().position(|known| **known == *name)?;
        u32::try_from(at).ok()
    }

    /// The uses of a name, locals included.
    pub fn uses_of(&self, name: &str) -> impl Iterator<Item = &Use> {
        let number = self.number(name);
        self.uses.iter().filter(move |it| Some(it.name) == number)
    }

    /// The parameters and local variables of a name.
    pub fn locals_of(&self, name: &str) -> impl Iterator<Item = Local> {
        let number = self.number(name);
        let locals = self.uses.iter().filter(|it| it.kind == UseKind::Local);
        let locals = locals.zip(&self.last_lines);
        locals
            .filter(move |(it, _)| Some(it.name) == number)
            .map(|(it, last_line)| Local {
                line: it.line,
                last_line: *last_line,
            })
    }

    /// The functions and blocks with definitions in them. It takes a pass over all definitions.
    pub fn scopes(&self) -> Scopes<'_> {
        Scopes::of(&self.definitions)
    }

    /// The definition at a position.
    pub fn definition(&self, at: Option<u32>) -> Option<&Definition> {
        self.definitions.get(at? as usize)
    }

    /// The definitions around one, from the inside out, itself first.
    pub fn around(&self, at: Option<u32>) -> impl Iterator<Item = (u32, &Definition)> {
        let next = |at: u32| self.definition(Some(at)).map(|it| (at, it));
        std::iter::successors(at.and_then(next), move |(_, it)| it.parent.and_then(next))
    }
}

impl Definition {
    /// The name with its containers.
    pub fn qualified(&self, language: Language) -> String {
        match &self.container {
            Some(container) => format!("{container}{}{}", separator(language), self.name),
            None => self.name.to_string(),
        }
    }
}

/// What stands between a container and a name.
pub fn separator(language: Language) -> &'static str {
    match language {
        Language::Rust | Language::Cpp | Language::C | Language::Ruby | Language::Php => "::",
        _ => ".",
    }
}
