//! JavaScript and TypeScript: functions take the names of their bindings.

use tree_sitter::Node;

use super::{Declaration, Reader, Role};

/// Objects without a name of their own: their members belong to the module.
const NAMELESS: [&str; 6] = [
    "exports",
    "module",
    "module.exports",
    "this",
    "self",
    "window",
];

impl Reader<'_> {
    /// Returns the declaration that `node` is; an export may have no name.
    pub(super) fn script<'t>(&self, node: Node<'t>, is_exported: bool) -> Option<Declaration<'t>> {
        let role = match node.kind() {
            "function_declaration"
            | "generator_function_declaration"
            | "function_signature"
            | "method_definition" => Role::Function,
            "class_declaration" | "abstract_class_declaration" | "enum_declaration" => Role::Class,
            "interface_declaration" => Role::Interface,
            "type_alias_declaration" => Role::Type,
            "internal_module" | "module" => Role::Module,
            "variable_declarator" => return self.bound(node, "name", "value"),
            "pair" | "field_definition" | "public_field_definition" => return self.member(node),
            "assignment_expression" => return self.assigned(node),
            _ if is_exported => return self.value(node, node, None),
            _ => return None,
        };
        self.named(node, role)
    }

    /// The value of a binding, under the binding's name.
    fn bound<'t>(&self, node: Node<'t>, key: &str, value: &str) -> Option<Declaration<'t>> {
        let value = node.child_by_field_name(value)?;
        self.value(node, value, self.field(node, key))
    }

    /// Returns the declaration that `node` makes by binding `value` to a name.
    fn value<'t>(
        &self,
        node: Node<'t>,
        value: Node<'t>,
        symbol: Option<String>,
    ) -> Option<Declaration<'t>> {
        let role = match value.kind() {
            "function_expression" | "arrow_function" | "generator_function" => Role::Function,
            "class" => Role::Class,
            "object" if holds_functions(value) => Role::Extension,
            _ => return None,
        };
        let body = value.child_by_field_name("body");
        let body = if role == Role::Module {
            Some(value)
        } else {
            body
        };
        Some(Declaration::new(node, role, symbol, body))
    }

    /// A function in an object or class. One of a single line is part of its owner.
    fn member<'t>(&self, node: Node<'t>) -> Option<Declaration<'t>> {
        let key = match node.kind() {
            "pair" => "key",
            "field_definition" => "property",
            _ => "name",
        };
        let is_long = node.end_position().row > node.start_position().row;
        let member = is_long.then(|| self.bound(node, key, "value"))??;
        (member.role == Role::Function).then_some(member)
    }

    /// `exports.name = function`, `Type.prototype.name = function`.
    fn assigned<'t>(&self, node: Node<'t>) -> Option<Declaration<'t>> {
        let left = node.child_by_field_name("left")?;
        let mut right = node.child_by_field_name("right")?;
        // `exports.a = exports.b = function`: more than two are rare.
        for _ in 0..4 {
            match right.child_by_field_name("right") {
                Some(next) if right.kind() == "assignment_expression" => right = next,
                _ => break,
            }
        }
        if left.kind() == "identifier" {
            return self.value(node, right, self.text(left));
        }
        let symbol = self.field(left, "property")?;
        let object = left.child_by_field_name("object")?;
        // `module.exports = function` exports under the file's name, unless the function has one.
        let own = right
            .child_by_field_name("name")
            .and_then(|own| self.text(own));
        let symbol = if symbol == "exports" {
            own
        } else {
            Some(symbol)
        };
        let declared = self.value(node, right, symbol)?;
        let owner = match self.field(object, "property") {
            Some(prototype) if prototype == "prototype" => self.field(object, "object"),
            _ => self.text(object),
        };
        let parent = owner.filter(|owner| !NAMELESS.contains(&owner.as_str()));
        Some(Declaration { parent, ..declared })
    }
}

/// Whether an object has methods.
fn holds_functions(object: Node<'_>) -> bool {
    let mut cursor = object.walk();
    object.named_children(&mut cursor).any(|member| {
        let value = member.child_by_field_name("value");
        let is_function = |value: Node<'_>| value.child_by_field_name("body").is_some();
        member.kind() == "method_definition" || value.is_some_and(is_function)
    })
}
