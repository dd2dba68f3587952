//! How a name is used, by its place in the tree.

use archway_repo::syntax::Language;
use tree_sitter::Node;

use crate::{UseKind, path::Path};

/// Deepest nesting of a name in a pattern or a chain of members.
const MAX_DEPTH: usize = 8;

/// What stands before a name.
pub(crate) enum Before<'t> {
    Nothing,
    /// `self`, `this`.
    Own,
    Name(Node<'t>),
    Unknown,
}

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
pub(crate) fn is_skipped(language: Language, path: Path<'_, '_>) -> bool {
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
        return Some((UseKind::Import, Before::Nothing));
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
        Before::Nothing => token_before(text, path),
        before => before,
    };
    Some((kind, before))
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

/// The whole expression that a name is the last part of, and what stands before the name.
fn whole<'a, 't>(text: &str, path: Path<'a, 't>) -> (Path<'a, 't>, Before<'t>) {
    let (mut at, mut before) = (path, Before::Nothing);
    for _ in 0..MAX_DEPTH {
        let Some(outer) = at.up().last() else { break };
        match at.place() {
            ("member_binding_expression", "name") => before = Before::Unknown,
            ("conditional_access_expression", "") if !is_first(outer.node, at) => {}
            // The class of a constant comes first, without a field.
            ("class_constant_access_expression", _) if is_first(outer.node, at) => break,
            place if is_member_of(place) => {
                if matches!(before, Before::Nothing) {
                    before = object(text, outer.node);
                }
            }
            // PHP's qualified names have no field for the last part.
            ("qualified_name", "") if outer.node.end_byte() == end(at) => {}
            ("generic_function", "function")
            | ("generic_type" | "generic_name", _)
            | ("template_function" | "template_type", "name") => {}
            _ => break,
        }
        at = at.up();
    }
    if matches!(before, Before::Nothing) {
        before = called_object(text, at);
    }
    (at, before)
}

/// Whether a node is the last name of a path or a member expression.
fn is_member_of(place: (&str, &str)) -> bool {
    matches!(
        place,
        (
            "field_expression" | "selector_expression" | "field_access",
            "field"
        ) | ("member_expression", "property")
            | ("attribute", "attribute")
            | ("class_constant_access_expression", _)
            | (
                "scoped_identifier"
                    | "scoped_type_identifier"
                    | "qualified_identifier"
                    | "member_access_expression"
                    | "nullsafe_member_access_expression"
                    | "qualified_name"
                    | "nested_type_identifier"
                    | "qualified_type"
                    | "scope_resolution"
                    | "scoped_property_access_expression",
                "name"
            )
    )
}

fn is_first(parent: Node<'_>, child: Path<'_, '_>) -> bool {
    let first = parent.named_child(0).map(|first| first.id());
    first == child.last().map(|step| step.node.id())
}

fn end(path: Path<'_, '_>) -> usize {
    path.last().map_or(0, |step| step.node.end_byte())
}

/// The object of a call whose grammar has it beside the name.
fn called_object<'t>(text: &str, at: Path<'_, 't>) -> Before<'t> {
    let Some(call) = at.up().last() else {
        return Before::Nothing;
    };
    let field = match at.place() {
        ("method_invocation", "name")
        | ("member_call_expression" | "nullsafe_member_call_expression", "name") => "object",
        ("call", "method") => "receiver",
        ("scoped_call_expression", "name") => "scope",
        _ => return Before::Nothing,
    };
    match call.node.child_by_field_name(field) {
        Some(object) => simple(text, object),
        None => Before::Nothing,
    }
}

/// What stands before the last part of a member expression.
fn object<'t>(text: &str, expression: Node<'t>) -> Before<'t> {
    match expression.child(0) {
        Some(first) => simple(text, first),
        None => Before::Unknown,
    }
}

/// An object as far as one name says it: the last part of a path, or a name.
fn simple<'t>(text: &str, object: Node<'t>) -> Before<'t> {
    match object.kind() {
        "self" | "this" | "this_expression" | "super" | "base" | "base_expression" => Before::Own,
        "identifier"
        | "constant"
        | "type_identifier"
        | "name"
        | "namespace_identifier"
        | "package_identifier" => own_or_name(text, object),
        "variable_name" => match text.get(object.byte_range()) {
            Some("$this") => Before::Own,
            _ => Before::Unknown,
        },
        "relative_scope" => Before::Own,
        "scoped_identifier"
        | "qualified_identifier"
        | "scope_resolution"
        | "scoped_type_identifier"
        | "member_access_expression"
        | "qualified_name" => {
            let last = object.child_by_field_name("name");
            last.map_or(Before::Unknown, |last| simple(text, last))
        }
        "generic_type" | "generic_type_with_turbofish" => {
            let inner = object
                .child_by_field_name("type")
                .or_else(|| object.named_child(0));
            inner.map_or(Before::Unknown, |inner| simple(text, inner))
        }
        _ => Before::Unknown,
    }
}

fn own_or_name<'t>(text: &str, name: Node<'t>) -> Before<'t> {
    match text.get(name.byte_range()) {
        Some("self" | "Self" | "cls" | "this") => Before::Own,
        _ => Before::Name(name),
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

/// What stands before a token of a macro of Rust.
fn token_before<'t>(text: &str, path: Path<'_, 't>) -> Before<'t> {
    let start = path.last().map_or(0, |step| step.node.start_byte());
    let before = text.get(..start).unwrap_or_default();
    let is_member = before.ends_with('.') || before.ends_with("::");
    match path.up().kind() {
        "token_tree" if before.ends_with("self.") || before.ends_with("Self::") => Before::Own,
        "token_tree" if is_member && !before.ends_with("..") => Before::Unknown,
        _ => Before::Nothing,
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

/// Whether a parameter or a local variable begins here.
fn is_binding(path: Path<'_, '_>) -> bool {
    let mut at = path;
    for _ in 0..MAX_DEPTH {
        let is_inside = match at.place() {
            (
                "tuple_pattern"
                | "mut_pattern"
                | "ref_pattern"
                | "reference_pattern"
                | "slice_pattern"
                | "array_pattern"
                | "object_pattern"
                | "rest_pattern"
                | "pattern_list"
                | "list_splat_pattern"
                | "dictionary_splat_pattern"
                | "captured_pattern"
                | "destructured_parameter"
                | "destructured_left_assignment",
                _,
            ) => true,
            ("assignment_pattern" | "object_assignment_pattern", "left") => true,
            ("pair_pattern", "value") => true,
            ("tuple_struct_pattern" | "struct_pattern", field) => field != "type",
            ("field_pattern", field) => field != "type",
            (
                "pointer_declarator"
                | "array_declarator"
                | "reference_declarator"
                | "function_declarator"
                | "init_declarator",
                field,
            ) => matches!(field, "declarator" | ""),
            ("expression_list", _) => true,
            _ => false,
        };
        if !is_inside {
            break;
        }
        at = at.up();
    }
    binds(at.place())
}

/// The places of patterns that bind.
fn binds(place: (&str, &str)) -> bool {
    match place.1 {
        "pattern" => matches!(
            place.0,
            "parameter"
                | "let_declaration"
                | "let_condition"
                | "for_expression"
                | "match_pattern"
                | "required_parameter"
                | "optional_parameter"
        ),
        "name" => matches!(
            place.0,
            "parameter"
                | "variable_declarator"
                | "default_parameter"
                | "typed_default_parameter"
                | "parameter_declaration"
                | "variadic_parameter_declaration"
                | "var_spec"
                | "const_spec"
                | "formal_parameter"
                | "catch_formal_parameter"
                | "enhanced_for_statement"
                | "resource"
                | "optional_parameter"
                | "keyword_parameter"
                | "splat_parameter"
                | "hash_splat_parameter"
                | "block_parameter"
                | "type_parameter"
                | "declaration_expression"
                | "catch_declaration"
        ),
        "left" => matches!(
            place.0,
            "for_statement"
                | "for_in_statement"
                | "for_in_clause"
                | "short_var_declaration"
                | "range_clause"
                | "foreach_statement"
        ),
        "declarator" => matches!(
            place.0,
            "parameter_declaration"
                | "optional_parameter_declaration"
                | "declaration"
                | "for_range_loop"
        ),
        "parameter" => matches!(place.0, "arrow_function" | "catch_clause"),
        "parameters" => matches!(place.0, "lambda_expression"),
        _ => matches!(
            place.0,
            "closure_parameters"
                | "formal_parameters"
                | "parameters"
                | "lambda_parameters"
                | "typed_parameter"
                | "as_pattern_target"
                | "inferred_parameters"
                | "method_parameters"
                | "block_parameters"
                | "lambda_parameter"
                | "type_parameters"
                | "implicit_parameter"
                | "match_pattern"
        ),
    }
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
