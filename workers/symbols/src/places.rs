//! The places of defining names in all languages but C and C++.

mod script;

use archway_repo::syntax::Language;

use crate::{
    Kind,
    naming::{Place, Scope, name_text, type_name},
    path::Path,
};

/// What the place of a name defines; `None` if it is used there.
pub(crate) fn place(
    language: Language,
    text: &str,
    path: Path<'_, '_>,
    scope: Scope<'_>,
) -> Option<Place> {
    match language {
        Language::Rust => rust(path),
        Language::Python => python(text, path, scope),
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            script::place(text, path, scope)
        }
        Language::Go => go(text, path, scope),
        Language::Java => java(text, path),
        Language::CSharp => c_sharp(text, path),
        Language::Ruby => ruby(text, path, scope),
        Language::Php => php(path),
        Language::C | Language::Cpp => None,
    }
}

fn rust(path: Path<'_, '_>) -> Option<Place> {
    let (parent, field) = path.place();
    let kind = match parent {
        "function_item" | "function_signature_item" => Kind::Function,
        "struct_item" | "union_item" => Kind::Struct,
        "enum_item" => Kind::Enum,
        "trait_item" => Kind::Trait,
        "type_item" | "associated_type" => Kind::Type,
        "const_item" | "enum_variant" => Kind::Constant,
        "static_item" => Kind::Variable,
        // Without a body, too: the line says where the module is used, and who may see it.
        "mod_item" => Kind::Module,
        "macro_definition" => Kind::Macro,
        "field_declaration" => Kind::Field,
        _ => return None,
    };
    (field == "name").then(|| Place::of(kind, 1))
}

fn python(text: &str, path: Path<'_, '_>, scope: Scope<'_>) -> Option<Place> {
    match path.place() {
        ("function_definition", "name") => return Some(Place::of(Kind::Function, 1)),
        ("class_definition", "name") => return Some(Place::of(Kind::Class, 1)),
        _ => {}
    }
    // `type Name = …`: the name stands in a node for a type.
    if path.up().place() == ("type_alias_statement", "left") {
        return Some(Place::of(Kind::Type, 2));
    }
    let (mut at, mut up) = (path, 0);
    while matches!(at.up().kind(), "pattern_list" | "tuple_pattern") && up < 4 {
        (at, up) = (at.up(), up + 1);
    }
    if at.place() != ("assignment", "left") || scope.is_local {
        return None;
    }
    let name = name_text(text, path.last()?.node);
    let kind = match scope.kind {
        Some(_) => Kind::Field,
        None if is_upper(name) => Kind::Constant,
        None => Kind::Variable,
    };
    Some(Place {
        is_assignment: true,
        ..Place::of(kind, up + 1)
    })
}

/// Whether a name is written as a constant's.
fn is_upper(name: &str) -> bool {
    let has_lower = name.chars().any(char::is_lowercase);
    !has_lower && name.chars().any(char::is_uppercase)
}

fn go(text: &str, path: Path<'_, '_>, scope: Scope<'_>) -> Option<Place> {
    let (parent, field) = path.place();
    if field != "name" {
        return None;
    }
    let declaring = path.up().last()?.node;
    let mut owner = None;
    // A variable may have a function without a name as its value.
    let is_local = scope.is_local || path.0.iter().any(|it| it.kind == "func_literal");
    let kind = match parent {
        "function_declaration" => Kind::Function,
        "method_declaration" => {
            let receiver = declaring.child_by_field_name("receiver")?.named_child(0)?;
            owner = receiver
                .child_by_field_name("type")
                .map(|of| type_name(text, of));
            Kind::Method
        }
        "method_elem" | "method_spec" => Kind::Method,
        "field_declaration" if scope.kind.is_some() && !scope.is_local => Kind::Field,
        "type_alias" => Kind::Type,
        "type_spec" => match declaring.child_by_field_name("type").map(|of| of.kind()) {
            Some("struct_type") => Kind::Struct,
            Some("interface_type") => Kind::Interface,
            _ => Kind::Type,
        },
        "const_spec" if !is_local => Kind::Constant,
        "var_spec" if !is_local => Kind::Variable,
        _ => return None,
    };
    Some(Place {
        owner,
        ..Place::of(kind, 1)
    })
}

fn java(text: &str, path: Path<'_, '_>) -> Option<Place> {
    let (parent, field) = path.place();
    if field != "name" {
        return None;
    }
    let kind = match parent {
        "class_declaration" | "record_declaration" => Kind::Class,
        "interface_declaration" | "annotation_type_declaration" => Kind::Interface,
        "enum_declaration" => Kind::Enum,
        "enum_constant" => Kind::Constant,
        "method_declaration"
        | "constructor_declaration"
        | "compact_constructor_declaration"
        | "annotation_type_element_declaration" => Kind::Method,
        "variable_declarator" => match path.up().up().kind() {
            "constant_declaration" => Kind::Constant,
            "field_declaration" => constant_or_field(text, path.up().up(), &["static", "final"])?,
            _ => return None,
        },
        _ => return None,
    };
    Some(Place::of(kind, 1))
}

/// A constant if the declaration begins with these words, among others; else a field.
fn constant_or_field(text: &str, declaration: Path<'_, '_>, words: &[&str]) -> Option<Kind> {
    let head = text.get(declaration.last()?.node.byte_range())?;
    let head = head.split(['=', ';']).next().unwrap_or_default();
    let has = |word: &&str| head.split_whitespace().any(|it| it == *word);
    let is_constant = words.iter().all(has);
    Some(if is_constant {
        Kind::Constant
    } else {
        Kind::Field
    })
}

fn c_sharp(text: &str, path: Path<'_, '_>) -> Option<Place> {
    let (parent, field) = path.place();
    if field != "name" {
        return None;
    }
    let kind = match parent {
        "class_declaration" | "record_declaration" => Kind::Class,
        "struct_declaration" | "record_struct_declaration" => Kind::Struct,
        "interface_declaration" => Kind::Interface,
        "enum_declaration" => Kind::Enum,
        "enum_member_declaration" => Kind::Constant,
        "delegate_declaration" => Kind::Type,
        "namespace_declaration" | "file_scoped_namespace_declaration" => Kind::Module,
        "method_declaration" | "constructor_declaration" | "destructor_declaration" => Kind::Method,
        "local_function_statement" => Kind::Function,
        "property_declaration" | "event_declaration" => Kind::Field,
        "variable_declarator" => match path.up().up().up().kind() {
            "field_declaration" => constant_or_field(text, path.up().up().up(), &["const"])?,
            "event_field_declaration" => Kind::Field,
            _ => return None,
        },
        _ => return None,
    };
    Some(Place::of(kind, 1))
}

fn ruby(text: &str, path: Path<'_, '_>, scope: Scope<'_>) -> Option<Place> {
    let kind = match path.place() {
        ("method", "name") => member_of(scope),
        ("singleton_method", "name") => member_of(scope),
        ("class", "name") => Kind::Class,
        ("module", "name") => Kind::Module,
        ("alias", "name") => member_of(scope),
        ("argument_list", _) if path.kind() == "simple_symbol" => {
            return made(text, path, scope);
        }
        ("assignment", "left") if path.kind() == "constant" => {
            return Some(Place {
                is_assignment: true,
                ..Place::of(Kind::Constant, 1)
            });
        }
        // `class A::B`
        ("scope_resolution", "name") => {
            let around = path.up().last()?.node.child_by_field_name("scope");
            let kind = match path.up().place() {
                ("class", "name") => Kind::Class,
                ("module", "name") => Kind::Module,
                _ => return None,
            };
            return Some(Place {
                owner: around.map(|around| name_text(text, around).to_owned()),
                ..Place::of(kind, 2)
            });
        }
        _ => return None,
    };
    Some(Place::of(kind, 1))
}

/// What a call in the body of a class makes of the names that it gets.
fn made(text: &str, path: Path<'_, '_>, scope: Scope<'_>) -> Option<Place> {
    let (name, list) = (path.last()?.node, path.up().last()?.node);
    let call = path.up().up().last()?.node;
    let receiver = call.child_by_field_name("receiver");
    if scope.is_local || receiver.is_some_and(|it| name_text(text, it) != "self") {
        return None;
    }
    let method = call.child_by_field_name("method")?;
    let kind = match name_text(text, method) {
        "attr_reader" | "attr_writer" | "attr_accessor" | "attr" => Kind::Field,
        "alias_method" if list.named_child(0) == Some(name) => Kind::Method,
        _ => return None,
    };
    Some(Place::of(kind, 2))
}

/// Methods outside of classes and modules are functions.
fn member_of(scope: Scope<'_>) -> Kind {
    match scope.kind {
        Some(Kind::Class | Kind::Module) => Kind::Method,
        _ => Kind::Function,
    }
}

fn php(path: Path<'_, '_>) -> Option<Place> {
    let kind = match path.place() {
        ("function_definition", "name") => Kind::Function,
        ("method_declaration", "name") => Kind::Method,
        ("class_declaration", "name") => Kind::Class,
        ("interface_declaration", "name") => Kind::Interface,
        ("trait_declaration", "name") => Kind::Trait,
        ("enum_declaration", "name") => Kind::Enum,
        ("enum_case", "name") => Kind::Constant,
        ("namespace_definition", "name") => Kind::Module,
        // The value of a constant may be a name, too; it is no child, but inside of an expression.
        ("const_element", "") => {
            let element = path.up().last()?.node;
            if element.named_child(0)?.id() != path.last()?.node.id() {
                return None;
            }
            Kind::Constant
        }
        ("variable_name", _) => match path.up().place() {
            ("property_element", _) => return Some(Place::of(Kind::Field, 2)),
            ("property_promotion_parameter", "name") => return Some(Place::of(Kind::Field, 2)),
            _ => return None,
        },
        _ => return None,
    };
    Some(Place::of(kind, 1))
}
