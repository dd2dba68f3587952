//! Which names are definitions, and of what: by the places where a grammar puts them.

use archway_repo::syntax::Language;
use tree_sitter::Node;

use crate::{
    Kind, binding, declarator, modifiers,
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
    /// Where its content ends, in bytes; 0 if nothing is inside of it.
    pub(crate) end: usize,
    /// The owner that the declaration itself names, as Go's receivers.
    pub(crate) owner: Option<String>,
    pub(crate) is_exported: bool,
    /// The lines of the function or block in which its bare name is visible.
    pub(crate) visible: Option<(u32, u32)>,
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
    let at = path.0.len().checked_sub(place.up + 1)?;
    let (above, declaring) = (path.0.get(..at)?, path.0.get(at)?.node);
    let name = path.last()?.node;
    let statement = outer(above, declaring, true);
    let head = text.get(statement.start_byte()..name.start_byte());
    let head = head.unwrap_or_default();
    let body = body(declaring);
    // The rest of the file is in it.
    let is_open_ended = declaring.kind() == "file_scoped_namespace_declaration"
        || (language == Language::Php && kind == Kind::Module && body.is_none());
    let end = match (is_open_ended, is_flat(declaring, kind)) {
        (true, _) => usize::MAX,
        (false, true) => 0,
        (false, false) => declaring.end_byte(),
    };
    let is_bare = !is_member(scope) && !matches!(kind, Kind::Method | Kind::Field | Kind::Macro);
    Some(Found {
        kind,
        visible: binding::visible(language, above).filter(|_| is_bare),
        outer: outer(above, declaring, false),
        body,
        end,
        owner: place.owner,
        is_exported: place.is_exported
            || modifiers::is_exported(language, head, name_text(text, name), scope),
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

/// The type that an `impl` of Rust adds members to, and whether they are exported with it, as those
/// of a trait. `None` for any other node.
pub(crate) fn extended(language: Language, text: &str, node: Node<'_>) -> Option<(String, bool)> {
    if language != Language::Rust || node.kind() != "impl_item" {
        return None;
    }
    let of = node.child_by_field_name("type")?;
    let is_of_trait = node.child_by_field_name("trait").is_some();
    Some((type_name(text, of), is_of_trait))
}

/// The node of a declaration with what belongs to it. If `is_shared`, also a statement that declares
/// others.
fn outer<'t>(above: &[Step<'t>], declaring: Node<'t>, is_shared: bool) -> Node<'t> {
    let mut outer = declaring;
    for step in above.iter().rev() {
        let wraps = match step.kind {
            "export_statement"
            | "decorated_definition"
            | "template_declaration"
            | "ambient_declaration"
            | "expression_statement" => true,
            "lexical_declaration"
            | "variable_declaration"
            | "const_declaration"
            | "var_declaration"
            | "type_declaration"
            | "field_declaration"
            | "constant_declaration"
            | "event_field_declaration"
            | "property_declaration" => is_shared || is_alone(step.node, outer),
            _ => false,
        };
        if !wraps {
            break;
        }
        outer = step.node;
    }
    outer
}

/// Whether no other child of a node is of the same kind.
fn is_alone(parent: Node<'_>, child: Node<'_>) -> bool {
    let mut cursor = parent.walk();
    let mut children = parent.named_children(&mut cursor);
    !children.any(|other| other.kind() == child.kind() && other.id() != child.id())
}

/// Whether other names may be in a definition's node that are not inside of it, as in `int a, b;`.
fn is_flat(node: Node<'_>, kind: Kind) -> bool {
    let is_value = matches!(kind, Kind::Constant | Kind::Variable | Kind::Field);
    let is_single = matches!(
        node.kind(),
        "variable_declarator"
            | "pair"
            | "field_definition"
            | "public_field_definition"
            | "enum_constant"
            | "const_item"
            | "static_item"
    ) || node.child_by_field_name("accessors").is_some();
    (is_value && !is_single) || node.kind() == "type_definition"
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
