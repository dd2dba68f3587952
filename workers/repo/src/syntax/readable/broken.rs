//! The declarations and statements of C and C++ in which a tree has errors. What is read as it should be is not
//! replaced.

use std::ops::Range;

use tree_sitter::Node;

/// Nodes that hold items of their own.
const LISTS: [&str; 11] = [
    "translation_unit",
    "declaration_list",
    "field_declaration_list",
    "enumerator_list",
    "compound_statement",
    "linkage_specification",
    "preproc_if",
    "preproc_ifdef",
    "preproc_elif",
    "preproc_elifdef",
    "preproc_else",
];
/// Items that may hold a list.
const HOLDERS: [&str; 17] = [
    "namespace_definition",
    "template_declaration",
    "class_specifier",
    "struct_specifier",
    "union_specifier",
    "enum_specifier",
    "function_definition",
    "declaration",
    "field_declaration",
    "type_definition",
    "if_statement",
    "else_clause",
    "for_statement",
    "while_statement",
    "do_statement",
    "switch_statement",
    "case_statement",
];

/// The smallest items with errors below a node, in bytes and by their start. One may lie in another. What is no item
/// at all has split one, so the items beside it count, too.
pub(super) fn items(root: Node<'_>) -> Vec<Range<usize>> {
    let (mut found, mut rest) = (Vec::new(), vec![root]);
    while let Some(node) = rest.pop() {
        let mut cursor = node.walk();
        let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
        if LISTS.contains(&node.kind()) {
            for (at, child) in children.iter().enumerate() {
                if child.is_error() || child.is_missing() {
                    found.push(with_neighbours(&children, at));
                } else if child.has_error() {
                    rest.push(*child);
                }
            }
            continue;
        }
        let mut broken = children.iter().filter(|child| child.has_error());
        match (broken.next(), broken.next()) {
            (Some(only), None) if HOLDERS.contains(&node.kind()) && may_hold(*only) => {
                rest.push(*only);
            }
            _ => found.push(node.byte_range()),
        }
    }
    found.sort_by_key(|it| it.start);
    found
}

fn may_hold(node: Node<'_>) -> bool {
    LISTS.contains(&node.kind()) || HOLDERS.contains(&node.kind())
}

/// From the item before one to the end of the next. A node does not know its siblings: it would look for them.
fn with_neighbours(items: &[Node<'_>], at: usize) -> Range<usize> {
    let (first, last) = (at.saturating_sub(1), (at + 1).min(items.len() - 1));
    items[first].start_byte()..items[last].end_byte()
}
