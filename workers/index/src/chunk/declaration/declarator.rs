//! C and C++: the name of a declaration is nested in its declarator.

use tree_sitter::Node;

use super::{Declaration, Reader, Role};
use crate::chunk::name;

/// Deepest nesting of a name in a declarator: a function pointer that returns a function pointer
/// needs 6.
const MAX_DEPTH: usize = 16;

impl Reader<'_> {
    pub(super) fn c_family<'t>(
        &self,
        node: Node<'t>,
        enclosing: Option<&str>,
    ) -> Option<Declaration<'t>> {
        let body = node.child_by_field_name("body");
        match node.kind() {
            "function_definition" => self.c_function(node, enclosing),
            "class_specifier" | "struct_specifier" | "union_specifier" | "enum_specifier" => {
                let symbol = self.field(node, "name");
                // Without a body it is not a definition.
                body.and(symbol)
                    .map(|symbol| Declaration::new(node, Role::Class, Some(symbol), body))
            }
            "type_definition" => self.typedef(node),
            "alias_declaration" | "concept_definition" => self.named(node, Role::Type),
            "namespace_definition" => self.named(node, Role::Module),
            // A macro of one line stays with its neighbours.
            "preproc_function_def" if is_long(node) => self.named(node, Role::Function),
            _ => None,
        }
    }

    fn c_function<'t>(&self, node: Node<'t>, enclosing: Option<&str>) -> Option<Declaration<'t>> {
        let declarator = node.child_by_field_name("declarator")?;
        let (parent, mut symbol) = self.declarator(declarator);
        let is_untyped = parent.is_none() && node.child_by_field_name("type").is_none();
        let is_macro = |name: &String| is_macro_name(name, enclosing);
        if is_untyped && symbol.as_ref().is_some_and(is_macro) {
            // `TEST(Suite, does_this) {…}`: the macro derives its name from the arguments.
            symbol = self.text(declarator);
        }
        let body = node.child_by_field_name("body");
        let function = Declaration::new(node, Role::Function, symbol, body);
        Some(Declaration { parent, ..function })
    }

    /// `typedef struct {…} Name` declares a class of that name. Of several names, only the first is
    /// indexed.
    fn typedef<'t>(&self, node: Node<'t>) -> Option<Declaration<'t>> {
        let declarator = node.child_by_field_name("declarator")?;
        let (_, symbol) = self.declarator(declarator);
        let aliased = node.child_by_field_name("type")?;
        let body = aliased.child_by_field_name("body");
        let role = if body.is_some() {
            Role::Class
        } else {
            Role::Type
        };
        // Returns the inner node, so that a struct with a second name is not declared twice.
        Some(Declaration::new(aliased, role, symbol, body))
    }

    /// The qualifying type and the name in a declarator: `A` and `b` of `int *ns::A::b()`.
    fn declarator(&self, declarator: Node<'_>) -> (Option<String>, Option<String>) {
        let (mut node, mut scope) = (declarator, None);
        for _ in 0..MAX_DEPTH {
            let next = match node.kind() {
                "qualified_identifier" => {
                    scope = node.child_by_field_name("scope").or(scope);
                    node.child_by_field_name("name")
                }
                "template_function" | "template_type" => node.child_by_field_name("name"),
                "parenthesized_declarator" | "attributed_declarator" | "reference_declarator" => {
                    node.named_child(0)
                }
                _ => node.child_by_field_name("declarator"),
            };
            match next {
                Some(next) if node.kind() != "operator_cast" => node = next,
                _ => break,
            }
        }
        let scope = scope.map(|scope| scope.child_by_field_name("name").unwrap_or(scope));
        (
            scope.and_then(|scope| self.text(scope)),
            self.declared_name(node),
        )
    }

    fn declared_name(&self, node: Node<'_>) -> Option<String> {
        let text = self.text(node)?;
        match (node.kind(), text.split_once('(')) {
            // `operator bool() const` is named `operator bool`.
            ("operator_cast", Some((operator, _))) => name(operator),
            _ => Some(text),
        }
    }
}

/// Whether a function without a type is a macro's, by its name. Constructors and destructors have no
/// type either, and their class may have an all-caps name, too.
fn is_macro_name(name: &str, enclosing: Option<&str>) -> bool {
    // `Class<int>` is a specialization; its constructor is `Class`.
    let class = enclosing.and_then(|class| class.split('<').next());
    let has_lowercase = name.bytes().any(|byte| byte.is_ascii_lowercase());
    !has_lowercase && !name.starts_with('~') && class != Some(name)
}

/// Whether a macro has more than one line.
fn is_long(node: Node<'_>) -> bool {
    // The node includes the line's end.
    node.end_position().row > node.start_position().row + 1
}
