//! The symbols of a file, nested as they stand in it.

use std::collections::HashMap;

use archway_repo::{RepoError, RepoPath};
use archway_symbols::{Definition, Parsed};
use schemars::JsonSchema;
use serde::Serialize;

use super::SymbolKind;
use super::sources::{Content, Sources};
use crate::tools::paging;

/// Levels of symbols among signatures: types, and their members.
const SIGNATURE_DEPTH: usize = 2;

#[derive(Clone, Serialize, JsonSchema)]
pub(super) struct OutlinedSymbol {
    pub(super) name: String,
    #[schemars(with = "String")]
    pub(super) kind: SymbolKind,
    pub(super) line: u32,
    pub(super) end_line: u32,
    pub(super) signature: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) children: Vec<OutlinedSymbol>,
}

/// The symbols of a file, nested; only the exported ones if `is_exported`.
pub(super) fn tree(parsed: &Parsed, depth: usize, is_exported: bool) -> Vec<OutlinedSymbol> {
    let mut inside: HashMap<Option<u32>, Vec<u32>> = HashMap::new();
    for (at, definition) in (0_u32..).zip(&parsed.symbols.definitions) {
        inside.entry(definition.parent).or_default().push(at);
    }
    let tree = Tree {
        parsed,
        inside,
        is_exported,
    };
    tree.nodes(None, depth)
}

struct Tree<'a> {
    parsed: &'a Parsed,
    /// The definitions inside of each, in the order of the text.
    inside: HashMap<Option<u32>, Vec<u32>>,
    is_exported: bool,
}

impl Tree<'_> {
    /// The symbols directly inside of one, to a depth of at most 3.
    fn nodes(&self, parent: Option<u32>, depth: usize) -> Vec<OutlinedSymbol> {
        let Some(rest) = depth.checked_sub(1) else {
            return Vec::new();
        };
        let inside = self.inside.get(&parent).into_iter().flatten();
        let inside =
            inside.filter_map(|at| Some((*at, self.parsed.symbols.definition(Some(*at))?)));
        let shown = inside.filter(|(_, it)| !self.is_exported || (it.is_exported && !it.is_test));
        let node = |(at, it): (u32, &Definition)| OutlinedSymbol {
            // Members of a type that is defined elsewhere are named with it.
            name: match parent {
                None => it.qualified(self.parsed.language),
                Some(_) => it.name.to_string(),
            },
            kind: it.kind.into(),
            line: it.lines.0,
            end_line: it.lines.1,
            signature: it.signature.to_string(),
            children: match self.is_exported && it.kind.is_callable() {
                true => Vec::new(),
                false => self.nodes(Some(at), rest),
            },
        };
        shown.map(node).collect()
    }
}

/// What a file exports, as `LINE: SIGNATURE`, members indented after their type: as many as fit into `room` bytes, and
/// whether some were left out.
///
/// # Errors
/// If its object cannot be read, or the call was stopped.
pub(in crate::tools) fn signatures(
    sources: &Sources<'_>,
    path: &RepoPath,
    room: usize,
) -> Result<(Vec<String>, bool), RepoError> {
    let source = match sources.content(path)? {
        Content::Parsed(source) => source,
        Content::None(_) => return Ok((Vec::new(), false)),
        Content::Failed(_) => return Ok((Vec::new(), true)),
    };
    let mut lines = Vec::new();
    for symbol in tree(&source.parsed, SIGNATURE_DEPTH, true) {
        lines.push(format!("{}: {}", symbol.line, symbol.signature));
        let members = symbol.children.iter();
        lines.extend(members.map(|it| format!("{}:   {}", it.line, it.signature)));
    }
    let fits = paging::fit_within(&lines, room);
    let is_cut = fits < lines.len();
    lines.truncate(fits);
    Ok((lines, is_cut))
}
