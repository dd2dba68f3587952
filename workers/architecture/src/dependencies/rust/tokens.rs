//! The paths in a `use`, with groups expanded: `a::{b, c::d}` is `a::b` and `a::c::d`.
//!
//! They come from the tokens instead of the tree: groups may nest without limit, and tokens need no
//! recursion.

use archway_repo::{
    Cancel, Stopped,
    syntax::{Syntax, Walk},
};
use tree_sitter::Node;

use super::{MAX_NAMES, plain};
use crate::dependencies::MAX_IMPORTS;

/// The state while reading a `use`.
#[derive(Default)]
struct Reader {
    paths: Vec<Vec<String>>,
    /// The names since the last comma, after the prefix from enclosing groups.
    names: Vec<String>,
    /// The prefix length of each enclosing group, in names.
    groups: Vec<usize>,
    /// Whether the next name is an alias, after `as`.
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
                // The members have included the group's own prefix.
                self.names.truncate(self.base());
            }
            _ => {}
        }
    }

    /// The prefix length of the innermost group.
    fn base(&self) -> usize {
        self.groups.last().copied().unwrap_or(0)
    }

    /// Ends the current path, if there is one.
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
