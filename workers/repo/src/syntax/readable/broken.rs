//! The declarations and statements of C and C++ in which a tree has errors, and the heads of types that it reads
//! without an error as something else. What is read as it should be is not replaced.

use std::ops::Range;

use tree_sitter::Node;

use super::words::{KEYS, is_macro_before_name};

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
/// Items that hold declarations.
const SCOPES: [&str; 5] = [
    "namespace_definition",
    "template_declaration",
    "class_specifier",
    "struct_specifier",
    "union_specifier",
];
/// Other items that may hold a list.
const HOLDERS: [&str; 12] = [
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

/// The broken bytes of a text.
pub(super) struct BrokenBytes {
    /// In their order; none overlaps another.
    ranges: Vec<Range<usize>>,
}

impl BrokenBytes {
    pub(super) fn of(mut ranges: Vec<Range<usize>>) -> BrokenBytes {
        ranges.sort_by_key(|it| it.start);
        ranges.dedup_by(|next, before| {
            let is_inside = next.start <= before.end;
            if is_inside {
                before.end = before.end.max(next.end);
            }
            is_inside
        });
        BrokenBytes { ranges }
    }

    /// Whether one of them has a part of these bytes.
    pub(super) fn touch(&self, bytes: &Range<usize>) -> bool {
        let next = self.ranges.partition_point(|it| it.end <= bytes.start);
        let next = self.ranges.get(next);
        next.is_some_and(|it| it.start < bytes.end)
    }
}

/// The smallest items with errors below a node, in bytes. One may lie in another. What is no item at all has split
/// one, so the items beside it count, too.
pub(super) fn errors(root: Node<'_>) -> Vec<Range<usize>> {
    // Each with the condition around it.
    let (mut found, mut rest) = (Vec::new(), vec![(root, root)]);
    while let Some((node, around)) = rest.pop() {
        let inner = if is_condition(node) { node } else { around };
        let mut cursor = node.walk();
        let children = node.children(&mut cursor);
        let children: Vec<Node<'_>> = children.filter(|it| it.kind() != "comment").collect();
        if LISTS.contains(&node.kind()) {
            for (at, child) in children.iter().enumerate() {
                if is_unpaired(*child) {
                    // An end is taken for that of another list, or of the condition around it.
                    let of_condition = child.kind() == "#endif";
                    found.push(if of_condition { around } else { node }.byte_range());
                } else if child.is_error() || child.is_missing() || lacks_end(*child) {
                    found.push(with_neighbours(&children, at));
                } else if child.has_error() {
                    rest.push((*child, inner));
                }
            }
            continue;
        }
        let mut broken = children.iter().filter(|child| child.has_error());
        match (broken.next(), broken.next()) {
            (Some(only), None) if is_holder(node) && may_hold(*only) => {
                rest.push((*only, inner));
            }
            _ => found.push(node.byte_range()),
        }
    }
    found
}

/// The heads of types that are read as something else, in bytes and up to their names. In `class MACRO name { … }`
/// the grammar takes the macro for the type, the name for a function or variable, and sees no error.
pub(super) fn misread(text: &[u8], root: Node<'_>) -> Vec<Range<usize>> {
    let (mut found, mut rest) = (Vec::new(), vec![root]);
    while let Some(node) = rest.pop() {
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            if LISTS.contains(&child.kind()) || SCOPES.contains(&child.kind()) {
                rest.push(child);
            } else {
                found.extend(misread_head(text, child));
            }
        }
    }
    found
}

fn misread_head(text: &[u8], item: Node<'_>) -> Option<Range<usize>> {
    let of_type = item.child_by_field_name("type")?;
    let key = of_type.child(0)?;
    let name = of_type.child_by_field_name("name")?;
    let is_macro = text
        .get(name.byte_range())
        .is_some_and(is_macro_before_name);
    let is_key = KEYS.iter().any(|it| *it == key.kind().as_bytes());
    if !is_key || !is_macro || of_type.child_by_field_name("body").is_some() {
        return None;
    }
    let declarator = item.child_by_field_name("declarator")?;
    let is_type = match item.kind() {
        "function_definition" => declarator.kind() == "identifier",
        // A variable without a value is written so in functions alone.
        "declaration" => is_empty_list(declarator.child_by_field_name("value")?),
        _ => false,
    };
    is_type.then(|| item.start_byte()..declarator.start_byte() + 1)
}

fn is_empty_list(value: Node<'_>) -> bool {
    value.kind() == "initializer_list" && value.named_child_count() == 0
}

/// Whether the end of a list is missing, or an error.
fn is_unpaired(item: Node<'_>) -> bool {
    let is_end = |at: u32| item.child(at).is_some_and(|it| it.kind() == "}");
    match item.is_error() {
        true => (0..2).any(is_end),
        false => item.is_missing() && item.kind() != ";",
    }
}

/// Whether an item has no `;`, as one that goes on behind a macro.
fn lacks_end(item: Node<'_>) -> bool {
    let last = item.child_count().checked_sub(1);
    let last = last.and_then(|last| item.child(last));
    last.is_some_and(|it| it.is_missing() && it.kind() == ";")
}

fn is_condition(node: Node<'_>) -> bool {
    node.kind().starts_with("preproc_")
}

fn may_hold(node: Node<'_>) -> bool {
    LISTS.contains(&node.kind()) || is_holder(node)
}

fn is_holder(node: Node<'_>) -> bool {
    SCOPES.contains(&node.kind()) || HOLDERS.contains(&node.kind())
}

/// From the item before one to the end of the next. A node does not know its siblings: it would look for them.
fn with_neighbours(items: &[Node<'_>], at: usize) -> Range<usize> {
    let (first, last) = (at.saturating_sub(1), (at + 1).min(items.len() - 1));
    items[first].start_byte()..items[last].end_byte()
}
