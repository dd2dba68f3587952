//! Go: a method names its type in its own declaration.

use tree_sitter::Node;

use super::{Declaration, Reader, Role};

impl Reader<'_> {
    pub(super) fn go<'t>(&self, node: Node<'t>) -> Option<Declaration<'t>> {
        match node.kind() {
            "function_declaration" => self.named(node, Role::Function),
            "method_declaration" => {
                let parent = node.child_by_field_name("receiver");
                let parent = parent.and_then(|receiver| self.receiver(receiver));
                let method = self.named(node, Role::Function)?;
                Some(Declaration { parent, ..method })
            }
            "type_spec" => {
                let is = node.child_by_field_name("type").map(|of| of.kind());
                let role = match is {
                    Some("struct_type") => Role::Class,
                    Some("interface_type") => Role::Interface,
                    _ => Role::Type,
                };
                self.named(node, role)
            }
            "type_alias" => self.named(node, Role::Type),
            _ => None,
        }
    }

    fn receiver(&self, receiver: Node<'_>) -> Option<String> {
        let of = receiver.named_child(0)?.child_by_field_name("type")?;
        self.base(of)
    }
}
