//! Nodes that count each visit in the [`Budget`] before it happens.

use std::{borrow::Cow, ops::Range};

use ast_grep_core::{Position, source::SgNode};
use tree_sitter::{Node, TreeCursor};

use crate::rules::budget::Budget;

pub(in crate::rules) struct CountedNode<'r> {
    node: Node<'r>,
    budget: &'r Budget,
}

struct Children<'r> {
    cursor: TreeCursor<'r>,
    left: u32,
    budget: &'r Budget,
}

/// A node and its descendants, in source order.
struct DepthFirst<'r> {
    cursor: TreeCursor<'r>,
    depth: usize,
    done: bool,
    budget: &'r Budget,
}

impl Clone for CountedNode<'_> {
    fn clone(&self) -> Self {
        self.budget.copy();
        CountedNode { ..*self }
    }
}

impl<'r> CountedNode<'r> {
    pub(super) fn new(node: Node<'r>, budget: &'r Budget) -> CountedNode<'r> {
        CountedNode { node, budget }
    }

    pub(super) fn bytes(&self) -> Range<usize> {
        self.node.byte_range()
    }

    fn wrap(&self, node: Option<Node<'r>>) -> Option<CountedNode<'r>> {
        let budget = self.budget;
        node.map(|node| CountedNode { node, budget })
    }

    fn child_iter(&self) -> Children<'r> {
        let mut cursor = self.node.walk();
        let has_children = self.budget.visit() && cursor.goto_first_child();
        Children {
            cursor,
            left: if has_children {
                self.node.child_count()
            } else {
                0
            },
            budget: self.budget,
        }
    }

    fn siblings(&self) -> impl Iterator<Item = CountedNode<'r>> {
        self.parent()
            .into_iter()
            .flat_map(|parent| parent.child_iter())
    }
}

impl<'r> SgNode<'r> for CountedNode<'r> {
    fn parent(&self) -> Option<Self> {
        self.wrap(self.node.parent().filter(|_| self.budget.visit_expensive()))
    }

    fn children(&self) -> impl ExactSizeIterator<Item = Self> {
        self.child_iter()
    }

    fn kind(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.node.kind())
    }

    fn kind_id(&self) -> u16 {
        self.node.kind_id()
    }

    fn node_id(&self) -> usize {
        self.node.id()
    }

    fn range(&self) -> Range<usize> {
        self.node.byte_range()
    }

    fn start_pos(&self) -> Position {
        let position = self.node.start_position();
        Position::new(position.row, position.column, self.node.start_byte())
    }

    fn end_pos(&self) -> Position {
        let position = self.node.end_position();
        Position::new(position.row, position.column, self.node.end_byte())
    }

    /// Nearest first.
    fn ancestors(&self, root: Self) -> impl Iterator<Item = Self> {
        let mut above = Vec::new();
        let mut next = Some(root.node);
        while let Some(node) = next.filter(|node| node.id() != self.node.id()) {
            if !self.budget.visit_expensive() {
                above.clear();
                break;
            }
            next = node.child_with_descendant(self.node);
            above.push(node);
        }
        let budget = self.budget;
        let above = above.into_iter().rev();
        above.map(move |node| CountedNode { node, budget })
    }

    fn dfs(&self) -> impl Iterator<Item = Self> {
        DepthFirst {
            cursor: self.node.walk(),
            depth: 0,
            done: false,
            budget: self.budget,
        }
    }

    fn child(&self, nth: usize) -> Option<Self> {
        self.child_iter().nth(nth)
    }

    fn next(&self) -> Option<Self> {
        self.wrap(
            self.node
                .next_sibling()
                .filter(|_| self.budget.visit_expensive()),
        )
    }

    fn prev(&self) -> Option<Self> {
        self.wrap(
            self.node
                .prev_sibling()
                .filter(|_| self.budget.visit_expensive()),
        )
    }

    fn next_all(&self) -> impl Iterator<Item = Self> {
        let id = self.node.id();
        let from_here = self.siblings().skip_while(move |node| node.node.id() != id);
        from_here.skip(1)
    }

    /// Nearest first.
    fn prev_all(&self) -> impl Iterator<Item = Self> {
        let id = self.node.id();
        let before = self.siblings().take_while(|node| node.node.id() != id);
        let before: Vec<Self> = before.collect();
        before.into_iter().rev()
    }

    fn is_named(&self) -> bool {
        self.node.is_named()
    }

    fn is_named_leaf(&self) -> bool {
        self.node.named_child_count() == 0
    }

    fn is_leaf(&self) -> bool {
        self.node.child_count() == 0
    }

    fn is_missing(&self) -> bool {
        self.node.is_missing()
    }

    fn is_error(&self) -> bool {
        self.node.is_error()
    }

    fn is_extra(&self) -> bool {
        self.node.is_extra()
    }

    fn field(&self, name: &str) -> Option<Self> {
        let child = self.node.child_by_field_name(name);
        self.wrap(child.filter(|_| self.budget.visit()))
    }

    fn field_children(&self, field_id: Option<u16>) -> impl Iterator<Item = Self> {
        let mut children = self.child_iter();
        std::iter::from_fn(move || {
            loop {
                let field = children.cursor.field_id().map(|id| id.get());
                let child = children.next()?;
                if field.is_some() && field == field_id {
                    return Some(child);
                }
            }
        })
    }

    fn child_by_field_id(&self, field_id: u16) -> Option<Self> {
        let child = self.node.child_by_field_id(field_id);
        self.wrap(child.filter(|_| self.budget.visit()))
    }
}

impl<'r> Iterator for Children<'r> {
    type Item = CountedNode<'r>;

    fn next(&mut self) -> Option<CountedNode<'r>> {
        if self.left == 0 || !self.budget.visit() {
            self.left = 0;
            return None;
        }
        self.left -= 1;
        let node = self.cursor.node();
        self.cursor.goto_next_sibling();
        let budget = self.budget;
        Some(CountedNode { node, budget })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.left).unwrap_or(usize::MAX);
        (left, Some(left))
    }
}

impl ExactSizeIterator for Children<'_> {}

impl DepthFirst<'_> {
    /// Moves to the next node, or sets `done`.
    fn advance(&mut self) {
        if self.cursor.goto_first_child() {
            self.depth += 1;
            return;
        }
        while self.depth > 0 {
            if self.cursor.goto_next_sibling() {
                return;
            }
            self.depth -= 1;
            if !self.cursor.goto_parent() {
                break;
            }
        }
        self.done = true;
    }
}

impl<'r> Iterator for DepthFirst<'r> {
    type Item = CountedNode<'r>;

    fn next(&mut self) -> Option<CountedNode<'r>> {
        if self.done || !self.budget.visit() {
            self.done = true;
            return None;
        }
        let node = self.cursor.node();
        self.advance();
        let budget = self.budget;
        Some(CountedNode { node, budget })
    }
}
