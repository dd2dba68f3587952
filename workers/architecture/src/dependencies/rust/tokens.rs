//! The paths that a `use` names, groups written out: `a::{b, c::d}` is `a::b` and `a::c::d`.
//!
//! Read from the tokens, not from the tree: groups nest as deep as their author likes, and tokens
//! need no recursion.

use archway_repo::{
    Cancel, Stopped,
    syntax::{Syntax, Walk},
};
use tree_sitter::Node;

use super::{MAX_NAMES, plain};
use crate::dependencies::MAX_IMPORTS;

/// What was read of a `use` so far.
#[derive(Default)]
struct Reader {
    paths: Vec<Vec<String>>,
    /// The names since the last comma, after those of the groups around.
    names: Vec<String>,
    /// How many names each group around stands on.
    groups: Vec<usize>,
    /// After `as`, what comes is a new name for the path.
    is_alias: bool,
}

pub(super) fn paths(
    syntax: &Syntax<'_>,
    declaration: Node<'_>,
    cancel: &Cancel,
) -> Result<Vec<Vec<String>>, Stopped> {
    let mut reader = Reader::default();
    let Some(tree) = declaration.child_by_field_name("argument") else {
        return Ok(Vec::new());
    };
    syntax.walk(tree, cancel, |node| {
        if reader.paths.len() > MAX_IMPORTS {
            return Walk::Past;
        }
        if node.child_count() > 0 {
            return Walk::Into;
        }
        reader.take(node.kind(), syntax.text(node).unwrap_or_default());
        Walk::Past
    })?;
    reader.end();
    Ok(reader.paths)
}

impl Reader {
    fn take(&mut self, kind: &str, text: &str) {
        match kind {
            "identifier" | "crate" | "self" | "super" if self.is_alias => self.is_alias = false,
            "identifier" | "crate" | "self" | "super" => self.names.push(plain(text)),
            "as" => self.is_alias = true,
            "{" => self.groups.push(self.names.len()),
            "," => self.end(),
            "}" => {
                self.end();
                self.groups.pop();
                // The group's own path was in its members.
                self.names.truncate(self.base());
            }
            _ => {}
        }
    }

    /// How many names the innermost group stands on.
    fn base(&self) -> usize {
        self.groups.last().copied().unwrap_or(0)
    }

    /// Ends a path, if one was begun.
    fn end(&mut self) {
        let base = self.base();
        if self.names.len() > base {
            self.paths
                .push(self.names.iter().take(MAX_NAMES).cloned().collect());
            self.names.truncate(base);
        }
        self.is_alias = false;
    }
}
