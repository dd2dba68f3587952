//! How a name is used, by its place in the tree.

use crate::{
    UseKind,
    binding::is_binding,
    path::Path,
    receiver::{Before, imported_from, token_before, whole},
};
use archway_repo::syntax::Language;
use tree_sitter::Node;

/// An assignment of exports is this near to the root.
const MAX_DEPTH: usize = 8;

/// Whether an import begins at a node.
pub(crate) fn is_import(language: Language, text: &str, path: Path<'_, '_>) -> bool {
    match path.kind() {
        "use_declaration"
        | "extern_crate_declaration"
        | "import_statement"
        | "import_from_statement"
        | "future_import_statement"
        | "import_declaration"
        | "namespace_use_declaration"
        | "preproc_include" => true,
        "variable_declarator" => {
            let value = path
                .last()
                .and_then(|it| it.node.child_by_field_name("value"));
            let value = value.and_then(|value| text.get(value.byte_range()));
            value.is_some_and(|value| value.starts_with("require("))
        }
        "using_directive" => language == Language::CSharp,
        "using_declaration" => true,
        "export_statement" => path
            .last()
            .is_some_and(|step| step.node.child_by_field_name("source").is_some()),
        _ => false,
    }
}

/// Whether nothing in a node is a name.
pub(crate) fn is_skipped(language: Language, text: &str, path: Path<'_, '_>) -> bool {
    let is_first_branch = path.up().kind() == "preproc_if" && path.field() != "alternative";
    if is_first_branch && is_never(text, path.up()) {
        return true;
    }
    match path.kind() {
        "comment" | "line_comment" | "block_comment" => true,
        "package_clause" | "package_declaration" => true,
        // Of these languages' strings, none contains code.
        "string_literal" | "string" | "raw_string_literal" => {
            !matches!(
                language,
                Language::Python | Language::Ruby | Language::Php | Language::Rust
            ) && path.field() != "name"
        }
        _ => false,
    }
}

/// Whether a condition is `#if 0` or `#if false`, also in brackets.
fn is_never(text: &str, path: Path<'_, '_>) -> bool {
    let condition = path
        .last()
        .and_then(|it| it.node.child_by_field_name("condition"));
    let condition = condition.and_then(|it| text.get(it.byte_range()));
    let is_bracket = |it: char| matches!(it, '(' | ')') || it.is_ascii_whitespace();
    condition.is_some_and(|it| matches!(it.trim_matches(is_bracket), "0" | "false"))
}

/// Whether a name stands in a list of exports.
pub(crate) fn is_exported_name(path: Path<'_, '_>) -> bool {
    match path.place() {
        ("export_specifier", "name") | ("export_statement", "value") => true,
        // `module.exports = name`, `module.exports = { name }`
        ("object", _) | ("assignment_expression", "right") => {
            path.0
                .iter()
                .any(|step| step.kind == "assignment_expression")
                && path.0.len() < MAX_DEPTH
        }
        _ => false,
    }
}

/// How a name is used, and what stands before it; `None` if it names nothing outside of its place.
pub(crate) fn classify<'t>(
    language: Language,
    text: &str,
    path: Path<'_, 't>,
    (is_import, is_local): (bool, bool),
) -> Option<(UseKind, Before<'t>)> {
    if is_import {
        return Some(match binding_of(text, path) {
            Binding::Name => (UseKind::Import, imported_from(language, path)),
            Binding::Other => (UseKind::Unbound, imported_from(language, path)),
            Binding::Alias => (UseKind::Import, Before::Unknown),
        });
    }
    if is_label(language, path) {
        return None;
    }
    let (at, before) = whole(text, path);
    let kind = if is_call(text, at) {
        UseKind::Call
    } else if is_write(at) {
        // An assignment in a function makes a local variable of these languages.
        let makes_local = matches!(language, Language::Python | Language::Ruby);
        match before {
            Before::Nothing if makes_local && is_local => UseKind::Local,
            _ => UseKind::Write,
        }
    } else if matches!(before, Before::Nothing) && is_binding(path) {
        UseKind::Local
    } else if is_type(path, at) {
        UseKind::Type
    } else {
        UseKind::Other
    };
    let before = match before {
        // A key of an object or a member of a type, never a name in scope.
        Before::Nothing if is_member_name(path) || is_intrinsic(text, path) => Before::Unknown,
        Before::Nothing => token_before(text, path),
        before => before,
    };
    Some((kind, before))
}

/// What an import binds where a name stands in it.
enum Binding {
    /// The name.
    Name,
    /// Another name or none, as for `a` in `import { a as b }`.
    Other,
    /// The name, to what has another one.
    Alias,
}

fn binding_of(text: &str, path: Path<'_, '_>) -> Binding {
    let mut at = path;
    while matches!(at.up().kind(), "dotted_name" | "scoped_identifier") {
        at = at.up();
    }
    let (of, field) = at.place();
    let same =
        |one: Node<'_>, other: Node<'_>| text.get(one.byte_range()) == text.get(other.byte_range());
    let (Some(import), Some(name)) = (at.up().last(), path.last()) else {
        return Binding::Name;
    };
    let (import, name) = (import.node, name.node);
    let is_last = at
        .last()
        .is_some_and(|it| it.node.end_byte() == name.end_byte());
    let is_other = |field: &str| {
        let other = import.child_by_field_name(field);
        other.is_some_and(|other| !same(other, name))
    };
    match (of, field) {
        ("export_specifier", "name") => Binding::Other,
        ("import_specifier" | "aliased_import", "name") | ("use_as_clause", "path") => {
            match is_last && is_other("alias") {
                true => Binding::Other,
                false => Binding::Name,
            }
        }
        ("import_specifier" | "aliased_import", "alias") if is_other("name") => Binding::Alias,
        _ => Binding::Name,
    }
}

fn is_member_name(path: Path<'_, '_>) -> bool {
    matches!(
        path.kind(),
        "property_identifier" | "private_property_identifier" | "field_identifier"
    )
}

/// Whether a name is of an element that JSX has itself: one with a small first letter is never in scope.
fn is_intrinsic(text: &str, path: Path<'_, '_>) -> bool {
    let is_element = path.up().kind().starts_with("jsx_") && path.field() == "name";
    let name = path.last().and_then(|it| text.get(it.node.byte_range()));
    is_element && name.is_some_and(|name| name.starts_with(char::is_lowercase))
}

/// How a name in `{ name }` uses the member of the object, too.
pub(crate) fn shorthand(path: Path<'_, '_>) -> Option<UseKind> {
    match path.kind() {
        "shorthand_property_identifier" => Some(UseKind::Write),
        "shorthand_property_identifier_pattern" => Some(UseKind::Other),
        _ => None,
    }
}

/// Names of arguments and labels, and PHP's variables, which are all local.
fn is_label(language: Language, path: Path<'_, '_>) -> bool {
    match path.place() {
        ("keyword_argument", "name") | ("argument", "name") => true,
        ("variable_name", _) => {
            let holder = path.up().place().0;
            language == Language::Php && holder != "scoped_property_access_expression"
        }
        _ => false,
    }
}

fn is_call(text: &str, at: Path<'_, '_>) -> bool {
    let Some(step) = at.last() else { return false };
    match at.place() {
        ("call_expression", "function")
        | ("call", "function" | "method")
        | ("method_invocation", "name")
        | ("invocation_expression", "function")
        | ("function_call_expression", "function")
        | ("member_call_expression" | "nullsafe_member_call_expression", "name")
        | ("scoped_call_expression", "name")
        | ("macro_invocation", "macro")
        | ("new_expression", "constructor" | "type")
        | ("object_creation_expression", "type")
        | ("jsx_opening_element" | "jsx_self_closing_element", "name")
        | ("decorator", _) => true,
        // PHP names the class without a field.
        ("object_creation_expression", "") => matches!(step.kind, "name" | "qualified_name"),
        // Tokens of a macro of Rust are no expressions.
        ("token_tree", _) => {
            let next = text.get(step.node.end_byte()..).unwrap_or_default();
            next.starts_with('(') || next.starts_with("!(") || next.starts_with("![")
        }
        _ => false,
    }
}

fn is_write(at: Path<'_, '_>) -> bool {
    let at = match at.place() {
        ("expression_list" | "pattern_list" | "left_assignment_list", _) => at.up(),
        ("literal_element", _) => at.up(),
        _ => at,
    };
    matches!(
        at.place(),
        (
            "assignment"
                | "assignment_expression"
                | "augmented_assignment"
                | "augmented_assignment_expression"
                | "compound_assignment_expr"
                | "assignment_statement"
                | "operator_assignment",
            "left"
        ) | ("update_expression", _)
            | ("field_initializer", "field")
            | ("keyed_element", "key")
            | ("inc_statement" | "dec_statement", _)
            | ("postfix_unary_expression", _)
    )
}

fn is_type(path: Path<'_, '_>, at: Path<'_, '_>) -> bool {
    if matches!(path.kind(), "type_identifier") {
        return true;
    }
    let is_type_field = |field: &str| {
        matches!(
            field,
            "type" | "return_type" | "returns" | "superclass" | "result" | "trait"
        )
    };
    if is_type_field(at.field()) && at.up().kind() != "keyword_argument" {
        return true;
    }
    let above = at.0.iter().rev().skip(1).take(3);
    above.map(|step| step.kind).any(|kind| {
        matches!(
            kind,
            "type"
                | "type_annotation"
                | "named_type"
                | "base_list"
                | "superclass"
                | "base_clause"
                | "class_interface_clause"
                | "class_heritage"
                | "extends_clause"
                | "implements_clause"
                | "type_argument_list"
                | "type_arguments"
                | "type_list"
                | "annotation"
                | "marker_annotation"
        )
    })
}
