//! Code as ast-grep sees it: a tree that counts node visits.
//!
//! After a [`Watch`] limit is exceeded, nodes have no parents, siblings or children, and texts are
//! empty. That ends the rule; see [`Watch`].

mod seen;

use std::{borrow::Cow, rc::Rc};

use ast_grep_core::source::{Doc, Edit};
use tree_sitter::Tree;

use super::{dialect::Dialect, watch::Watch};
use seen::Seen;

/// A text with its tree and budget.
#[derive(Clone)]
pub(super) struct Watched(Rc<Parts>);

struct Parts {
    text: String,
    tree: Tree,
    dialect: Dialect,
    watch: Watch,
}

impl Watched {
    /// `text` with its syntax tree.
    pub(super) fn new(text: String, tree: Tree, dialect: Dialect, watch: Watch) -> Watched {
        Watched(Rc::new(Parts {
            text,
            tree,
            dialect,
            watch,
        }))
    }

    pub(super) fn watch(&self) -> &Watch {
        &self.0.watch
    }
}

impl Doc for Watched {
    type Source = String;
    type Lang = Dialect;
    type Node<'r> = Seen<'r>;

    fn get_lang(&self) -> &Dialect {
        &self.0.dialect
    }

    fn get_source(&self) -> &String {
        &self.0.text
    }

    fn do_edit(&mut self, _edit: &Edit<String>) -> Result<(), String> {
        Err("code that is checked is not changed".to_owned())
    }

    fn root_node(&self) -> Seen<'_> {
        Seen::new(self.0.tree.root_node(), &self.0.watch)
    }

    fn get_node_text<'a>(&'a self, node: &Seen<'a>) -> Cow<'a, str> {
        let text = self.0.text.get(node.bytes()).unwrap_or_default();
        Cow::Borrowed(if self.0.watch.read(text) { text } else { "" })
    }
}
