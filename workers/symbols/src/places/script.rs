//! Names in JavaScript and TypeScript, which may be bound, assigned or exported.

use tree_sitter::Node;

use crate::{
    Kind,
    naming::{Place, Scope, name_text},
    path::Path,
};

pub(super) fn place(text: &str, path: Path<'_, '_>, scope: Scope<'_>) -> Option<Place> {
    let (parent, field) = path.place();
    let kind = match (parent, field) {
        (
            "function_declaration" | "generator_function_declaration" | "function_signature",
            "name",
        ) => Kind::Function,
        ("method_definition" | "method_signature" | "abstract_method_signature", "name") => {
            Kind::Method
        }
        ("class_declaration" | "abstract_class_declaration", "name") => Kind::Class,
        ("interface_declaration", "name") => Kind::Interface,
        ("type_alias_declaration", "name") => Kind::Type,
        ("enum_declaration", "name") => Kind::Enum,
        ("enum_body" | "enum_assignment", "name") => {
            return Some(Place::of(
                Kind::Constant,
                usize::from(parent != "enum_body"),
            ));
        }
        ("internal_module" | "module", "name") => Kind::Module,
        ("property_signature", "name") => {
            // Members of a type that has no name of its own are none's.
            if scope.kind.is_none() || scope.is_local {
                return None;
            }
            Kind::Field
        }
        ("public_field_definition", "name") | ("field_definition", "property") => {
            function_or(path, "value", Kind::Field)?
        }
        ("pair", "key") => function_or(path, "value", Kind::Field)
            .filter(|kind| *kind == Kind::Function && !scope.is_local)?,
        ("variable_declarator", "name") => return variable(text, path, scope),
        ("member_expression", "property") => return assigned(text, path),
        _ => return None,
    };
    let is_member = matches!(kind, Kind::Function) && parent != "function_declaration";
    let is_field = matches!(
        parent,
        "public_field_definition" | "field_definition" | "pair"
    );
    let kind = if is_member && is_field {
        Kind::Method
    } else {
        kind
    };
    Some(Place::of(kind, 1))
}

/// A function or class if the value of the declaration around is one.
fn function_or(path: Path<'_, '_>, field: &str, other: Kind) -> Option<Kind> {
    let declaring = path.up().last()?.node;
    let value = declaring.child_by_field_name(field);
    Some(value.and_then(value_kind).unwrap_or(other))
}

fn value_kind(value: Node<'_>) -> Option<Kind> {
    match value.kind() {
        "function_expression" | "arrow_function" | "generator_function" => Some(Kind::Function),
        "class" => Some(Kind::Class),
        _ => None,
    }
}

fn variable(text: &str, path: Path<'_, '_>, scope: Scope<'_>) -> Option<Place> {
    // Loops declare theirs elsewhere.
    let statement = path.up().up().last()?.node;
    if !matches!(
        statement.kind(),
        "lexical_declaration" | "variable_declaration"
    ) {
        return None;
    }
    let declared = if text.get(statement.byte_range())?.starts_with("const") {
        Kind::Constant
    } else {
        Kind::Variable
    };
    let kind = function_or(path, "value", declared)?;
    // What a module requires is imported, and blocks have variables of their own.
    let value = path.up().last()?.node.child_by_field_name("value");
    let value = value.and_then(|value| text.get(value.byte_range()));
    let is_required = value.is_some_and(|value| value.starts_with("require("));
    let top = path.up().up().up().kind();
    let is_global = matches!(top, "program" | "export_statement" | "statement_block")
        && !scope.is_local
        && (top != "statement_block" || scope.kind == Some(Kind::Module));
    let is_function = kind != declared;
    (is_function || (is_global && !is_required)).then(|| Place::of(kind, 1))
}

/// `exports.name = function`, `Type.prototype.name = function`.
fn assigned(text: &str, path: Path<'_, '_>) -> Option<Place> {
    if path.up().place() != ("assignment_expression", "left") {
        return None;
    }
    let assignment = path.up().up().last()?.node;
    let kind = value_kind(assignment.child_by_field_name("right")?)?;
    let object = path.up().last()?.node.child_by_field_name("object")?;
    let owner = name_text(text, object);
    let is_module = matches!(owner, "exports" | "module.exports" | "module");
    let is_nameless = is_module || matches!(owner, "this" | "self" | "window");
    if name_text(text, path.last()?.node) == "exports" || owner.len() > 100 {
        return None;
    }
    let owner = owner.strip_suffix(".prototype").unwrap_or(owner);
    Some(Place {
        owner: (!is_nameless).then(|| owner.to_owned()),
        is_exported: is_module,
        ..Place::of(kind, 2)
    })
}
