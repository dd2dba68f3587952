//! Code as ast-grep sees it: a tree that counts node visits.
//!
//! After a [`Budget`] limit is exceeded, nodes have no parents, siblings or children, and texts are
//! empty. That ends the rule; see [`Budget`].

mod node;

use std::{borrow::Cow, rc::Rc};

use ast_grep_core::source::{Doc, Edit};
use tree_sitter::Tree;

use super::{budget::Budget, dialect::Dialect};
use node::CountedNode;

/// A text with its tree and budget.
#[derive(Clone)]
pub(super) struct CountedDoc(Rc<Parts>);

struct Parts {
    text: String,
    tree: Tree,
    dialect: Dialect,
    budget: Budget,
}

impl CountedDoc {
    /// `text` with its syntax tree.
    pub(super) fn new(text: String, tree: Tree, dialect: Dialect, budget: Budget) -> CountedDoc {
        CountedDoc(Rc::new(Parts {
            text,
            tree,
            dialect,
            budget,
        }))
    }

    pub(super) fn budget(&self) -> &Budget {
        &self.0.budget
    }
}

impl Doc for CountedDoc {
    type Source = String;
    type Lang = Dialect;
    type Node<'r> = CountedNode<'r>;

    fn get_lang(&self) -> &Dialect {
        &self.0.dialect
    }

    fn get_source(&self) -> &String {
        &self.0.text
    }

    fn do_edit(&mut self, _edit: &Edit<String>) -> Result<(), String> {
        Err("checked code is read-only".to_owned())
    }

    fn root_node(&self) -> CountedNode<'_> {
        CountedNode::new(self.0.tree.root_node(), &self.0.budget)
    }

    fn get_node_text<'a>(&'a self, node: &CountedNode<'a>) -> Cow<'a, str> {
        let text = self.0.text.get(node.bytes()).unwrap_or_default();
        Cow::Borrowed(if self.0.budget.read(text) { text } else { "" })
    }
}
