//! The nodes from the root to the present one. tree-sitter finds a node's parent by a search from the
//! root, so the walk keeps them.

use archway_repo::{
    Cancel, Stopped,
    syntax::{Syntax, Walk},
};
use tree_sitter::Node;

/// Nodes visited between two checks for cancellation.
const NODES_PER_CHECK: usize = 4096;

/// A node and the field of its parent that it is.
#[derive(Clone, Copy)]
pub(crate) struct Step<'t> {
    pub(crate) node: Node<'t>,
    pub(crate) kind: &'t str,
    pub(crate) field: &'t str,
}

/// The nodes from the root to the present one.
#[derive(Clone, Copy)]
pub(crate) struct Path<'a, 't>(pub(crate) &'a [Step<'t>]);

impl<'a, 't> Path<'a, 't> {
    /// The present node.
    pub(crate) fn last(self) -> Option<&'a Step<'t>> {
        self.0.last()
    }

    /// The path to the parent.
    pub(crate) fn up(self) -> Path<'a, 't> {
        Path(self.0.split_last().map_or(&[], |(_, rest)| rest))
    }

    /// The kind of the present node; empty above the root.
    pub(crate) fn kind(self) -> &'t str {
        self.last().map_or("", |step| step.kind)
    }

    /// The field of the present node.
    pub(crate) fn field(self) -> &'t str {
        self.last().map_or("", |step| step.field)
    }

    /// `(kind of the parent, field of the present node)`.
    pub(crate) fn place(self) -> (&'t str, &'t str) {
        (self.up().kind(), self.field())
    }
}

/// Visits all nodes in text order, each with the nodes around it.
pub(crate) fn walk<'t>(
    syntax: &'t Syntax<'_>,
    cancel: &Cancel,
    mut visit: impl FnMut(Path<'_, 't>) -> Walk,
) -> Result<(), Stopped> {
    let mut cursor = syntax.root().walk();
    let step = |cursor: &tree_sitter::TreeCursor<'t>| Step {
        node: cursor.node(),
        kind: cursor.node().kind(),
        field: cursor.field_name().unwrap_or_default(),
    };
    let mut path = vec![step(&cursor)];
    for visited in 1_usize.. {
        if visited.is_multiple_of(NODES_PER_CHECK) {
            cancel.check()?;
        }
        if visit(Path(&path)) == Walk::Into && cursor.goto_first_child() {
            path.push(step(&cursor));
            continue;
        }
        while !cursor.goto_next_sibling() {
            path.pop();
            if !cursor.goto_parent() {
                return Ok(());
            }
        }
        path.pop();
        path.push(step(&cursor));
    }
    Ok(())
}
