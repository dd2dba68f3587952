//! The paths in a `use`, with groups expanded: `a::{b, c::d}` is `a::b` and `a::c::d`.
//!
//! They come from the tokens instead of the tree: groups may nest without limit, and tokens need no
//! recursion.

use archway_repo::{
    Cancel, Stopped,
    syntax::{Syntax, Walk},
};
use tree_sitter::Node;

use super::{MAX_NAMES, without_raw_prefix};
use crate::dependencies::MAX_IMPORTS;

/// The state while reading a `use`.
#[derive(Default)]
struct UsePathReader {
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
    let mut reader = UsePathReader::default();
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
        reader.read_token(node.kind(), syntax.text(node).unwrap_or_default());
        Walk::Past
    })?;
    reader.end_path();
    Ok(reader.paths)
}

impl UsePathReader {
    fn read_token(&mut self, kind: &str, text: &str) {
        match kind {
            "identifier" | "crate" | "self" | "super" if self.is_alias => self.is_alias = false,
            "identifier" | "crate" | "self" | "super" => self.names.push(without_raw_prefix(text)),
            "as" => self.is_alias = true,
            "{" => self.groups.push(self.names.len()),
            "," => self.end_path(),
            "}" => {
                self.end_path();
                self.groups.pop();
                // The members have included the group's own prefix.
                self.names.truncate(self.prefix_length());
            }
            _ => {}
        }
    }

    /// The prefix length of the innermost group.
    fn prefix_length(&self) -> usize {
        self.groups.last().copied().unwrap_or(0)
    }

    /// Ends the current path, if there is one.
    fn end_path(&mut self) {
        let prefix_length = self.prefix_length();
        if self.names.len() > prefix_length {
            self.paths
                .push(self.names.iter().take(MAX_NAMES).cloned().collect());
            self.names.truncate(prefix_length);
        }
        self.is_alias = false;
    }
}
