//! Names in a tree: which nodes are names, their texts, and what the place of one says.

use tree_sitter::Node;

use crate::{Kind, path::Path};

/// A definition, or another owner of names, around the present node.
pub(crate) struct Open {
    pub(crate) end: usize,
    /// Its definition; `None` for an `impl` or an extension of a type that is defined elsewhere.
    pub(crate) definition: Option<u32>,
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// Its members are exported with it, as those of a trait.
    pub(crate) exports: bool,
    pub(crate) is_test: bool,
}

/// What encloses the present node, as far as a definition depends on it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Scope<'a> {
    /// The innermost owner's kind.
    pub(crate) kind: Option<Kind>,
    /// The innermost owner's name.
    pub(crate) name: &'a str,
    /// Whether a function is around: names there are local.
    pub(crate) is_local: bool,
    /// Whether members of the innermost owner are exported with it.
    pub(crate) exports: bool,
}

/// What the place of a name says.
#[derive(Default)]
pub(crate) struct Place {
    pub(crate) kind: Option<Kind>,
    /// How many nodes above the name the declaring one is.
    pub(crate) up: usize,
    pub(crate) owner: Option<String>,
    pub(crate) is_assignment: bool,
    /// An owner that exports, as `exports.name = …`.
    pub(crate) is_exported: bool,
}

impl Place {
    pub(crate) fn of(kind: Kind, up: usize) -> Place {
        Place {
            kind: Some(kind),
            up,
            ..Place::default()
        }
    }
}

/// Whether a node is a name as a whole, whatever it contains.
pub(crate) fn is_name(path: Path<'_, '_>) -> bool {
    match path.kind() {
        "identifier"
        | "type_identifier"
        | "field_identifier"
        | "property_identifier"
        | "private_property_identifier"
        | "shorthand_property_identifier"
        | "shorthand_property_identifier_pattern"
        | "shorthand_field_identifier"
        | "namespace_identifier"
        | "package_identifier"
        | "constant"
        | "name"
        | "operator_name"
        | "destructor_name"
        | "setter" => true,
        "operator" => matches!(path.up().kind(), "method" | "singleton_method"),
        // The whole name of a namespace.
        "qualified_name"
        | "nested_namespace_specifier"
        | "namespace_name"
        | "nested_identifier" => path.field() == "name" && is_namespace(path.up().kind()),
        _ => false,
    }
}

fn is_namespace(kind: &str) -> bool {
    matches!(
        kind,
        "namespace_declaration"
            | "file_scoped_namespace_declaration"
            | "namespace_definition"
            | "internal_module"
            | "module"
    )
}

/// The text of a name. That of a conversion has `operator` and the type, without parameters. A symbol has
/// no colon.
pub(crate) fn name_text<'a>(text: &'a str, node: Node<'_>) -> &'a str {
    let name = text.get(node.byte_range()).unwrap_or_default();
    match node.kind() {
        "simple_symbol" => return name.strip_prefix(':').unwrap_or(name),
        "operator_cast" => {}
        _ => return name,
    }
    let of = node.child_by_field_name("type");
    let type_end = of.map_or(0, |of| of.end_byte() - node.start_byte());
    let open = name.get(type_end..).and_then(|rest| rest.find('('));
    let name = open.and_then(|open| name.get(..type_end + open));
    name.unwrap_or_default().trim_end()
}

/// The name of a type without path, arguments, references and pointers.
pub(crate) fn type_name(text: &str, of: Node<'_>) -> String {
    let mut node = of;
    // No name is nested deeper.
    for _ in 0..8 {
        let inner = match node.kind() {
            "generic_type" | "reference_type" | "pointer_type" | "template_type" => {
                let typed = node.child_by_field_name("type");
                typed
                    .or_else(|| node.child_by_field_name("name"))
                    .or_else(|| node.named_child(0))
            }
            "scoped_type_identifier" | "qualified_type" | "qualified_identifier" => {
                node.child_by_field_name("name")
            }
            _ => None,
        };
        let Some(inner) = inner else { break };
        node = inner;
    }
    let name = name_text(text, node);
    name.chars()
        .take(100)
        .filter(|c| !c.is_whitespace())
        .collect()
}

/// A line number, from 1.
pub(crate) fn row(row: usize) -> u32 {
    u32::try_from(row + 1).unwrap_or(u32::MAX)
}

/// Names around a definition that are kept, in bytes: the innermost ones.
const MAX_CONTAINER: usize = 400;

/// The names around a definition, as one text; those that are empty are left out.
pub(crate) fn container(mut names: Vec<&str>, separator: &str) -> Option<String> {
    names.retain(|name| !name.is_empty());
    let mut left = MAX_CONTAINER;
    let fits = |name: &&&str| {
        let rest = left.checked_sub(name.len());
        left = rest.unwrap_or(0);
        rest.is_some()
    };
    let kept = names.iter().rev().take_while(fits).count();
    names.drain(..names.len() - kept);
    (!names.is_empty()).then(|| names.join(separator))
}
