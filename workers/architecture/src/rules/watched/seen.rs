//! Nodes that count each visit in the [`Watch`] before it happens.

use std::{borrow::Cow, ops::Range};

use ast_grep_core::{Position, source::SgNode};
use tree_sitter::{Node, TreeCursor};

use crate::rules::watch::Watch;

pub(in crate::rules) struct Seen<'r> {
    node: Node<'r>,
    watch: &'r Watch,
}

struct Children<'r> {
    cursor: TreeCursor<'r>,
    left: u32,
    watch: &'r Watch,
}

/// A node and its descendants, in source order.
struct Descent<'r> {
    cursor: TreeCursor<'r>,
    depth: usize,
    done: bool,
    watch: &'r Watch,
}

impl Clone for Seen<'_> {
    fn clone(&self) -> Self {
        self.watch.copy();
        Seen { ..*self }
    }
}

impl<'r> Seen<'r> {
    pub(super) fn new(node: Node<'r>, watch: &'r Watch) -> Seen<'r> {
        Seen { node, watch }
    }

    pub(super) fn bytes(&self) -> Range<usize> {
        self.node.byte_range()
    }

    fn at(&self, node: Option<Node<'r>>) -> Option<Seen<'r>> {
        let watch = self.watch;
        node.map(|node| Seen { node, watch })
    }

    fn all(&self) -> Children<'r> {
        let mut cursor = self.node.walk();
        let has_children = self.watch.step() && cursor.goto_first_child();
        Children {
            cursor,
            left: if has_children {
                self.node.child_count()
            } else {
                0
            },
            watch: self.watch,
        }
    }

    fn siblings(&self) -> impl Iterator<Item = Seen<'r>> {
        self.parent().into_iter().flat_map(|parent| parent.all())
    }
}

impl<'r> SgNode<'r> for Seen<'r> {
    fn parent(&self) -> Option<Self> {
        self.at(self.node.parent().filter(|_| self.watch.climb()))
    }

    fn children(&self) -> impl ExactSizeIterator<Item = Self> {
        self.all()
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
        let place = self.node.start_position();
        Position::new(place.row, place.column, self.node.start_byte())
    }

    fn end_pos(&self) -> Position {
        let place = self.node.end_position();
        Position::new(place.row, place.column, self.node.end_byte())
    }

    /// Nearest first.
    fn ancestors(&self, root: Self) -> impl Iterator<Item = Self> {
        let mut above = Vec::new();
        let mut next = Some(root.node);
        while let Some(node) = next.filter(|node| node.id() != self.node.id()) {
            if !self.watch.climb() {
                above.clear();
                break;
            }
            next = node.child_with_descendant(self.node);
            above.push(node);
        }
        let watch = self.watch;
        let above = above.into_iter().rev();
        above.map(move |node| Seen { node, watch })
    }

    fn dfs(&self) -> impl Iterator<Item = Self> {
        Descent {
            cursor: self.node.walk(),
            depth: 0,
            done: false,
            watch: self.watch,
        }
    }

    fn child(&self, nth: usize) -> Option<Self> {
        self.all().nth(nth)
    }

    fn next(&self) -> Option<Self> {
        self.at(self.node.next_sibling().filter(|_| self.watch.climb()))
    }

    fn prev(&self) -> Option<Self> {
        self.at(self.node.prev_sibling().filter(|_| self.watch.climb()))
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
        self.at(child.filter(|_| self.watch.step()))
    }

    fn field_children(&self, field_id: Option<u16>) -> impl Iterator<Item = Self> {
        let mut children = self.all();
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
        self.at(child.filter(|_| self.watch.step()))
    }
}

impl<'r> Iterator for Children<'r> {
    type Item = Seen<'r>;

    fn next(&mut self) -> Option<Seen<'r>> {
        if self.left == 0 || !self.watch.step() {
            self.left = 0;
            return None;
        }
        self.left -= 1;
        let node = self.cursor.node();
        self.cursor.goto_next_sibling();
        let watch = self.watch;
        Some(Seen { node, watch })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.left).unwrap_or(usize::MAX);
        (left, Some(left))
    }
}

impl ExactSizeIterator for Children<'_> {}

impl Descent<'_> {
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

impl<'r> Iterator for Descent<'r> {
    type Item = Seen<'r>;

    fn next(&mut self) -> Option<Seen<'r>> {
        if self.done || !self.watch.step() {
            self.done = true;
            return None;
        }
        let node = self.cursor.node();
        self.advance();
        let watch = self.watch;
        Some(Seen { node, watch })
    }
}
