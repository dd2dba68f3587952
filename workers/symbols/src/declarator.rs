//! Names in the declarations of C and C++, which are nested in declarators.

use tree_sitter::Node;

use crate::{
    Kind,
    naming::{Place, Scope, name_text, type_name},
    path::{Path, Step},
};

/// Deepest nesting of a name in declarators.
const MAX_DEPTH: usize = 16;

/// Words that errors in a text may leave where a name stands.
const WORDS: [&str; 12] = [
    "if", "else", "for", "while", "switch", "do", "return", "case", "double", "float", "int",
    "char",
];

/// What the place of a name defines.
pub(crate) fn place(text: &str, path: Path<'_, '_>, scope: Scope<'_>) -> Option<Place> {
    // A specialization of a template has arguments after its name.
    let is_special = path.place() == ("template_type", "name");
    let (named, up) = match is_special {
        true => (path.up(), 2),
        false => (path, 1),
    };
    if named.field() == "name" {
        let kind = match named.up().kind() {
            "struct_specifier" | "union_specifier" => Some(Kind::Struct),
            "class_specifier" => Some(Kind::Class),
            "enum_specifier" => Some(Kind::Enum),
            "enumerator" => return Some(Place::of(Kind::Constant, 1)),
            "preproc_def" | "preproc_function_def" => return Some(Place::of(Kind::Macro, 1)),
            "namespace_definition" => return Some(Place::of(Kind::Module, 1)),
            "alias_declaration" | "concept_definition" => return Some(Place::of(Kind::Type, 1)),
            _ => None,
        };
        if let Some(kind) = kind {
            // Without a body it is a use of the type.
            let specifier = named.up().last()?.node;
            specifier.child_by_field_name("body")?;
            return Some(Place::of(kind, up));
        }
    }
    declared(text, path, scope)
}

/// A name in a declarator.
fn declared(text: &str, path: Path<'_, '_>, scope: Scope<'_>) -> Option<Place> {
    let mut owner = None;
    let (mut at, mut up, mut wrapper) = (path, 0, "");
    for _ in 0..MAX_DEPTH {
        let (kind, field) = at.place();
        if !is_wrapper(kind, field) {
            if at.kind() == "operator_cast" && wrapper.is_empty() {
                wrapper = "operator_cast";
            }
            break;
        }
        if kind == "qualified_identifier" {
            let around = at.up().last()?.node.child_by_field_name("scope");
            owner = join(around.map(|of| type_name(text, of)), owner);
        } else if wrapper.is_empty() && !kind.starts_with("template_") {
            wrapper = kind;
        }
        (at, up) = (at.up(), up + 1);
    }
    let (kind, field) = at.place();
    if field != "declarator" {
        return None;
    }
    let is_function = matches!(wrapper, "function_declarator" | "operator_cast");
    if is_macro_call(text, path, at) {
        return None;
    }
    // The head of a function around may be one that the grammar does not know.
    let is_local = scope.is_local || path.0.iter().any(|it| it.kind == "compound_statement");
    let defined = match kind {
        "function_definition" if is_function => Kind::Function,
        "declaration" | "field_declaration" if is_function && !is_local => Kind::Function,
        "field_declaration" => Kind::Field,
        "declaration" if !is_local && !is_extern(text, at.up().last()?.node) => Kind::Variable,
        "type_definition" => Kind::Type,
        _ => return None,
    };
    Some(Place {
        owner: owner.filter(|owner| owner != scope.name),
        ..Place::of(defined, up + 1)
    })
}

/// Whether the name of a declarator is inside of this field.
fn is_wrapper(kind: &str, field: &str) -> bool {
    match kind {
        "qualified_identifier" | "template_function" | "template_type" => field == "name",
        "parenthesized_declarator" | "attributed_declarator" | "reference_declarator" => {
            field.is_empty()
        }
        "pointer_declarator" | "function_declarator" | "array_declarator" | "init_declarator" => {
            field == "declarator"
        }
        _ => false,
    }
}

/// Whether what looks like a function is a statement: its name is a word of the language, or it has no type
/// and stands in a block.
fn is_macro_call(text: &str, path: Path<'_, '_>, declarator: Path<'_, '_>) -> bool {
    let name = path.last().map_or("", |it| name_text(text, it.node));
    if WORDS.contains(&name) {
        return true;
    }
    let definition = declarator.up();
    let is_in_block = definition.up().kind() == "compound_statement";
    let has_type = |it: &Step<'_>| it.node.child_by_field_name("type").is_some();
    definition.kind() == "function_definition"
        && is_in_block
        && !definition.last().is_some_and(has_type)
}

fn join(outer: Option<String>, inner: Option<String>) -> Option<String> {
    match (outer, inner) {
        (Some(outer), Some(inner)) => Some(format!("{outer}::{inner}")),
        (outer, inner) => outer.or(inner),
    }
}

/// Whether a declaration says that the variable is defined elsewhere.
fn is_extern(text: &str, declaration: Node<'_>) -> bool {
    let start = text.get(declaration.byte_range()).unwrap_or_default();
    start.starts_with("extern") && !start.contains('=')
}
