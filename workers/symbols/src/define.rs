//! Which names are definitions, and of what: by the places where a grammar puts them.

use archway_repo::syntax::Language;
use tree_sitter::Node;

use crate::{
    Kind, declarator, modifiers,
    naming::{Scope, name_text, type_name},
    path::{Path, Step},
    places,
};

/// A definition that a name was found to be.
pub(crate) struct Found<'t> {
    pub(crate) kind: Kind,
    /// The declaring node, with what belongs to it: `export`, decorators, modifiers.
    pub(crate) outer: Node<'t>,
    /// Its body or value.
    pub(crate) body: Option<Node<'t>>,
    /// Where its content ends, in bytes.
    pub(crate) end: usize,
    /// The owner that the declaration itself names, as Go's receivers.
    pub(crate) owner: Option<String>,
    pub(crate) is_exported: bool,
    /// It may stand several times; the first is the definition.
    pub(crate) is_assignment: bool,
}

/// The definition that a name is; `None` if it is a use.
pub(crate) fn found<'t>(
    language: Language,
    text: &str,
    path: Path<'_, 't>,
    scope: Scope<'_>,
) -> Option<Found<'t>> {
    let place = match language {
        Language::C | Language::Cpp => declarator::place(text, path, scope)?,
        _ => places::place(language, text, path, scope)?,
    };
    let kind = match place.kind? {
        Kind::Function if place.owner.is_some() => Kind::Method,
        Kind::Function if is_member(scope) => Kind::Method,
        kind => kind,
    };
    let declaring = path.0.len().checked_sub(place.up + 1)?;
    let outer = outer(path.0.get(..=declaring).unwrap_or_default());
    let node = path.0.get(declaring)?.node;
    let name = path.last()?.node;
    let head = text.get(outer.start_byte()..name.start_byte());
    let is_exported = place.is_exported
        || modifiers::is_exported(
            language,
            head.unwrap_or_default(),
            name_text(text, name),
            scope,
        );
    let is_open_ended = node.kind() == "file_scoped_namespace_declaration"
        || (language == Language::Php
            && node.kind() == "namespace_definition"
            && body(node).is_none());
    Some(Found {
        kind,
        outer,
        body: body(node),
        end: if is_open_ended {
            usize::MAX
        } else {
            node.end_byte()
        },
        owner: place.owner,
        is_exported,
        is_assignment: place.is_assignment,
    })
}

fn is_member(scope: Scope<'_>) -> bool {
    scope.kind.is_some_and(Kind::is_type)
}

/// Whether what stands in such a definition is exported with it.
pub(crate) fn exports_members(language: Language, kind: Kind) -> bool {
    match language {
        Language::Rust => matches!(kind, Kind::Trait | Kind::Enum),
        _ => matches!(kind, Kind::Interface | Kind::Trait | Kind::Enum),
    }
}

/// The type that a node adds members to, and whether they are exported with it: an `impl` of Rust, an
/// object that `class << self` opens.
pub(crate) fn extended(language: Language, text: &str, node: Node<'_>) -> Option<(String, bool)> {
    if language != Language::Rust || node.kind() != "impl_item" {
        return None;
    }
    let of = node.child_by_field_name("type")?;
    let is_of_trait = node.child_by_field_name("trait").is_some();
    Some((type_name(text, of), is_of_trait))
}

/// The node with what belongs to a declaration.
fn outer<'t>(path: &[Step<'t>]) -> Node<'t> {
    let mut steps = path.iter().rev();
    let Some(mut outer) = steps.next().map(|step| step.node) else {
        unreachable!("a name has a place in the tree")
    };
    for step in steps {
        let wraps = match step.kind {
            "export_statement" | "decorated_definition" | "template_declaration"
            | "ambient_declaration" | "expression_statement" => true,
            "lexical_declaration" | "variable_declaration" | "const_declaration"
            | "var_declaration" | "type_declaration" | "field_declaration"
            | "constant_declaration" | "event_field_declaration" | "property_declaration" => {
                step.node.named_child_count() <= outer_siblings(outer)
            }
            _ => false,
        };
        if !wraps {
            break;
        }
        outer = step.node;
    }
    outer
}

/// How many named children the wrapper of a node may have to have no other declaration.
fn outer_siblings(inner: Node<'_>) -> usize {
    match inner.kind() {
        // Modifiers and the type.
        "variable_declarator" | "variable_declaration" | "property_element" => 4,
        _ => 1,
    }
}

/// The body or value of a declaring node.
fn body(node: Node<'_>) -> Option<Node<'_>> {
    if let Some(body) = node.child_by_field_name("body") {
        return Some(body);
    }
    let value = node.child_by_field_name("value");
    let value = value.or_else(|| node.child_by_field_name("right"));
    if let Some(value) = value {
        return value.child_by_field_name("body").or(Some(value));
    }
    let accessors = node.child_by_field_name("accessors");
    let aliased = node.child_by_field_name("type");
    accessors.or_else(|| aliased?.child_by_field_name("body"))
}
