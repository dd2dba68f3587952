//! Collects the declarations of a source file, in the order of the text, with their comments.

use std::ops::Range;

use archway_repo::{
    Cancel, Stopped,
    syntax::{Language, Syntax, Walk},
};
use tree_sitter::Node;

use super::{
    DeclarationPlace, MAX_CHUNKS,
    comment::{self, CommentsAbove},
    declaration::{Declaration, Reader, Role},
    macros::begin,
    size::STRUCTURED,
};

/// Deepest nesting of declarations; deeper ones are part of their owner.
const MAX_DEPTH: usize = 16;

/// Least size in bytes of a separate chunk for a function inside a long one: a handler of a few lines
/// is better read where it is used.
const MIN_NESTED: usize = 400;

/// A declaration, or a range to leave out.
#[derive(Debug)]
pub(super) struct Item {
    /// `None` for a range to leave out.
    pub(super) role: Option<Role>,
    pub(super) symbol: Option<String>,
    pub(super) parent: Option<String>,
    /// Whether `parent` is a type.
    pub(super) is_member: bool,
    /// From the start of its comment to the end of its last line.
    pub(super) bytes: Range<usize>,
    pub(super) doc: Option<Range<usize>>,
    /// Where its code stands.
    pub(super) place: Option<DeclarationPlace>,
}

/// The items found so far.
struct ItemCollector<'a> {
    reader: Reader<'a>,
    items: Vec<Item>,
    /// Indexes of the items around the present node.
    open: Vec<usize>,
    /// The node whose declaration was already taken with its wrapper.
    taken: Option<usize>,
    above: CommentsAbove,
    /// Words that are in no node.
    unread: &'a [Range<usize>],
}

/// The declarations of `text`, each after the one that contains it.
///
/// # Errors
/// If `cancel` stops the work.
pub(super) fn items(
    text: &str,
    language: Language,
    syntax: &Syntax<'_>,
    cancel: &Cancel,
) -> Result<Vec<Item>, Stopped> {
    let mut collector = ItemCollector {
        reader: Reader { language, text },
        items: Vec::new(),
        open: Vec::new(),
        taken: None,
        above: CommentsAbove::default(),
        unread: syntax.unread(),
    };
    let root = syntax.root();
    syntax.walk(root, cancel, |node| {
        if node == root {
            return Walk::Into;
        }
        collector.visit(node)
    })?;
    Ok(collector.items)
}

impl ItemCollector<'_> {
    fn visit(&mut self, node: Node<'_>) -> Walk {
        let Reader { text, language } = self.reader;
        // Punctuation and keywords are most of the nodes, and none of what follows.
        let kind = if node.is_named() { node.kind() } else { "" };
        if comment::is_comment(kind) {
            let licence = self.above.comment(node, text, language);
            self.skip(licence);
            return Walk::Past;
        }
        if self.items.len() >= MAX_CHUNKS {
            return Walk::Past;
        }
        if comment::is_attribute(kind) {
            self.above.attribute(node, text);
            return Walk::Past;
        }
        self.leave(node.start_byte());
        let owner = self.owner().and_then(|owner| owner.role);
        // An import inside a function is part of it.
        let is_import = owner != Some(Role::Function) && is_import(node, kind, &self.reader);
        let licence = self.above.code(node, is_import);
        self.skip(licence);
        if is_import {
            self.above.forget();
            self.skip(Some(node.byte_range()));
            return Walk::Past;
        }
        let enclosing = self.owner().and_then(|owner| owner.symbol.as_deref());
        match self.reader.declaration(node, enclosing) {
            Some(declared) if self.taken != Some(declared.node.id()) => self.take(node, declared),
            _ => Walk::Into,
        }
    }

    /// Leaves items that end by `at`.
    fn leave(&mut self, at: usize) {
        while self.owner().is_some_and(|owner| owner.bytes.end <= at) {
            self.open.pop();
        }
    }

    /// The innermost declaration around the present node.
    fn owner(&self) -> Option<&Item> {
        self.items.get(*self.open.last()?)
    }

    fn skip(&mut self, bytes: Option<Range<usize>>) {
        self.items.extend(bytes.map(Item::skipped));
    }

    /// Adds a declaration, unless it is just part of its owner.
    fn take(&mut self, node: Node<'_>, declared: Declaration<'_>) -> Walk {
        self.taken = Some(declared.node.id());
        let owner = self.owner();
        let role = owner.and_then(|owner| owner.role);
        if !is_separate(node, &declared, role) || self.open.len() >= MAX_DEPTH {
            return Walk::Past;
        }
        let is_member = role.is_some_and(Role::is_type) || declared.parent.is_some();
        let around = owner.and_then(|owner| owner.symbol.clone());
        let (bytes, doc) = self.extent(node, declared.body);
        self.items.push(Item {
            role: Some(declared.role),
            symbol: declared.symbol.clone(),
            parent: declared.parent.clone().or(around),
            is_member,
            bytes,
            doc,
            place: place(self.reader.text, &declared),
        });
        if !may_hold_others(declared.role, node, self.reader.language) {
            return Walk::Past;
        }
        self.open.push(self.items.len() - 1);
        if matches!(declared.role, Role::Extension | Role::Module) {
            self.skip(head(&declared));
        }
        Walk::Into
    }

    /// The range of a declaration, and its comment.
    fn extent(
        &mut self,
        node: Node<'_>,
        body: Option<Node<'_>>,
    ) -> (Range<usize>, Option<Range<usize>>) {
        let text = self.reader.text;
        let (mut start, mut doc) = (begin(text, self.unread, node.start_byte()), None);
        if let Some(above) = self.above.take(node, start, text) {
            start = above.bytes.start;
            doc = above.doc;
        }
        let string = body.and_then(comment::docstring);
        let bytes = line_start(text, start)..line_end(text, node.end_byte());
        (bytes, string.or(doc))
    }
}

impl Item {
    fn skipped(bytes: Range<usize>) -> Item {
        Item {
            role: None,
            symbol: None,
            parent: None,
            is_member: false,
            bytes,
            doc: None,
            place: None,
        }
    }
}

/// Where a declaration stands, without white space at its end.
fn place(text: &str, declared: &Declaration<'_>) -> Option<DeclarationPlace> {
    let (node, small) = (declared.node, |number| u32::try_from(number).ok());
    let code = text.get(node.byte_range())?;
    let written = code.trim_end();
    let breaks_after = code.get(written.len()..)?.matches('\n').count();
    let end = node.start_byte() + written.len();
    let body = declared.body.map_or(end, |body| body.start_byte());
    let last = node.end_position().row.checked_sub(breaks_after)?;
    Some(DeclarationPlace {
        bytes: (small(node.start_byte())?, small(end)?),
        lines: (small(node.start_position().row + 1)?, small(last + 1)?),
        body: small(body)?,
    })
}

/// The head of a module or an `impl`, to leave out: its content repeats the name.
fn head(declared: &Declaration<'_>) -> Option<Range<usize>> {
    let (node, body) = (declared.node, declared.body?);
    let end = match body.kind() {
        "object" => return None,
        // Ruby's modules have no bracket: a comment may precede the node of the body.
        "body_statement" => node.child_by_field_name("name")?.end_byte(),
        _ => body.start_byte() + 1,
    };
    Some(node.start_byte()..end)
}

/// Whether to look for declarations inside this one.
fn may_hold_others(role: Role, node: Node<'_>, language: Language) -> bool {
    match role {
        Role::Function => !STRUCTURED.holds(node.end_byte() - node.start_byte()),
        Role::Type => false,
        // A struct inside a struct is the layout of a field.
        Role::Class => language != Language::C,
        Role::Interface | Role::Extension | Role::Module => true,
    }
}

/// Whether a declaration is more than a part of its owner.
fn is_separate(node: Node<'_>, declared: &Declaration<'_>, owner: Option<Role>) -> bool {
    match (owner, declared.role) {
        (Some(Role::Function), _) => node.end_byte() - node.start_byte() >= MIN_NESTED,
        (Some(owner), Role::Function) if owner.is_type() => declared.body.is_some(),
        (Some(owner), Role::Type) => !owner.is_type(),
        _ => true,
    }
}

/// Whether a node of this kind just names what a file uses, or where it belongs.
fn is_import(node: Node<'_>, kind: &str, reader: &Reader<'_>) -> bool {
    match kind {
        "use_declaration"
        | "extern_crate_declaration"
        | "import_statement"
        | "import_from_statement"
        | "future_import_statement"
        | "import_declaration"
        | "package_clause"
        | "package_declaration"
        | "preproc_include"
        | "using_directive"
        | "file_scoped_namespace_declaration"
        | "namespace_use_declaration" => true,
        "mod_item" | "namespace_definition" => {
            matches!(reader.language, Language::Rust | Language::Php)
                && node.child_by_field_name("body").is_none()
        }
        "lexical_declaration" | "variable_declaration" => {
            let bound = node.named_child(0);
            let value = bound.and_then(|bound| bound.child_by_field_name("value"));
            node.named_child_count() == 1 && value.is_some_and(|value| reader.requires(value))
        }
        "call" => reader.language == Language::Ruby && reader.requires(node),
        _ => false,
    }
}

/// The start of the line, if only white space precedes `at`.
fn line_start(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or_default();
    let indented = before.trim_end_matches([' ', '\t']);
    if indented.is_empty() || indented.ends_with('\n') {
        indented.len()
    } else {
        at
    }
}

/// The end of the line, if only a comment or the end of a statement follows `at`.
fn line_end(text: &str, at: usize) -> usize {
    let line = text.get(at..).unwrap_or_default();
    let line = line.split('\n').next().unwrap_or_default();
    let rest = line.trim_start_matches([' ', '\t', '\r', ';', ',', ')']);
    if rest.is_empty() || rest.starts_with("//") || rest.starts_with('#') {
        at + line.len()
    } else {
        at
    }
}
