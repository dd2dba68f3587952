//! What stands before a name: the object of a member, the module of a path.

use archway_repo::syntax::Language;
use tree_sitter::Node;

use crate::path::Path;

/// Deepest chain of members that a name is the last part of.
const MAX_DEPTH: usize = 8;

/// What stands before a name.
pub(crate) enum Before<'t> {
    Nothing,
    /// `self`, `this`.
    Own,
    /// Rust's `self::`.
    Module,
    /// Rust's `super::`.
    OuterModule,
    Name(Node<'t>),
    Unknown,
}

/// The whole expression that a name is the last part of, and what stands before the name.
pub(crate) fn whole<'a, 't>(text: &str, path: Path<'a, 't>) -> (Path<'a, 't>, Before<'t>) {
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
        // A path of Rust, not a member of `self`.
        Some(first) if expression.kind().starts_with("scoped_") && first.kind() == "self" => {
            Before::Module
        }
        Some(first) if expression.kind().starts_with("scoped_") && first.kind() == "super" => {
            Before::OuterModule
        }
        Some(first) => simple(text, first),
        None => Before::Unknown,
    }
}

/// An object as far as one name says it: the last part of a path, or a name.
fn simple<'t>(text: &str, object: Node<'t>) -> Before<'t> {
    match object.kind() {
        "self" | "this" | "this_expression" => Before::Own,
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
        "relative_scope" => match text.get(object.byte_range()) {
            Some("self" | "static") => Before::Own,
            // The class above has another member of the name.
            _ => Before::Unknown,
        },
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

/// What stands before a token of a macro of Rust.
pub(crate) fn token_before<'t>(text: &str, path: Path<'_, 't>) -> Before<'t> {
    let start = path.last().map_or(0, |step| step.node.start_byte());
    let before = text.get(..start).unwrap_or_default();
    if path.up().kind() != "token_tree" {
        return Before::Nothing;
    }
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let ends_with = |end: &str| {
        let rest = before.strip_suffix(end);
        rest.is_some_and(|rest| !rest.ends_with(is_word))
    };
    if ends_with("self.") || ends_with("Self::") {
        Before::Own
    } else if ends_with("self::") {
        Before::Module
    } else if ends_with("super::") {
        Before::OuterModule
    } else if before.ends_with("::") || before.ends_with('.') && !before.ends_with("..") {
        Before::Unknown
    } else {
        Before::Nothing
    }
}

/// The module that an import names, in languages whose imports name one.
pub(crate) fn imported_from<'t>(language: Language, path: Path<'_, 't>) -> Before<'t> {
    use Language::{JavaScript, Python, Tsx, TypeScript};
    if !matches!(language, JavaScript | TypeScript | Tsx | Python) {
        return Before::Nothing;
    }
    let is_import = |kind: &str| kind.starts_with("import_") || kind == "export_statement";
    for step in path.0.iter().rev() {
        let module = match step.kind {
            "variable_declarator" => required(step.node),
            // All of a module, by another name.
            "namespace_import" => None,
            "import_statement" | "export_statement" => step.node.child_by_field_name("source"),
            kind if is_import(kind) => step.node.child_by_field_name("module_name"),
            _ => continue,
        };
        let is_inside = |module: &Node<'_>| module.end_byte() >= end(path);
        match (module, step.kind) {
            (None, "import_clause" | "import_specifier") => {}
            (Some(module), "import_from_statement") if is_inside(&module) => break,
            (Some(module), _) => return Before::Name(module),
            (None, _) => break,
        }
    }
    Before::Unknown
}

/// The argument of `require`.
fn required(declarator: Node<'_>) -> Option<Node<'_>> {
    let call = declarator.child_by_field_name("value")?;
    call.child_by_field_name("arguments")?.named_child(0)
}
