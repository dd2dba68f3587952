//! Declarations in a syntax tree, language by language: maps each grammar's node kinds to a
//! [`Role`], a name, and the part that may contain further declarations.

// Languages that need more than a table.
mod binding;
mod declarator;
mod receiver;

use archway_repo::syntax::Language;
use tree_sitter::Node;

use super::{name, start};

/// How a declaration treats the declarations inside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A function or method: they are part of it, unless it is long.
    Function,
    /// A class: functions are its methods.
    Class,
    /// As a class, but functions without a body are part of it.
    Interface,
    /// A named type.
    Type,
    /// An `impl`, a mixin or an object: not a chunk itself, but functions in it are methods of its
    /// name.
    Extension,
    /// A module: not a chunk itself, but the parent of its content.
    Module,
}

/// A declaration.
#[derive(Debug)]
pub(super) struct Declaration<'t> {
    /// The declaring node, without wrappers around it.
    pub(super) node: Node<'t>,
    pub(super) role: Role,
    pub(super) symbol: Option<String>,
    /// Its owner, if the declaration itself names it.
    pub(super) parent: Option<String>,
    /// Its body; `None` for a mere signature.
    pub(super) body: Option<Node<'t>>,
}

/// Reads declarations of a text.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    pub(super) language: Language,
    pub(super) text: &'a str,
}

impl Role {
    /// Whether functions in it are methods.
    pub(super) fn is_type(self) -> bool {
        matches!(self, Role::Class | Role::Interface | Role::Extension)
    }
}

impl<'t> Declaration<'t> {
    fn new(
        node: Node<'t>,
        role: Role,
        symbol: Option<String>,
        body: Option<Node<'t>>,
    ) -> Declaration<'t> {
        Declaration {
            node,
            role,
            symbol,
            parent: None,
            body,
        }
    }
}

impl Reader<'_> {
    /// The declaration that `node` is, possibly inside wrappers (`export`, decorators, `template`).
    /// `enclosing` is the symbol of the declaration around it.
    pub(super) fn declaration<'t>(
        &self,
        node: Node<'t>,
        enclosing: Option<&str>,
    ) -> Option<Declaration<'t>> {
        // A keyword may have the kind of a node.
        if !node.is_named() {
            return None;
        }
        let inner = unwrapped(node);
        match self.language {
            Language::JavaScript | Language::TypeScript | Language::Tsx => {
                self.script(inner, node.kind() == "export_statement")
            }
            Language::C | Language::Cpp => self.c_family(inner, enclosing),
            Language::Go => self.go(inner),
            Language::Rust => self.rust(inner),
            Language::CSharp => self.c_sharp(inner),
            Language::Python | Language::Java | Language::Ruby | Language::Php => {
                if inner.kind() == "type_alias_statement" {
                    let symbol = self.field(inner, "left");
                    return Some(Declaration::new(inner, Role::Type, symbol, None));
                }
                let role = match self.language {
                    Language::Python => python(inner.kind()),
                    Language::Java => java(inner.kind()),
                    Language::Ruby => ruby(inner.kind()),
                    _ => php(inner.kind()),
                };
                self.named(inner, role?)
            }
        }
    }

    /// Whether `node` is a call that loads another file.
    pub(super) fn requires(&self, node: Node<'_>) -> bool {
        let call = self.text.get(node.byte_range()).unwrap_or_default();
        let calls = ["require(", "require ", "require_relative "];
        calls.iter().any(|require| call.starts_with(require))
    }

    /// A declaration whose grammar has the fields `name` and `body`.
    fn named<'t>(&self, node: Node<'t>, role: Role) -> Option<Declaration<'t>> {
        let symbol = self.field(node, "name");
        Some(Declaration::new(
            node,
            role,
            symbol,
            node.child_by_field_name("body"),
        ))
    }

    /// The text of a field, as a name.
    fn field(&self, node: Node<'_>, field: &str) -> Option<String> {
        self.text(node.child_by_field_name(field)?)
    }

    /// A node's text, as a name. Reads only its start, since a node may be as long as the file.
    fn text(&self, node: Node<'_>) -> Option<String> {
        let text = self.text.get(node.byte_range())?;
        // Names may be string literals.
        name(start(text).trim_matches(['"', '\'', '`']))
    }

    fn rust<'t>(&self, node: Node<'t>) -> Option<Declaration<'t>> {
        let role = match node.kind() {
            "function_item" | "function_signature_item" | "macro_definition" => Role::Function,
            "struct_item" | "enum_item" | "union_item" => Role::Class,
            "trait_item" => Role::Interface,
            "type_item" => Role::Type,
            "mod_item" => Role::Module,
            "impl_item" => {
                let symbol = node
                    .child_by_field_name("type")
                    .and_then(|of| self.base(of));
                let body = node.child_by_field_name("body");
                return Some(Declaration::new(node, Role::Extension, symbol, body));
            }
            _ => return None,
        };
        self.named(node, role)
    }

    /// A type's own name, without path, arguments, references and pointers.
    fn base(&self, of: Node<'_>) -> Option<String> {
        let mut node = of;
        // No name is nested deeper.
        for _ in 0..8 {
            let inner = match node.kind() {
                "generic_type" | "reference_type" | "pointer_type" => "type",
                "scoped_type_identifier" | "qualified_type" => "name",
                _ => break,
            };
            // A pointer type of Go has its target as its only child.
            let found = node
                .child_by_field_name(inner)
                .or_else(|| node.named_child(0));
            node = found?;
        }
        self.text(node)
    }

    fn c_sharp<'t>(&self, node: Node<'t>) -> Option<Declaration<'t>> {
        let role = match node.kind() {
            "class_declaration" | "struct_declaration" | "record_declaration"
            | "enum_declaration" => Role::Class,
            "interface_declaration" => Role::Interface,
            "delegate_declaration" => Role::Type,
            "namespace_declaration" => Role::Module,
            "method_declaration"
            | "constructor_declaration"
            | "destructor_declaration"
            | "local_function_statement" => Role::Function,
            "operator_declaration" => {
                let symbol = self.field(node, "operator");
                let body = node.child_by_field_name("body");
                return Some(Declaration::new(node, Role::Function, symbol, body));
            }
            "property_declaration" | "indexer_declaration" => {
                let symbol = self.field(node, "name").or_else(|| name("this[]"));
                return Some(Declaration::new(
                    node,
                    Role::Function,
                    symbol,
                    accessor(node),
                ));
            }
            _ => return None,
        };
        self.named(node, role)
    }
}

/// The declaration inside wrapper nodes.
fn unwrapped(node: Node<'_>) -> Node<'_> {
    let mut inner = node;
    // `export default`, a decorator, a template of a template: few levels.
    for _ in 0..4 {
        let next = match inner.kind() {
            "export_statement" => inner
                .child_by_field_name("declaration")
                .or_else(|| inner.child_by_field_name("value")),
            "decorated_definition" => inner.child_by_field_name("definition"),
            "template_declaration" => last_named(inner),
            "ambient_declaration" | "expression_statement" => inner.named_child(0),
            "lexical_declaration" | "variable_declaration" | "type_declaration"
                if inner.named_child_count() == 1 =>
            {
                inner.named_child(0)
            }
            _ => None,
        };
        let Some(next) = next else { break };
        inner = next;
    }
    inner
}

fn last_named(node: Node<'_>) -> Option<Node<'_>> {
    let last = node.named_child_count().checked_sub(1)?;
    node.named_child(u32::try_from(last).ok()?)
}

/// The accessors of a property, if any has a body.
fn accessor(property: Node<'_>) -> Option<Node<'_>> {
    if let Some(value) = property.child_by_field_name("value") {
        return (value.kind() == "arrow_expression_clause").then_some(value);
    }
    let accessors = property.child_by_field_name("accessors")?;
    let mut cursor = accessors.walk();
    let does = |accessor: Node<'_>| accessor.child_by_field_name("body").is_some();
    accessors
        .named_children(&mut cursor)
        .any(does)
        .then_some(accessors)
}

fn python(kind: &str) -> Option<Role> {
    Some(match kind {
        "function_definition" => Role::Function,
        "class_definition" => Role::Class,
        _ => return None,
    })
}

fn java(kind: &str) -> Option<Role> {
    Some(match kind {
        "class_declaration" | "enum_declaration" | "record_declaration" => Role::Class,
        "interface_declaration" | "annotation_type_declaration" => Role::Interface,
        "method_declaration" | "constructor_declaration" | "compact_constructor_declaration" => {
            Role::Function
        }
        _ => return None,
    })
}

fn ruby(kind: &str) -> Option<Role> {
    Some(match kind {
        "method" | "singleton_method" => Role::Function,
        "class" => Role::Class,
        "module" => Role::Extension,
        _ => return None,
    })
}

fn php(kind: &str) -> Option<Role> {
    Some(match kind {
        "function_definition" | "method_declaration" => Role::Function,
        "class_declaration" | "enum_declaration" => Role::Class,
        "interface_declaration" | "trait_declaration" => Role::Interface,
        "namespace_definition" => Role::Module,
        _ => return None,
    })
}
