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
        let is_broken = |child: &Node<'_>| child.has_error();
        let broken: Vec<Node<'_>> = node.children(&mut cursor).filter(is_broken).collect();
        match (LISTS.contains(&node.kind()), broken.as_slice()) {
            (true, _) => {
                for child in broken {
                    match child.is_error() || child.is_missing() {
                        true => found.push(with_neighbours(child)),
                        false => rest.push(child),
                    }
                }
            }
            (false, [only]) if HOLDERS.contains(&node.kind()) && may_hold(*only) => {
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

fn with_neighbours(node: Node<'_>) -> Range<usize> {
    let before = node
        .prev_sibling()
        .map_or(node.start_byte(), |it| it.start_byte());
    let next = node
        .next_sibling()
        .map_or(node.end_byte(), |it| it.end_byte());
    before..next
}
